"""Timings in a file, as docs/timings.md has it, and in a terminal.

Without a footer, or if its `complete` is false, a benchmark was cut short. A terminal shows each
case, then means over them, then changes between two benchmarks or backends.
"""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import Field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck import analysis, errors, grouping
from opcheck.model import Case
from opcheck.model.timing import Bench, Machine, Rows, Sample, Timed, Timing
from opcheck.reading.validation import shown
from opcheck.report import write_text
from opcheck.report.plain_text import (
    brief,
    digits,
    interval,
    one_line,
    percent,
    plural,
    rate,
    seconds,
    size,
)
from opcheck.report.store import Reading, line, stored
from opcheck.report.style import Numbers, grouped, new_table, put_all, say, unlike
from opcheck.timing import BUSY, NOISY, Compared, Ratio, Spread, means, ratio, spread, words

# Nothing takes less than a picosecond, or more than 30 years.
_Seconds = Annotated[float, Field(ge=1e-12, le=1e9)]
_Waited = Annotated[float, Field(ge=0, le=1e9)]
_Count = Annotated[int, Field(ge=0, lt=1 << 53)]
FORMAT = 1
#: The largest file read, in bytes: some ten million samples.
LIMIT = 1 << 28
_COLOURS = {"faster": "green", "slower": "yellow", "unclear": "bright_black"}
#: Columns of the table of a case: docs/timings.md explains them.
COLUMNS = (
    "backend",
    *map(Numbers, ("median", "spread", "ratio", "95 % interval")),
    "verdict",
    *map(Numbers, ("GB/s", "of copy", "prepared")),
)
#: Settings that differ between two runs, with the old and the new value.
Differences: TypeAlias = Mapping[str, tuple[str, str]]

_CHANGED = {"slower": "bold red", "faster": "green", "unclear": "bright_black"}
#: Settings that change times as much as a build does. Others may be the subject of the comparison,
#: such as versions of packages, or matter little next to a fixed piece of work.
_DECISIVE = {*"processor processors governor threads caches warm-up cases opcheck".split()}


def _samples(**columns: list[Any]) -> tuple[Sample, ...]:
    rounds = columns["round"]
    if len({*map(len, columns.values())}) > 1:
        raise ValueError("the columns must be of equal length")
    if len(set(rounds)) < len(rounds):
        raise ValueError("a round must occur once")
    return tuple(map(Sample, *(columns[field.name] for field in dataclasses.fields(Sample))))


def _timed(**fields: Any) -> Timed:
    timed = Timed(**fields)
    if len({timing.backend for timing in timed.timings}) < len(timed.timings):
        raise ValueError("a backend must occur once")
    return timed


def _bench_of(bench: Bench) -> Bench:
    """Return the content of the first line: all but its type and format."""
    return bench


class Stored(NamedTuple):
    """A benchmark in a file; not `complete` if it was cut short."""

    bench: Bench
    rows: tuple[Timed, ...]
    complete: bool


def lines(bench: Bench, rows: Sequence[Timed], *, complete: bool) -> Iterator[str]:
    """Yield the whole file, line by line; not `complete` if more will come."""
    yield line({"type": "bench", "format": FORMAT, "bench": dataclasses.asdict(bench)})
    for row in rows:
        fields = vars(row) | {"copy": _columns(row.copy), "yardstick": _columns(row.yardstick)}
        fields["timings"] = [
            vars(timing) | {"samples": _columns(timing.samples)} for timing in row.timings
        ]
        yield line({"type": "timed", **fields})
    yield line({"type": "footer", "cases": len(rows), "complete": complete})


def write(path: Path, bench: Bench, rows: Sequence[Timed], *, complete: bool) -> None:
    """Write a whole file, or leave it as it was; raises Unwritable."""
    write_text(path, "".join(f"{line}\n" for line in lines(bench, rows, complete=complete)))


def read(path: Path) -> Stored:
    """Read the benchmark in a file; raise CaseFileError."""
    return _BenchReading(path).read()


class _BenchReading(Reading[Bench, Timed | dict[str, Any], Stored]):
    name = "benchmark"
    hint = "`opcheck bench --save FILE` writes one"
    format = FORMAT
    limit = longest = LIMIT

    @staticmethod
    @cache
    def types(format: int) -> Mapping[str, Any]:
        columns: dict[str, Any] = dict.fromkeys(("round", "worker"), list[_Count])
        columns |= {"loops": list[Annotated[_Count, Field(ge=1)]]}
        columns |= {"seconds": list[_Seconds], "waited": list[_Waited]}
        samples = stored(Sample, _samples, **columns)
        timing = stored(Timing, prepared=tuple[_Waited, ...], samples=samples)
        row = {"type": Literal["timed"], "moved": _Count, "copy": samples, "yardstick": samples}
        row |= {"timings": tuple[timing, ...]}  # type: ignore[valid-type]
        machine = stored(Machine, cores=_Count, memory=_Count)
        bench = stored(Bench, machine=machine, threads=_Count, workers=_Count)
        begin = {"type": Literal["bench"], "format": Literal[format], "bench": bench}
        return {
            "bench": stored(dict, _bench_of, **begin),
            "timed": stored(Timed, _timed, {"host"}, **row),
            "footer": stored(dict, type=Literal["footer"], cases=int, complete=bool),
        }

    def use(self, bench: Bench, lines: Iterator[tuple[int, Timed | dict[str, Any]]]) -> Stored:
        rows: dict[str, Timed] = {}
        complete = False
        for number, fields in lines:
            if isinstance(fields, Timed):
                if fields.case in rows:
                    self.fail(number, f"the case {shown(fields.case)} occurs twice")
                rows[fields.case] = fields
                continue
            cases = fields["cases"]
            complete = fields["complete"]
            if cases != len(rows):
                message = f"the footer counts {cases:,} cases; there are {len(rows):,}"
                self.fail(number, message, "lines are missing, or were added")
        return Stored(bench, tuple(rows.values()), complete)


def _columns(samples: Sequence[Sample]) -> dict[str, list[int | float]]:
    return {
        f.name: [getattr(sample, f.name) for sample in samples] for f in dataclasses.fields(Sample)
    }


def show(console: Console, bench: Bench, rows: Rows, *, complete: bool = True) -> None:
    """Print a whole benchmark, such as one that was stored."""
    show_head(console, bench)
    show_results(console, bench, rows)
    if not complete:
        say(console, f"INCOMPLETE: it was cut short after {plural(len(rows), 'case')}", "bold red")


def show_cases(console: Console, cases: Sequence[Case]) -> None:
    """Print cases that can be timed, with the sizes of their inputs; ids are never folded."""
    table = new_table("case", "operator", "dtype", "shapes", Numbers("inputs"))
    table.columns[0].no_wrap = True
    for case in cases:
        shapes = ", ".join(f"{[*spec.shape]}" for spec in case.inputs)
        dtypes = ", ".join(dict.fromkeys(spec.dtype.name for spec in case.inputs))
        moved = size(sum(spec.nbytes for spec in case.inputs))
        table.add_row(one_line(case.id), str(case.op), dtypes, brief(shapes), moved)
    put_all(console, table)
    of_operators = len({case.op.name for case in cases})
    operators = plural(of_operators, "operator")
    console.print(f"{plural(len(cases), 'case')} of {operators}")


def show_head(console: Console, bench: Bench) -> None:
    """Print the machine, the backends and the options."""
    facts = settings(bench).items()
    say(console, "; ".join(f"{brief(name)}: {brief(value)}" for name, value in facts if value))
    console.print()


def show_results(console: Console, bench: Bench, rows: Rows) -> None:
    """Print each case, and means over them."""
    for row in rows:
        show_case(console, bench, row)
    show_means(console, bench, rows)


def show_case(console: Console, bench: Bench, row: Timed) -> None:
    """Print one case, with a line for each backend and remarks on its times."""
    console.print(Text(brief(row.case), "bold"), soft_wrap=True)
    say(console, _work(row))
    base = row.timing(bench.baseline)
    columns = [column for column in COLUMNS if console.width >= _WIDE or column != "of copy"]
    table = new_table(*columns)
    remarks: list[str] = []
    for timing in row.timings:
        times = spread(timing.samples)
        remarks += [f"{timing.backend} {remark}" for remark in _remarks(timing, times)]
        if times:
            to_base = ratio(timing, base) if base and timing is not base else None
            verdict: str
            if to_base:
                verdict = words(to_base)
            else:
                verdict = "baseline" if timing is base else "–"
            cells = dict(zip(COLUMNS, _cells(row, timing, times, to_base, verdict), strict=True))
            styles = {"median": "bold", "verdict": _COLOURS.get(verdict, "")}
            table.add_row(*(Text(cells[name], styles.get(name, "")) for name in columns))
    put_all(console, table)
    for remark in remarks:
        say(console, brief(remark), "yellow")
    if remarks:
        console.print()


def _work(row: Timed) -> str:
    """Describe the work of a case, and how long a copy of its data takes.

    `Softmax-13 float32 [64, 50257]: 25.7 MB must move, which a copy does at 66.5 GB/s`.
    """
    text = brief(" ".join(part for part in (row.op, row.dtype, row.shapes) if part))
    if row.moved:  # else no backend answers it rightly
        text += f": {size(row.moved)} must move"
        copy = spread(row.copy)
        if copy:
            text += f", which a copy does at {rate(row.moved, copy.median)} GB/s"
    if row.is_derived:
        text += "; derived: a shipped case, made larger"
    return text


#: The fewest columns of a console that has room for all of the table.
_WIDE = 100


def _cells(
    row: Timed, timing: Timing, times: Spread, to_base: Ratio | None, verdict: str
) -> tuple[str, ...]:
    """Return the cells of `COLUMNS` for one backend."""
    copy = spread(row.copy)
    ratio_to_base = "1" if verdict == "baseline" else "–"
    if to_base:
        ratio_to_base = digits(to_base.value)
    return (
        brief(timing.backend),
        seconds(times.median),
        # Half the distance of the quartiles.
        f"±{percent((times.high - times.low) / times.median / 2)}",
        ratio_to_base,
        interval(to_base.low, to_base.high) if to_base else "–",
        verdict,
        rate(row.moved, times.median),
        percent(copy.median / times.median) if copy else "–",
        seconds(median(timing.prepared)) if timing.prepared else "–",
    )


def _remarks(timing: Timing, times: Spread | None) -> Iterator[str]:
    """Yield possible flaws of a backend's times, or why it has none."""
    if times is None:
        yield f"was not timed: {timing.why_not}"
        return
    if timing.printed:
        yield f"prints while it is timed: {timing.printed.splitlines()[-1]}"
    if times.waited > BUSY:
        share = percent(times.waited)
        yield f"waited: other processes used the processor for {share} of the time, subtracted"
    if times.tail > NOISY:
        yield f"is noisy: one sample in ten took {digits(times.tail)} times the median, or longer"


def show_means(console: Console, bench: Bench, rows: Rows) -> None:
    """Print the mean of each backend over all cases, if there are several."""
    of_backends = means(rows, bench.baseline)
    if not of_backends:
        return
    first = of_backends[0]
    is_partial = first.cases < first.of
    cases = f"{first.cases:,} of {first.of:,}" if is_partial else f"{first.of:,}"
    message = f"Geometric mean of the ratios to {brief(bench.baseline)}, over {cases} cases"
    say(console, message, "bold")
    if is_partial:
        say(console, "The others are left out, because not all backends were timed there.")
    say(console, "The interval shows how far a mean moves with the choice of cases like these.")
    table = new_table("backend", Numbers("ratio"), Numbers("95 % interval"))
    for mean in of_backends:
        table.add_row(brief(mean.backend), digits(mean.value), interval(mean.low, mean.high))
    put_all(console, table)


def show_changes(
    console: Console, differences: Differences, compared: Compared, base: str | None = None
) -> None:
    """Print different settings of two runs, every row, and the number of each kind.

    With a `base`, print rows of one run that are slower than it, or unclear.
    """
    put_all(console, unlike(differences), _changes_table(compared, base))
    if compared.missing:
        say(console, "Not compared", "bold")
        for reason, rows in grouping.group_by(compared.missing, lambda row: row.why).items():
            names = [f"{brief(row.case)} [{brief(row.backend)}]" for row in rows]
            say(console, f"{errors.few(names, 5)}: {brief(reason)}", "yellow")
        console.print()
    counts = Counter[str](change.verdict for change in compared.changes)
    counts["not compared"] = len(compared.missing)
    messages = [f"{count:,} {verdict}" for verdict, count in counts.items() if count]
    say(console, ", ".join(messages) or "There is nothing to compare.")


def _changes_table(compared: Compared, base: str | None) -> Table:
    """Return the table of changes; of those to a `base`, the slower and unclear ones alone."""
    changes = compared.changes
    if base is None:
        # Within one run there are no p-values.
        head = [Numbers("new / old"), Numbers("95 % interval"), Numbers("p")]
    else:
        changes = tuple(change for change in changes if change.verdict in ("slower", "unclear"))
        head = [Numbers(f"ratio to {brief(base)}"), Numbers("95 % interval")]
    rows: list[list[str | Text]] = []
    for change in (*changes, *compared.together):
        row: list[str | Text] = [
            brief(change.case) or "All cases together",
            brief(change.backend),
            digits(change.ratio),
            interval(change.low, change.high),
        ]
        if base is None:
            row.append("<0.001" if change.p < 0.001 else f"{change.p:.3f}")
        row.append(Text(change.verdict, _CHANGED.get(change.verdict, "")))
        rows.append(row)
    return grouped(["case", "backend", *head, "verdict"], rows)


def differences(
    old: Bench, new: Bench, before: Collection[str] = (), after: Collection[str] = ()
) -> Differences:
    """Return the settings that differ between two runs of these cases; "" if missing."""
    different = analysis.unlike(settings(old), settings(new))
    old_only = sorted({*before} - {*after})
    new_only = sorted({*after} - {*before})
    if old_only or new_only:
        different["cases of one run only"] = errors.few(old_only), errors.few(new_only)
    return different


def unfair(differences: Differences) -> str:
    """Describe the differences that may change times, or ""."""
    return "; ".join(
        f"{name} {was or 'absent'} there, {now or 'absent'} here"
        for name, (was, now) in differences.items()
        if name.split()[0] in _DECISIVE
        # Other backends use caches and processors too.
        or (name.startswith("backend ") and not (was and now))
    )


def settings(bench: Bench) -> Mapping[str, str]:
    """Return the conditions of a benchmark, which two runs should share."""
    machine = bench.machine
    return {
        "processor": machine.processor,
        "processors": f"{machine.cores:,}",
        "memory": size(machine.memory),
        "governor": machine.governor,
        "load": f"high: {machine.load:g}" if machine.load > machine.cores / 2 else "low",
        "platform": machine.platform,
        "threads": f"{bench.threads:,}",
        **{
            f"threads of {name}": f"{count or 'unknown'}"
            for name, count in bench.threads_of.items()
            if count != bench.threads
        },
        "processes a backend": f"{bench.workers:,}",
        "caches": "cold" if bench.cold else "warm",
        "warm-up": f"{bench.warm:g} s",
        "Python": bench.python,
        "opcheck": bench.opcheck,
        **{f"package {name}": version for name, version in bench.packages.items()},
        **{f"backend {name}": version for name, version in bench.backends.items()},
        **{f"times of {name} include": what for name, what in bench.included.items()},
    }

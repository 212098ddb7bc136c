"""The published page: what stored runs, ledgers and a benchmark say, in Markdown.

Everything here is computed from the files of this folder; nothing is run.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from opcheck.analysis.status import reds
from opcheck.known import Ledger, Line, load_ledgers, within
from opcheck.model import OpVersion, Record, Run, Verdict
from opcheck.model.timing import Bench, Timed
from opcheck.report import plain_text, store, timing_store
from opcheck.report.markdown import block, table
from opcheck.timing.ratios import means, ratio, spread
from opcheck.timing.ratios import words as verdict_on
from reports.confirm import SHOWS

HERE = Path(__file__).parent
#: What Markdown might take for its own; texts here are those of ledgers, pages and engines.
_MARKUP = re.compile(r"[\\`*_<>|\[\]~]")
#: What says nothing about whether a backend conforms.
_UNJUDGED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN)


@dataclass(frozen=True)
class Defect:
    """One line of a ledger, with the results of a run that it explains."""

    line: Line
    records: tuple[Record, ...]

    @cached_property
    def wrong(self) -> tuple[Record, ...]:
        """The results that would fail the run."""
        return tuple(record for record in self.records if record.found in reds())

    @cached_property
    def example(self) -> Record:
        """The result that needs the fewest words, if possible where the text decides."""
        return min(
            self.wrong or self.records,
            key=lambda record: (record.rule != "must", len(record.question), record.place),
        )


#: Lines about one defect, the first of them about most of it.
Group: TypeAlias = tuple[Defect, ...]


@dataclass(frozen=True)
class Published:
    """One backend's run, its ledger, and what `confirm.py` saw of its defects."""

    run: Run
    ledger: Ledger | None
    by_hand: tuple[Mapping[str, str], ...]

    @property
    def address(self) -> str:
        """As `-b` takes it."""
        return self.run.header.backends[0].address

    @property
    def version(self) -> str:
        """The version that was run."""
        return self.run.header.backends[0].version

    def __str__(self) -> str:
        return f"{self.address} {self.version}"

    @cached_property
    def defects(self) -> tuple[Defect, ...]:
        """What its ledger explained in this run, and what was confirmed that no case shows."""
        by_cause: dict[str, list[Record]] = {}
        for record in self.run.records:
            # What passes although a defect is listed shows nothing of it.
            if record.known and record.found is not Verdict.PASS:
                by_cause.setdefault(record.known.cause, []).append(record)
        defects = [Defect(line, tuple(by_cause.get(line.cause, ()))) for line in self._lines]
        return tuple(one for one in defects if one.records or (one.line.clause and self.seen(one)))

    @cached_property
    def real(self) -> tuple[Group, ...]:
        """The defects that contradict what the text decides, each once."""
        groups: dict[str, list[Defect]] = {}
        for defect in self.defects:
            if defect.wrong or defect.line.clause:
                groups.setdefault(self._root(defect.line), []).append(defect)
        return tuple(map(tuple, groups.values()))

    @property
    def deviations(self) -> list[Defect]:
        """What is only warned of: the text is not strict there, or a sound backend may differ."""
        return [one for one in self.defects if not one.wrong and not one.line.clause]

    @property
    def unseen(self) -> list[tuple[Line, str]]:
        """Lines of the ledger that explain nothing here, with why."""
        seen = {defect.line.cause for defect in self.defects}
        return [(line, self._why(line)) for line in self._lines if line.cause not in seen]

    def _why(self, line: Line) -> str:
        if not within(self.version, line.versions):
            return f"mended: only in {line.versions}"
        return "depends on the processor, or on memory" if line.sometimes else "not seen any more"

    @property
    def _lines(self) -> Sequence[Line]:
        return self.ledger.fields.known if self.ledger else ()

    def _root(self, line: Line) -> str:
        """Return the cause of the line that this one says it is the same as, else its own."""
        if line.same_as is None:
            return line.cause
        return next(
            one.cause
            for one in self._lines
            if one.same_as is None and one.cause.startswith(line.same_as)
        )

    def hand(self, defect: Defect) -> list[Mapping[str, str]]:
        """Return the checks by hand of a defect in this version, on each processor."""
        return [
            one
            for one in self.by_hand
            if one["version"] == self.version and defect.line.cause.startswith(one["cause"])
        ]

    def seen(self, defect: Defect) -> list[Mapping[str, str]]:
        """Return those of the checks by hand that show the defect."""
        return [one for one in self.hand(defect) if one["outcome"] == SHOWS]

    def processors(self, group: Group) -> set[str]:
        """Return the kinds of processor on which a defect was confirmed; a limit makes none."""
        seen = [one for defect in group for one in self.seen(defect)]
        return {one["processor"] for one in seen if not one["limit"]}


def ledgers(folder: Path = HERE) -> tuple[Ledger, ...]:
    """Return the ledgers of the folder; raises CaseFileError with all that is wrong with them."""
    return load_ledgers(sorted((folder / "known").glob("*.yaml")))


def published(folder: Path = HERE) -> list[Published]:
    """All runs of the folder; raises CaseFileError where a file is unsound."""
    there = ledgers(folder)
    by_hand = json.loads((folder / "by_hand.json").read_text("utf-8"))
    found = []
    for path in sorted((folder / "runs").glob("*.jsonl.gz")):
        run = store.read(path)
        (backend,) = run.header.backends
        ledger = next((one for one in there if backend.address in one.fields.backend), None)
        mine = tuple(one for one in by_hand if one["engine"] == backend.address)
        found.append(Published(run, ledger, mine))
    return found


def lines(runs: Sequence[Published], bench: timing_store.Stored) -> Iterator[str]:
    """The page."""
    yield "# What opcheck found"
    yield ""
    yield "<!-- Made by `python reports/regenerate.py`; edits are lost. -->"
    yield ""
    yield from _headline(runs)
    yield (
        "The runs are in [runs](runs), and `opcheck report reports/runs/onnxruntime.jsonl.gz` "
        "shows one; the ledgers of what is known are in [known](known)."
    )
    yield ""
    yield from _scoreboard(runs)
    yield from _environment(runs)
    for one in runs:
        yield from _real(one, runs)
    yield from _deviations(runs)
    yield from _unseen(runs)
    yield from _bench(bench)


def _headline(runs: Sequence[Published]) -> Iterator[str]:
    """Count the defects by what the ledgers and the checks by hand say of them."""
    groups = [(one, group) for one in runs for group in one.real]
    every = [[defect.line for defect in group] for _, group in groups]
    invalid = sum(all(line.kind == "invalid model" for line in lines) for lines in every)
    documented = sum(any(line.documented for line in lines) for lines in every)
    upstream = sum(any(line.upstream for line in lines) for lines in every)
    kinds = [len(one.processors(group)) for one, group in groups]
    engines = len({one.address for one, _ in groups})
    cases = runs[0].run.header.suite.cases
    yield (
        f"**{len(every)} distinct defects in {engines} released engines: {len(every) - invalid} on "
        f"legal models, where an answer is wrong, refused or ends the process, and {invalid} on "
        f"invalid models alone, which are accepted or end the process.** What two engines have in "
        f"common counts for each. {documented} concern what the engine's documentation calls "
        f"unsupported. {upstream} are mended upstream, but not in the release."
    )
    yield ""
    yield (
        f"They were found on {cases:,} cases of the shipped suites. {sum(map(bool, kinds))} are "
        f"confirmed without opcheck, {sum(count > 1 for count in kinds)} of them on two kinds of "
        f"processor and {kinds.count(1)} on one; each says so below."
    )
    yield ""


# ── the scoreboard ────────────────────────────────────────────────────────────────────────────


def _scoreboard(runs: Sequence[Published]) -> Iterator[str]:
    ops = sorted({record.op for one in runs for record in one.run.records})
    rows = [[str(op), *(_cell(one.run.records, op) for one in runs)] for op in ops]
    rows.append(["**all**", *(f"**{_cell(one.run.records, None)}**" for one in runs)])
    yield "## Scoreboard"
    yield ""
    yield (
        "How many of the cases that were judged came out right. Not judged is what a backend "
        "itself calls not implemented: – where that is everything. Known defects count as what "
        "they are, failures."
    )
    yield ""
    yield from table(["operator", *map(str, runs)], rows, numbers=len(runs))
    yield ""
    columns = ("right", "warned", "wrong", "refused or raised", "died or unstable", "unsupported")
    yield from table(["backend", *columns], map(_totals, runs), numbers=len(columns))
    yield ""
    yield (
        "*Warned*: wrong where the text decides but a sound backend may differ, such as 16-bit "
        "tensors computed in 16-bit arithmetic, or an invalid model with an obvious answer. "
        "*Wrong* includes invalid models that are accepted."
    )
    yield ""


def _cell(records: Iterable[Record], op: OpVersion | None) -> str:
    found = Counter(_plain(one) for one in records if op in (None, one.op))
    judged = sum(count for verdict, count in found.items() if verdict not in _UNJUDGED)
    return f"{found[Verdict.PASS]:,} of {judged:,}" if judged else "–"


def _plain(record: Record) -> Verdict:
    """The verdict without regard to any ledger."""
    return record.found or record.verdict


def _totals(one: Published) -> list[str]:
    found = Counter(map(_plain, one.run.records))
    dead = (Verdict.CRASH, Verdict.TIMEOUT, Verdict.OOM, Verdict.UNSTABLE)
    counts = (
        found[Verdict.PASS],
        found[Verdict.WARN],
        found[Verdict.FAIL],
        found[Verdict.ERROR],
        sum(found[verdict] for verdict in dead),
        found[Verdict.UNSUPPORTED],
    )
    return [str(one), *(f"{count:,}" if count else "·" for count in counts)]


def _environment(runs: Sequence[Published]) -> Iterator[str]:
    header = runs[0].run.header
    yield (
        f"Run with opcheck {header.environment.opcheck} on Python {header.environment.python}, "
        f"{text(header.environment.platform)}, one thread each; begun "
        f"{', '.join(sorted({one.run.header.started[:10] for one in runs}))}. "
        f"The suite has {header.suite.cases:,} cases and the digest "
        f"`{header.suite.digest[:16]}`."
    )
    yield ""
    names = sorted({one["processor"] for run in runs for one in run.by_hand})
    yield (
        f"Confirmed by hand on: {text(', '.join(names))}. Where AVX-512 is hidden, "
        "[hide_avx512.c](hide_avx512.c) makes CPUID of the same machine report neither AVX-512 nor "
        "AMX. A limit, such as NPY\\_DISABLE\\_CPU\\_FEATURES for reference, reaches one library "
        "only and counts as no other kind of processor; the other engines have none."
    )
    yield ""


# ── defects ───────────────────────────────────────────────────────────────────────────────────


def _real(one: Published, runs: Sequence[Published]) -> Iterator[str]:
    if not one.real:
        return
    yield f"## {one}: {plain_text.plural(len(one.real), 'defect')}"
    yield ""
    for number, group in enumerate(one.real, 1):
        yield f"### {number}. {text(group[0].line.cause)}"
        yield ""
        for defect in group:
            if defect is not group[0]:
                yield f"The same defect: {text(defect.line.cause)}"
                yield ""
            yield from (f"- {said}" for said in _facts(one, defect, runs))
            yield ""
            confirm = f"python reports/confirm.py {one.address}"
            yield from block(defect.example.repeat if defect.records else confirm, "sh")
            yield ""


def _facts(one: Published, defect: Defect, runs: Sequence[Published]) -> Iterator[str]:
    """What is known of a defect, and how: without opcheck's own engine."""
    line = defect.line
    if defect.records:
        example = defect.example
        rulings = (
            f". opcheck's ruling: {text(' '.join(example.rulings))}" if example.rulings else ""
        )
        yield f"Clause of {example.op}: {text(f'“{example.clause}”')}{rulings}"
        where = ", ".join(map(str, sorted({record.op for record in defect.wrong})))
        count = plain_text.plural(len(defect.wrong), "case")
        yield f"Seen in {one}, in {count} of {where}; listed for {text(line.versions)}."
    else:
        yield f"Clause: {text(f'“{line.clause}”')}"
        yield f"Seen in {one}, in no case of the suites; listed for {text(line.versions)}."
    if line.kind == "invalid model":
        yield "On invalid models only."
    if line.documented:
        yield f"Documented as unsupported: {text(line.documented)}"
    if line.link:
        yield f"Reported: <{line.link}>"
    if line.upstream:
        yield f"Upstream: {text(line.upstream)}"
    yield from _by_hand(one, defect)
    cases = {record.case for record in defect.wrong}
    others = []
    for other in runs:
        right = sum(r.case in cases and _plain(r) is Verdict.PASS for r in other.run.records)
        if right and other is not one:
            others.append(f"{other} in {right:,}")
    if others:
        yield f"By other engines, which are right: {', '.join(others)} of these cases."


def _by_hand(one: Published, defect: Defect) -> Iterator[str]:
    seen = one.seen(defect)
    if not seen:
        yield "**Not confirmed without opcheck.**"
        return
    first = seen[0]
    yield (
        f"By hand ([confirm.py](confirm.py)): {_code(first['asked'])} has to give "
        f"{_code(first['want'])}: {text(first['why'])}. It gives {_code(first['got'])}. "
        f"Control, right: {_code(first['control'])}."
    )
    alone = "" if len(one.processors((defect,))) > 1 else "**Seen on one kind of processor.** "
    told = f"{alone}Confirmed on {text('; '.join(map(_processor, seen)))}."
    for other in one.hand(defect):
        if other not in seen:
            told += f" On {text(_processor(other))} it {other['outcome']}: {_code(other['got'])}."
    yield told


def _processor(one: Mapping[str, str]) -> str:
    return f"{one['processor']} with {one['limit']}" if one["limit"] else one["processor"]


def _deviations(runs: Sequence[Published]) -> Iterator[str]:
    rows = [
        [str(one), text(defect.line.cause), f"{len(defect.records):,}"]
        for one in runs
        for defect in one.deviations
    ]
    for one in runs:
        warned = Counter(_otherwise(r) for r in one.run.records if r.verdict is Verdict.WARN)
        rows += [[str(one), text(said), f"{count:,}"] for said, count in warned.items()]
    yield "## Deviations"
    yield ""
    yield (
        "Only warned of, and no defects: the text decides, but a sound backend may differ for a "
        "reason that can be stated."
    )
    yield ""
    yield from table(["backend", "what is otherwise", "cases"], rows, numbers=1)
    yield ""


def _otherwise(record: Record) -> str:
    """What a warning that no ledger explains is about, without what is particular to its case."""
    told = record.reason.partition(": ")[2].partition(";")[0]
    return f"{record.op.name}: {plain_text.brief(told or record.reason)}, in no ledger"


def _unseen(runs: Sequence[Published]) -> Iterator[str]:
    rows = [[one.address, text(line.cause), text(why)] for one in runs for line, why in one.unseen]
    if not rows:
        return
    yield "## Listed, and not seen in these runs"
    yield ""
    yield from table(["backend", "what was wrong", "why not"], rows)
    yield ""


# ── timings ───────────────────────────────────────────────────────────────────────────────────


def _bench(stored: timing_store.Stored) -> Iterator[str]:
    bench = stored.bench
    machine = bench.machine
    backends = [f"{address} {version}".rstrip() for address, version in bench.backends.items()]
    yield "## Timings"
    yield ""
    yield (
        f"Median times of a call on {text(machine.processor)}, "
        f"{plain_text.plural(machine.cores, 'processor')}, {text(machine.platform)}, "
        f"Python {bench.python}, load {machine.load:g}; "
        f"{plain_text.plural(bench.threads, 'thread')}, "
        f"{bench.workers} processes a backend, taken by `opcheck bench --quick`. In brackets how "
        f"many times as long as {text(bench.baseline)} it takes, with a 95 % interval, where that "
        "is clear. Whoever answers a case wrongly gets no time for it."
    )
    yield ""
    if not stored.complete:
        yield "**Incomplete: it was cut short.**"
        yield ""
    rows = []
    for row in stored.rows:
        what = f"{row.op} {row.dtype} {row.shapes}"
        rows.append(
            [text(row.case), text(what), *(_time(row, one, bench) for one in bench.backends)]
        )
    yield from table(["case", "of", *map(text, backends)], rows, numbers=len(backends))
    yield ""
    found = means(stored.rows, bench.baseline)
    if found:
        told = ", ".join(f"{text(mean.backend)} {plain_text.digits(mean.value)}" for mean in found)
        over = f"{found[0].cases:,} of {found[0].of:,} cases, those that all of them were timed on"
        yield f"Geometric mean of the ratios to {text(bench.baseline)} over {over}: {told}."
        yield ""


def _time(row: Timed, backend: str, bench: Bench) -> str:
    timing, base = row.timing(backend), row.timing(bench.baseline)
    found = spread(timing.samples, row.yardstick) if timing else None
    if timing is None or found is None:
        return "–"
    told = plain_text.seconds(found.median)
    if timing is base or base is None or not base.samples:
        return told
    times = ratio(timing, base)
    if times is None or verdict_on(times) == "unclear":
        return told
    return (
        f"{told} (×{plain_text.digits(times.value)}, {plain_text.interval(times.low, times.high)})"
    )


def text(said: str) -> str:
    """A text in one line of Markdown."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", plain_text.one_line(said))


def _code(said: str) -> str:
    return f"`{plain_text.one_line(said).replace('`', chr(39))}`"

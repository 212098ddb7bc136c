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

from packaging.specifiers import SpecifierSet

from opcheck.known import Ledger, Line, load_ledgers
from opcheck.model import Known, OpVersion, Record, Run, Verdict
from opcheck.model.timing import Bench, Timed
from opcheck.records.status import reds
from opcheck.report import amounts, store, timing_store, words
from opcheck.report.markdown_text import block, table
from opcheck.timing.means import means
from opcheck.timing.ratios import ratio
from opcheck.timing.ratios import words as verdict_on
from opcheck.timing.spread import spread

HERE = Path(__file__).parent
#: What Markdown might take for its own; texts here are those of ledgers, pages and engines.
_MARKUP = re.compile(r"[\\`*_<>|\[\]~]")
#: What says nothing about whether a backend conforms.
_UNJUDGED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN)


@dataclass(frozen=True)
class Defect:
    """One line of a ledger, with the results of a run that it explains."""

    known: Known
    line: Line
    records: tuple[Record, ...]

    @cached_property
    def wrong(self) -> tuple[Record, ...]:
        """The results that would fail the run."""
        return tuple(record for record in self.records if record.found in reds())

    @cached_property
    def example(self) -> Record:
        """The smallest of them: the one of which the least has to be said."""
        return min(self.wrong or self.records, key=lambda one: (len(one.question), one.place))


@dataclass(frozen=True)
class Published:
    """One backend's run, its ledger, and what was worked out by hand of its defects."""

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
        """What its ledger explained in this run, in the ledger's order."""
        by_cause: dict[str, list[Record]] = {}
        for record in self.run.records:
            # What passes although a defect is listed shows nothing of it.
            if record.known and record.found is not Verdict.PASS:
                by_cause.setdefault(record.known.cause, []).append(record)
        found = []
        for line in self._lines:
            if records := by_cause.get(line.cause):
                known = records[0].known
                assert known is not None
                found.append(Defect(known, line, tuple(records)))
        return tuple(found)

    @property
    def real(self) -> list[Defect]:
        """The defects that contradict what the text decides."""
        return [defect for defect in self.defects if defect.wrong]

    @property
    def deviations(self) -> list[Defect]:
        """What is only warned of: the text is not strict there, or a sound backend may differ."""
        return [defect for defect in self.defects if not defect.wrong]

    @property
    def unseen(self) -> list[tuple[Line, str]]:
        """Lines of the ledger that explain nothing here, with why."""
        seen = {defect.known.cause for defect in self.defects}
        return [(line, self._why(line)) for line in self._lines if line.cause not in seen]

    def _why(self, line: Line) -> str:
        if self.version not in SpecifierSet(line.versions):
            return f"mended: only in {line.versions}"
        return "depends on the processor, or on memory" if line.sometimes else "not seen any more"

    @property
    def _lines(self) -> Sequence[Line]:
        return self.ledger.fields.known if self.ledger else ()

    def hand(self, defect: Defect) -> Mapping[str, str] | None:
        """The check by hand of a defect, if there is one that shows it in this version."""
        for one in self.by_hand:
            shows = one["holds"] and one["version"] == self.version
            if shows and defect.known.cause.startswith(one["cause"]):
                return one
        return None


def published(folder: Path = HERE) -> list[Published]:
    """All runs of the folder; raises CaseFileError where a file is unsound."""
    ledgers = load_ledgers(sorted((folder / "known").glob("*.yaml")))
    by_hand = json.loads((folder / "by_hand.json").read_text("utf-8"))
    found = []
    for path in sorted((folder / "runs").glob("*.jsonl.gz")):
        run = store.read(path)
        (backend,) = run.header.backends
        ledger = next((one for one in ledgers if backend.address in one.fields.backend), None)
        mine = tuple(one for one in by_hand if one["engine"] == backend.address)
        found.append(Published(run, ledger, mine))
    return found


def lines(runs: Sequence[Published], bench: timing_store.Stored) -> Iterator[str]:
    """The page."""
    real = sum(len(one.real) for one in runs)
    engines = sum(bool(one.real) for one in runs)
    first = runs[0].run.header
    yield "# What opcheck found"
    yield ""
    yield "<!-- Made by `python reports/regenerate.py`; edits are lost. -->"
    yield ""
    yield (
        f"{real} distinct defects in {engines} released engines, on {first.suite.cases:,} cases of "
        "the shipped suites. Each was confirmed without opcheck, as is told beside it; what two "
        "engines have in common counts for each. The runs are in "
        "[runs](runs), and `opcheck report reports/runs/onnxruntime.jsonl.gz` shows one; the "
        "ledgers of what is known are in [known](known)."
    )
    yield ""
    yield from _scoreboard(runs)
    yield from _environment(runs)
    for one in runs:
        yield from _real(one, runs)
    yield from _deviations(runs)
    yield from _unseen(runs)
    yield from _bench(bench)


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


# ── defects ───────────────────────────────────────────────────────────────────────────────────


def _real(one: Published, runs: Sequence[Published]) -> Iterator[str]:
    if not one.real:
        return
    yield f"## {one}: {words.plural(len(one.real), 'defect')}"
    yield ""
    for number, defect in enumerate(one.real, 1):
        example = defect.example
        yield f"### {number}. {text(defect.known.cause)}"
        yield ""
        yield f"- Clause of {example.op}: {text(f'“{example.clause}”')}"
        where = ", ".join(map(str, sorted({record.op for record in defect.wrong})))
        count = words.plural(len(defect.wrong), "case")
        yield f"- Seen in {one}, in {count} of {where}; listed for {text(defect.line.versions)}."
        if defect.known.link:
            yield f"- Reported: <{defect.known.link}>"
        yield from (f"- {told}" for told in _confirmed(one, defect, runs))
        yield ""
        yield from block(example.repeat, "sh")
        yield ""


def _confirmed(one: Published, defect: Defect, runs: Sequence[Published]) -> Iterator[str]:
    """How it is known, without opcheck's own engine, that the backend is wrong."""
    hand = one.hand(defect)
    if hand:
        yield (
            f"By hand ([confirm.py](confirm.py)): {_code(hand['asked'])} has to give "
            f"{_code(hand['want'])}: {text(hand['why'])}. It gives {_code(hand['got'])}."
        )
    cases = {record.case for record in defect.wrong}
    others = []
    for other in runs:
        right = sum(r.case in cases and _plain(r) is Verdict.PASS for r in other.run.records)
        if right and other is not one:
            others.append(f"{other} in {right:,}")
    if others:
        yield f"By other engines, which are right: {', '.join(others)} of these cases."


def _deviations(runs: Sequence[Published]) -> Iterator[str]:
    rows = [
        [str(one), text(defect.known.cause), f"{len(defect.records):,}"]
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
    return f"{record.op.name}: {told or record.reason}, in no ledger"


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
        f"{words.plural(machine.cores, 'processor')}, {text(machine.platform)}, "
        f"Python {bench.python}, load {machine.load:g}; {words.plural(bench.threads, 'thread')}, "
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
        told = ", ".join(f"{text(mean.backend)} {amounts.digits(mean.value)}" for mean in found)
        over = f"{found[0].cases:,} of {found[0].of:,} cases, those that all of them were timed on"
        yield f"Geometric mean of the ratios to {text(bench.baseline)} over {over}: {told}."
        yield ""


def _time(row: Timed, backend: str, bench: Bench) -> str:
    timing, base = row.timing(backend), row.timing(bench.baseline)
    found = spread(timing.samples, row.yardstick) if timing else None
    if timing is None or found is None:
        return "–"
    told = amounts.seconds(found.median)
    if timing is base or base is None or not base.samples:
        return told
    times = ratio(timing, base)
    if times is None or verdict_on(times) == "unclear":
        return told
    return f"{told} (×{amounts.digits(times.value)}, {amounts.interval(times.low, times.high)})"


def text(said: str) -> str:
    """A text in one line of Markdown."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", words.one_line(said))


def _code(said: str) -> str:
    return f"`{words.one_line(said).replace('`', chr(39))}`"

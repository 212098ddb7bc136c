"""A run in a terminal: failures in full as they come, then tables and the exit code.

A failure shows the sentence tested, the answer, its mistakes, and how to repeat it. The tables
are short: the most frequent known defects, wrong results by operator and backend, a legend. The
most important comes last, next to the prompt. If verbose, they count every verdict and open answer.
"""

import io
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.analysis import before_ledgers, is_failure, is_judged, outcome, reds_of
from opcheck.errors import Exit, few
from opcheck.grouping import group_by
from opcheck.model import GRAPH, ComparisonRecord, Header, LiveResult, Record, Run, Verdict, light
from opcheck.model.explained import ACCEPTING
from opcheck.model.question import IN_TRACEBACK, TRACEBACK
from opcheck.report import plain_text, style, totals
from opcheck.report.style import COLOURS, Numbers, grouped, least, new_table, put, put_all, put_exit

#: Column at which the text of a line begins, after its label.
_INDENT = 10
#: Lines that are copied, or whose blanks matter, so that they are not folded.
_COPIED = ("printed", "trace", "written", "show", "repeat", "locate")
#: The most diagnoses shown.
LIKELIEST = 3
#: The most others named.
_NAMED = 6


def show_failure(
    console: Console, result: Record, *, traceback: bool = False, preliminary: bool = False
) -> None:
    """Print one result that is not a pass: the case, the answer, its causes, how to repeat it.

    If `traceback`, also print that of the backend's exception, if there is one. Causes that are
    `preliminary` were found while the run goes on: later results may speak against them.
    """
    _show_case(console, result)
    _show_answer(console, result)
    _show_causes(console, result, "so far" if preliminary else "likely")
    for comparison in result.comparisons:
        _show_comparison(console, comparison, wanted(result))
    printed, trace = _without_traceback(result.printed)
    if printed.strip():
        _line(console, "printed", plain_text.ending(printed))
    if traceback and trace:
        _line(console, "trace", plain_text.ending(trace))
    _line(console, "written", str(result.source))
    if result.source.shipped:
        # The file is inside the package, where nobody looks for it.
        _line(console, "show", f"opcheck show {shlex.quote(result.case)}")
    _line(console, "repeat", _repeat(result))
    locate = _locate(result)
    if locate:
        _line(console, "locate", locate)
    console.print()


def _locate(result: Record) -> str:
    """Return the command that finds the first wrong node of a model, "" for other results."""
    if result.op != GRAPH or not result.source.file.endswith(".onnx"):
        return ""
    words = shlex.split(result.repeat)
    arguments = words[2 : words.index("--case", 3)]
    return shlex.join(["opcheck", "locate", *arguments, "-b", result.backend])


def _repeat(result: Record) -> str:
    """Return the command that shows a failure, which may take an earlier case."""
    of_cause = result.diagnoses[0].repeat if result.diagnoses else ""
    return of_cause or result.repeat


def _without_traceback(printed: str) -> tuple[str, str]:
    """Return what a backend printed without tracebacks of its exceptions, and the last of these.

    The second text is "" if there is none.
    """
    kept: list[str] = []
    trace: list[str] = []
    in_traceback = False
    for line in printed.splitlines(keepends=True):
        if line.rstrip() == TRACEBACK:
            in_traceback = True
            trace = []
        elif in_traceback and line.startswith(IN_TRACEBACK):
            trace.append(line.removeprefix(IN_TRACEBACK))
        else:
            in_traceback = False
            kept.append(line)
    return "".join(kept), "".join(trace)


def _show_case(console: Console, result: Record) -> None:
    """Print the verdict, the question, and the sentence that the case tests."""
    verdict = (result.verdict.upper(), f"bold {COLOURS[result.verdict]}")
    backend = plain_text.one_line(result.backend)
    case = plain_text.one_line(result.case)
    # Never folded: ids and commands are to be copied.
    console.print(Text.assemble(verdict, (f" {backend}", "bold"), f"  {case}"), soft_wrap=True)
    _line(console, "asked", result.question)
    if result.clause:
        _line(console, "clause", f"“{result.clause}”")
    for ruling in result.rulings:
        _line(console, "ruling", ruling)
    if result.rule != "must":
        _line(console, "rule", result.rule)


def _show_answer(console: Console, result: Record) -> None:
    """Print what the backend did, and of repeated runs how often, as `10: 7 pass, 3 fail`."""
    _line(console, "found", finding(result))
    if result.oracle and (result.comparisons or result.failure == "raised"):
        _line(console, "oracle", f"{result.oracle}, whose answer the case takes for right")
    counts = result.verdicts
    if counts:
        by_verdict = ", ".join(
            f"{counts[verdict]:,} {verdict}" for verdict in Verdict if verdict in counts
        )
        _line(console, "times", f"{sum(counts.values()):,}: {by_verdict}")


def _show_causes(console: Console, result: Record, label: str) -> None:
    """Print the likeliest diagnoses, the first after a label, and what a ledger has of it."""
    for number, diagnosis in enumerate(result.diagnoses[:LIKELIEST]):
        _line(console, "or" if number else label, str(diagnosis))
    for answer in result.diagnoses[0].asked if result.diagnoses else ():
        _line(console, "", answer)
    others = result.diagnoses[LIKELIEST:]
    if others:
        names = [other.mistake or other.text for other in others[:_NAMED]]
        if len(others) > _NAMED:
            names.append("…")
        more = plain_text.plural(len(others), "more mistake that gives", "more mistakes that give")
        _line(console, "", f"… and {more} the same here: {', '.join(names)}")
    note = ledger_note(result)
    if note:
        _line(console, "ledger", note)
    if result.known:
        _line(console, "cause", result.known.cause)


def _show_comparison(console: Console, comparison: ComparisonRecord, heading: str) -> None:
    """Print the worst elements of an output under the `heading` of the expected values."""
    if comparison.worst:
        _line(console, "where", f"{comparison.output}: {comparison.where}")
        table = _worst(comparison, heading)
        is_narrow = console.file.isatty() and least(table) + _INDENT > console.width
        put(console, table, indent=2 if is_narrow else _INDENT)
        left = comparison.wrong - len(comparison.worst)
        if left > 0:
            _line(console, "", f"… and {plain_text.plural(left, 'more element')}")
    if comparison.unjudged:
        part = f"{comparison.unjudged:,} of {plain_text.plural(comparison.total, 'element')}"
        _line(console, "doubt", f"{comparison.output}: {part} unjudged")


def failure_text(result: Record) -> str:
    """Return the report as plain text."""
    file = io.StringIO()
    console = Console(
        file=file, width=100, color_system=None, highlight=False, markup=False, emoji=False
    )
    show_failure(console, result)
    return file.getvalue().rstrip()


def _line(console: Console, label: str, text: str) -> None:
    """Print a label, then a text of one or more lines, folded to the width of a terminal."""
    block = plain_text.block(text)
    # A pipe has no width: its lines stay whole, for grep. Some are copied, or their blanks matter.
    if console.file.isatty() and label not in _COPIED:
        width = max(console.width - _INDENT, _INDENT)
        folded = (plain_text.folded(line, width) or [""] for line in block.split("\n"))
        block = "\n".join(chain.from_iterable(folded))
    # Further lines are indented, so that none can pass for one of opcheck's.
    block = block.replace("\n", "\n" + " " * _INDENT)
    console.print(Text.assemble((f"  {label}".ljust(_INDENT), "dim"), block), soft_wrap=True)


def wanted(result: Record) -> str:
    """Return the heading of the expected values, or of another backend's values."""
    if result.oracle:
        return "oracle"
    if result.against:
        return "theirs"
    return "want"


def _worst(comparison: ComparisonRecord, wanted: str) -> Table:
    """Return the table of the worst elements, with those of an input of the same shape."""
    has_input = any(element.input for element in comparison.worst)
    columns = [wanted, "got", "ULP", "allowed"]
    if has_input:
        columns.insert(0, "input")
    table = new_table("index", *map(Numbers, columns))
    table.columns[0].no_wrap = True
    for element in comparison.worst:
        cells: list[str | Text] = [str([*element.index])]
        if has_input:
            cells.append(plain_text.brief(element.input))
        cells += [
            Text(plain_text.brief(element.want), "green"),
            Text(plain_text.brief(element.got), "red"),
            "" if element.ulp is None else f"{element.ulp:,}",
            plain_text.brief(element.allowed),
        ]
        table.add_row(*cells)
    return table


def ledger_note(result: Record) -> str:
    """Explain a result made red by a ledger and how to fix it, or ""."""
    if not result.unexpected:
        return ""
    known = result.known
    if known is None:
        return "no ledger lists it as unsupported, and a backend that drops a case does not pass"
    listed = f"listed in {known.at} as {known.expected}"
    if result.verdict is Verdict.UNEXPECTED_PASS:
        return f"{listed}, but it passes: delete `{known.text}`, or leave there what still fails"
    has_way = result.failure and result.failure != str(result.verdict)
    came = f"{result.verdict} ({result.failure})" if has_way else f"{result.verdict}"
    if " that looks like " in known.expected:
        mistakes = [diagnosis.mistake for diagnosis in result.diagnoses if diagnosis.mistake]
        came += f" that looks like {next(iter(mistakes), 'no known mistake')}"
    return f"{listed}, but it fails otherwise: {came}"


def finding(result: Record) -> str:
    """Return the reason of a verdict, also of an unexpected pass."""
    passed = result.verdict is Verdict.UNEXPECTED_PASS and not result.reason
    return "the right answer" if passed else result.reason


#: The most kinds of reasons shown for a backend.
_REASONS = 3
#: The most failures shown in full that have no cause and look alike.
_MOST_ALIKE = 3
#: Explains the label of a preliminary cause.
_SO_FAR = "so far: by the results until then; the causes below are by all results"
#: The level of verbosity at which every failure is shown in full.
_EVERYTHING = 2
#: The most rows of the overview.
_OPERATORS = 13
#: The most known defects listed above it.
_DEFECTS = 3
#: The largest width of a name next to numbers.
_NAME = 40
#: The largest width of a name above numbers on a narrow console.
_HEAD = 12
STYLES = {"wrong": "red", "self": "green", **{str(verdict): c for verdict, c in COLOURS.items()}}
_LEGEND = {
    "known": "wrong as a ledger lists it (does not fail the run)",
    "self": "the engine compared with itself (not evidence)",
    "used": "the largest error of a pass as a part of the allowed one",
}
#: Counts by backend, by the label of their row.
_Rows = Mapping[str, Mapping[str, Counter[str]]]


def _agreement_groups(results: Iterable[Record]) -> Table:
    """Return the table of the backends that agree with each other, and those that differ."""
    title = "Backends that agree where no answer is known (not evidence)"
    table = new_table("agree", "differ", Numbers("cases"), "such as", title=title)
    for groups, cases in totals.agreement_groups(results):
        names = (", ".join(map(plain_text.brief, backends)) or "–" for backends in groups)
        table.add_row(*names, f"{len(cases):,}", plain_text.brief(cases[0]))
    return table


def _where(results: Iterable[Record]) -> str:
    """Return the names of the cases, a few of them."""
    return few(sorted({f"{result.op.name}/{result.name}" for result in results}), _REASONS)


def _outdated(results: Iterable[Record]) -> Iterable[str]:
    """Yield remarks on causes of shipped ledgers that explain no failure any more."""
    applied: set[tuple[str, str]] = set()
    passing: Counter[tuple[str, str]] = Counter()
    for result in results:
        if result.known and result.verdict is Verdict.KNOWN:
            applied.add((result.known.ledger, result.known.cause))
        elif result.known and result.verdict is Verdict.PASS:
            passing[result.known.ledger, result.known.cause] += 1
    for (ledger, cause), count in passing.items():
        if (ledger, cause) in applied:
            continue
        cases = plain_text.plural(count, "such case passes", "such cases pass")
        yield f"listed in {ledger}, but {cases}: {cause}"


def _kinds(reasons: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the number and an example of the most frequent kinds of reasons, then of the rest."""
    kinds = sorted(group_by(reasons, plain_text.kind).values(), key=len, reverse=True)
    for alike in kinds[:_REASONS]:
        others = len({*alike}) - 1
        more = f" (and {others} more like it)" if others else ""
        yield f"{len(alike):,}", f"{plain_text.brief(alike[0])}{more}"
    left = kinds[_REASONS:]
    if left:
        yield f"{sum(map(len, left)):,}", plain_text.plural(len(left), "other reason")


@dataclass(eq=False)
class Pretty:
    """Prints a run while it lasts, or later: a few similar failures in full, others counted."""

    console: Console
    header: Header
    #: Shows no failure in full.
    quiet: bool = False
    #: 1 shows every table in full, and 2 also every failure, warning and known failure.
    verbose: int = 0
    #: Causes are printed before all results are known.
    live: bool = False
    #: Commands that come next after failures, each with what it is for.
    next_commands: Sequence[tuple[str, str]] = ()
    results: Sequence[Record] = field(default=(), init=False)
    #: Causes were printed that later results may speak against.
    _has_preliminary: bool = field(default=False, init=False)
    #: The last line is of a text, and not the blank one below a table.
    _is_below_text: bool = field(default=False, init=False)
    _alike: Counter[Hashable] = field(default_factory=Counter, init=False)
    _left_out: int = field(default=0, init=False)

    @property
    def shows_everything(self) -> bool:
        """True if every failure is shown in full."""
        return self.verbose >= _EVERYTHING

    def is_in_full(self, result: Record | LiveResult) -> bool:
        """Return True if a result is of a kind that is shown in full."""
        if self.quiet:
            return result.verdict is Verdict.BAD_CASE
        if self.shows_everything and result.verdict in (Verdict.WARN, Verdict.KNOWN):
            return True
        return is_failure(result, reds_of(self.header))

    def is_due(self, result: Record) -> bool:
        """Return True if a result is to be shown now; call once for each, in order."""
        if not self.is_in_full(result):
            return False
        limits = _likenesses(result)
        has_room = all(self._alike[likeness] < most for likeness, most in limits.items())
        is_due = self.shows_everything or has_room
        self._alike.update(limits.keys() if is_due else ())
        self._left_out += not is_due
        return is_due

    def show_failure(self, result: Record) -> None:
        """Print a result in full."""
        self._has_preliminary |= self.live and bool(result.diagnoses)
        traceback = self.shows_everything
        show_failure(self.console, result, traceback=traceback, preliminary=self.live)

    def finish(self, results: Sequence[Record], complete: bool, code: Exit, meaning: str) -> None:
        """Print the summary, then what the exit code means."""
        if self._left_out:
            more = plain_text.plural(self._left_out, "more failure", "more failures")
            message = f"… and {more} of the kinds above (-vv shows all)"
            self.console.print(Text(message, "bold"))
            self.console.print()
        if self._has_preliminary:
            style.say(self.console, _SO_FAR, "dim")
            self.console.print()
        self.summarize(results, complete=complete)
        self._show_next()
        if not results:
            meaning = f"{meaning} ({self.header.selection})"
        put_exit(self.console, code, plain_text.one_line(meaning))

    @cached_property
    def names(self) -> dict[str, str]:
        """The backends with their versions, by address."""
        return {backend.address: plain_text.brief(str(backend)) for backend in self.header.backends}

    def summarize(self, results: Sequence[Record], *, complete: bool) -> None:
        """Print causes and an overview, or more if verbose."""
        self.results = light(results)
        if not complete:
            self._show_incomplete()
        if self.verbose:
            self._show_counts(results)
        put_all(self.console, _agreement_groups(self.results))
        self._show_causes()
        if self.verbose:
            self._show_known()
        self._show_reasons()
        remarks = [*self._remarks()]
        for remark in remarks:
            self.console.print(Text(plain_text.one_line(remark), "yellow"))
        if not self.verbose:
            if remarks:
                self.console.print()
            self._overview()

    def _show_incomplete(self) -> None:
        """Print how many results of an incomplete run there are."""
        count = plain_text.plural(self.header.results, "result")
        there = f"{len(self.results):,} of {count}"
        if len(self.results) == self.header.results:
            there = "cases are missing"
        self.console.print(Text(f"INCOMPLETE: {there}", "bold red"))
        self.console.print()

    def _show_counts(self, results: Sequence[Record]) -> None:
        """Print the number of each verdict by operator version, and the open answers."""
        counts = self._counts(results)
        put_all(self.console, counts)
        legend = _legend([str(column.header) for column in counts.columns])
        if legend:
            style.say(self.console, legend, "dim")
            self.console.print()
        put_all(self.console, self._open_answers())

    def _show_known(self) -> None:
        """Print the causes that ledgers state, those of shipped ledgers and of the user's."""
        shipped = "Known defects of these releases (--no-known judges them)"
        mine = f"Known failures, as {plain_text.brief(', '.join(self.header.ledgers))} has them"
        of_user: list[Record] = []
        of_releases: list[Record] = []
        for result in self.results:
            is_of_user = result.known is not None and result.known.line is not None
            (of_user if is_of_user else of_releases).append(result)
        put_all(self.console, self._with_causes(shipped, of_releases))
        put_all(self.console, self._with_causes(mine, of_user))

    def _show_reasons(self) -> None:
        """Print why ledgers are wrong, and why cases were not run, unsupported or warned of."""
        # Without -v, only for backends that are judged on nothing.
        with_verdict = set()
        if not self.verbose:
            with_verdict = {result.backend for result in self.results if is_judged(result)}
        idle = [result for result in self.results if result.backend not in with_verdict]
        warnings = "Warnings (in full with -vv, red with --strict unless listed)"
        put_all(
            self.console,
            self._passing(),
            self._reasons(self.results, Verdict.NOT_RUN, "Not run"),
            self._reasons(idle, Verdict.UNSUPPORTED, "Not supported"),
            self._reasons(self.results, Verdict.WARN, warnings, by_name=True),
        )

    def _remarks(self) -> Iterator[str]:
        """Yield remarks on what was judged by other backends, in part, or differs between runs."""
        yield from totals.oracles(self.results)
        yield from self._irreproducible()
        if self.verbose:
            yield from self._unjudged()
            yield from _outdated(self.results)
        else:
            yield from self._judged_in_part()

    def _counts(self, results: Iterable[Record]) -> Table:
        """Return the table of verdicts by operator version and backend."""
        columns, rows = totals.table(self.header.backends, results)
        named: list[list[str | Text]] = []
        for op, backend, cells in rows:
            pairs = zip(cells, (STYLES.get(column, "") for column in columns), strict=True)
            styled = (Text(cell, "bright_black" if cell == "·" else style) for cell, style in pairs)
            named.append([plain_text.brief(str(op)), self.names[backend], *styled])
        return grouped(["operator", "backend", *map(Numbers, columns)], named)

    def _open_answers(self) -> Table:
        answers = Counter(
            (f"{result.op.name}/{result.name}", self.names[result.backend], str(result.alternative))
            for result in self.results
            if result.alternative and result.verdict in (Verdict.PASS, Verdict.WARN)
        )
        title = "Where the text leaves it open, the answer each backend gives"
        rows = (
            (plain_text.brief(case), backend, f"{count:,}", plain_text.brief(answer))
            for (case, backend, answer), count in answers.items()
        )
        return grouped(["case", "backend", Numbers("times"), "answer"], rows, title)

    def _named(self, results: Iterable[Record]) -> list[tuple[str, list[Record]]]:
        by_address = totals.of_backends(self.header.backends, results)
        return [(self.names[address], mine) for address, mine in by_address.items()]

    def _show_causes(self) -> None:
        """Print the causes of each backend's failures, and the commands that show them.

        If verbose, also what the backend answered when it was asked about a cause.
        """
        for address, count, causes in totals.wrong(
            self.header, self.results, folded=not self.verbose
        ):
            title = f"What is wrong with {self.names[address]}: {count}"
            table = new_table(Numbers("cases"), "likely cause", "where", title=title)
            for cause in causes:
                asked = cause.asked if self.verbose else ()
                looks = "\n".join(map(plain_text.one_line, (cause.looks, *asked)))
                places = plain_text.one_line(", ".join(cause.places))
                table.add_row(f"{len(cause.results):,}", looks, places)
            put(self.console, table)
            commands = dict.fromkeys(cause.repeat for cause in causes if cause.repeat)
            for command in commands:
                _line(self.console, "repeat", command)
            self.console.print()

    def _show_next(self) -> None:
        """Print what to do about failures and models: commands, each with what it is for."""
        commands = [*self._after_failures(), *self._after_warnings_of_models()]
        if not commands:
            return
        if self._is_below_text:
            self.console.print()
        self.console.print(Text("next", "bold"))
        for command, purpose in commands:
            line = Text.assemble(f"  {plain_text.one_line(command)}", (f"  # {purpose}", "dim"))
            # Never folded: commands are to be copied.
            self.console.print(line, soft_wrap=True)
        self.console.print()

    def _after_warnings_of_models(self) -> Iterator[tuple[str, str]]:
        """Yield the command that judges each node of the first model that is warned of."""
        warned = (result for result in self.results if result.verdict is Verdict.WARN)
        commands = filter(None, map(_locate, warned))
        for command in islice(commands, 1):
            yield command, "judges each node of the model"

    def _after_failures(self) -> Iterator[tuple[str, str]]:
        """Yield commands about the first cause and the first failure, and one that repeats all."""
        its_causes = [
            cause for _, _, causes in totals.wrong(self.header, self.results) for cause in causes
        ]
        if not its_causes:
            return
        named = [cause.diagnosis.mistake for cause in its_causes if cause.diagnosis.mistake]
        if not named and any(cause.folded for cause in its_causes):
            named = [shlex.quote(ACCEPTING)]
        if named:
            yield f"opcheck explain {named[0]}", "what this cause is"
        failure = its_causes[0].results[0]
        words = ["opcheck", "show", failure.case]
        if not failure.source.shipped:
            words.append(failure.source.file)
        if failure.op != GRAPH:
            yield shlex.join(words), "a failing case"
        located = _locate(failure)
        if located:
            yield located, "the node that is wrong"
        yield from self.next_commands

    def _with_causes(self, title: str, results: Iterable[Record]) -> Table:
        rows = []
        for address, known, count in totals.known(self.header.backends, results):
            cause = plain_text.one_line(known.cause)
            if known.link:
                # In a line of its own, so that it is rarely folded.
                cause += f"\n{plain_text.one_line(known.link)}"
            rows.append((self.names[address], f"{count:,}", cause))
        return grouped(["backend", Numbers("cases"), "cause"], rows, title)

    def _passing(self) -> Table:
        columns = ("backend", "listed in", Numbers("cases"), "what to do")
        table = new_table(*columns, title="Listed as failing, but passing")
        for address, place, count, advice in totals.passing(self.header.backends, self.results):
            table.add_row(self.names[address], place, f"{count:,}", plain_text.one_line(advice))
        return table

    def _unjudged(self) -> Iterator[str]:
        passed = [
            result for result in self.results if result.verdict is Verdict.PASS and result.unjudged
        ]
        for name, mine in self._named(passed):
            some = sum(result.unjudged for result in mine)
            yield f"{name}: {plain_text.plural(some, 'element')} unjudged, in {_where(mine)}"

    def _judged_in_part(self) -> Iterator[str]:
        passed = [
            result
            for result in self.results
            if result.verdict is Verdict.PASS and result.op == GRAPH
        ]
        for name, mine in self._named(result for result in passed if result.unjudged):
            passes = plain_text.plural(len(mine), "pass", "passes")
            some = sum(result.unjudged for result in mine)
            left = f"{plain_text.plural(some, 'element')} of outputs unjudged"
            yield f"{name}: {passes} judged in part, {left} (-v), in {_where(mine)}"

    def _irreproducible(self) -> Iterator[str]:
        for name, mine in self._named(result for result in self.results if result.irreproducible):
            count = plain_text.plural(len(mine), "result")
            message = f"{count} not reproducible to the bit (red with --require-reproducible)"
            yield f"{name}: {message}, in {_where(mine)}"

    def _reasons(
        self, results: Iterable[Record], verdict: Verdict, title: str, *, by_name: bool = False
    ) -> Table:
        rows: list[tuple[str, str, str]] = []
        for name, mine in self._named(
            result for result in results if before_ledgers(result) is verdict
        ):
            reasons = (self._reason(result, by_name=by_name) for result in mine)
            rows += ((name, *kind) for kind in _kinds(reasons))
        return grouped(["backend", Numbers("cases"), "reason"], rows, title)

    def _reason(self, result: Record, *, by_name: bool) -> str:
        if result.verdict is Verdict.KNOWN:
            # The reason is always printed if nothing is supported; that of a warning, with -v.
            known = result.known if self.verbose or not by_name else None
            return f"as a ledger lists it: {known.cause}" if known else "as a ledger lists it"
        if by_name:
            return f"{result.op.name}/{result.name}: {result.reason}"
        return result.reason

    def _overview(self) -> None:
        """Print the most frequent known defects, then the counts by operator and backend."""
        if not self.results:
            return
        rows = totals.by_operator(self.header.backends, self.results, _OPERATORS)
        occur = {kind for counts in rows.values() for count in counts.values() for kind in count}
        kinds = [kind for kind in (*list(Verdict)[1:], "self") if kind in occur]
        tables = [_by_operator(self.names, rows, kinds, width) for width in (_NAME, _HEAD)]
        tables.append(_by_backend(self.names, rows, kinds))
        width = self.console.width
        fitting = (table for table in tables if least(table, folded=_NAME) <= width)
        self._most_frequent_defects()
        put_all(self.console, next(fitting, tables[-1]))
        style.say(self.console, _legend(kinds), "dim")
        has_more = bool({"known", Verdict.UNSUPPORTED} & occur)
        if has_more:
            more = "-v: counts by version, every known defect, why something is unsupported"
            style.say(self.console, more, "dim")
        self._is_below_text = has_more or bool(_legend(kinds))

    def _most_frequent_defects(self) -> None:
        """Print a few known defects of each backend; none if backends are many.

        Then the table below must be seen.
        """
        by_backend: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for address, known, count in totals.known(self.header.backends, self.results):
            by_backend[address].append((count, known.cause))
        if len(by_backend) > _DEFECTS:
            return
        for address, counts in by_backend.items():
            title = f"{self.names[address]}: {plain_text.plural(len(counts), 'known defect')}"
            self.console.print(Text(title, "bold"), soft_wrap=True)
            most = _DEFECTS // len(by_backend)
            left = counts[most:]
            if left:
                others = f"by {plain_text.plural(len(left), 'other defect')}"
                counts[most:] = [(sum(count for count, _ in left), others)]
            width = max(len(f"{count:,}") for count, _ in counts) + 2
            for count, cause in counts:
                text = f"{count:{width},}  {plain_text.one_line(cause)}"
                lines = plain_text.folded(text, self.console.width, " " * (width + 2))
                self.console.print(Text("\n".join(lines)), soft_wrap=True)
            self.console.print()


def cause_first(failures: Iterable[Record]) -> list[Record]:
    """Return failures with the first of each kind, which look alike, before all others."""
    alike = group_by(failures, lambda result: next(iter(_likenesses(result)))).values()
    return [group[0] for group in alike] + [one for group in alike for one in group[1:]]


def _likenesses(result: Record) -> dict[Hashable, int]:
    """Return keys that similar failures share, each with how many of these are shown in full."""
    if result.verdict is Verdict.BAD_CASE:  # whichever backend meets the mistake
        return {(result.case, result.reason): 1}
    # Each line of a user's ledger that is contradicted must be corrected.
    line = result.known.at if result.unexpected and result.known else None
    kind = (result.backend, result.op.name, result.verdict, result.failure, line)
    words = plain_text.kind(result.reason)
    if not result.diagnoses:
        return {(*kind, words): _MOST_ALIKE}
    limits: dict[Hashable, int] = {(*kind, result.diagnoses[0]): 1}
    if not result.comparisons:
        # What a backend itself says tells more than a guess why it says so.
        limits[(*kind, words)] = _MOST_ALIKE
    return limits


def show(console: Console, run: Run, **options: Any) -> None:
    """Print a stored run; `options` are those of `Pretty`."""
    pretty = Pretty(console, run.header, **options)
    for result in filter(pretty.is_due, run.records):
        pretty.show_failure(result)
    pretty.finish(run.records, run.complete, *outcome(run))


def _legend(columns: Collection[str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in _LEGEND.items() if name in columns)


def _by_operator(names: Mapping[str, str], rows: _Rows, kinds: Iterable[str], head: int) -> Table:
    columns = (Numbers(plain_text.broken(name, head)) for name in names.values())
    table = new_table("wrong / judged", *columns)
    for label, counts in rows.items():
        weight = "bold" if label == totals.ALL else ""
        table.add_row(Text(plain_text.brief(label), weight), *(_share(counts[a]) for a in names))
    total = [*rows.values()][-1]
    for kind in kinds:
        table.add_row(f"  {kind}", *(_count(total[address], kind) for address in names))
    return table


def _by_backend(names: Mapping[str, str], rows: _Rows, kinds: Iterable[str]) -> Table:
    label, total = [*rows.items()][-1]
    heads = (plain_text.broken(name, _HEAD) for name in (f"wrong, {label}", *kinds))
    table = new_table("backend", *map(Numbers, heads))
    for address, name in names.items():
        counts = total[address]
        table.add_row(name, _share(counts), *(_count(counts, kind) for kind in kinds))
    return table


def _share(counts: Counter[str]) -> Text:
    """`93 of 706`, or a dot if nothing was judged."""
    if not counts["judged"]:
        return Text("·", "bright_black")
    return Text.assemble(_count(counts, "wrong", "0"), f" of {counts['judged']:,}")


def _count(counts: Counter[str], kind: str, none: str = "·") -> Text:
    if not counts[kind]:
        return Text(none, "green" if kind == "wrong" else "bright_black")
    excused = kind == "wrong" and counts[kind] == counts["known"]
    return Text(f"{counts[kind]:,}", "cyan" if excused else STYLES[kind])

"""The commands that show what there is: `list`, `schema`, `mutate`, `backends` and `support`."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from opcheck import interrupt
from opcheck.cli import console, options, scopes, values
from opcheck.cli.console import exit_with, note, print_records, stdout_console
from opcheck.cli.levels import show_levels
from opcheck.cli.options import CaseOptions, chosen_cases, format_option
from opcheck.errors import Exit, OpcheckError, UsageError, did_you_mean, plural
from opcheck.report.plain_text import one_line

if TYPE_CHECKING:
    from opcheck.backends.offers import Offer
    from opcheck.execution.mutate import ShippedKill
    from opcheck.execution.support import Asked
    from opcheck.execution.workers import Counted
    from opcheck.model import Case, Floor, MutantId, Mutation, Power, Support
    from opcheck.model.conditions import ConditionedMutant
    from opcheck.report.support import Matrix

    #: A function that tests the cells of one backend, and counts what it does.
    Probe: TypeAlias = Callable[[Counted[Any]], Sequence[Support]]


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """Options of `opcheck list`."""

    cases: CaseOptions
    dims: dict[str, int]
    clauses: bool
    operators: bool
    save_questions: Path | None
    format: str


@click.command(name="list")
@options.case_options
@options.dim_option
@click.option(
    "--clauses",
    is_flag=True,
    help="List the sentences of the specification instead, each with the cases that test it.",
)
@click.option(
    "--operators",
    is_flag=True,
    help="List all operators instead, with their versions and how many of their cells (a version"
    " with a type) the shipped suites judge. Combines only with --op and --format.",
)
@click.option(
    "--save-questions",
    metavar="DIR",
    type=options.PATH,
    help="Write models and inputs, for a machine without opcheck.",
)
@format_option("json")
@options.takes(ListOptions)
def command(given: ListOptions) -> None:
    """Show the cases that files expand to, without running anything.

    \b
    opcheck list --op Hardmax --opset 13 -k 'ties and float32'
    opcheck list my.yaml && echo "my.yaml is well formed"
    opcheck list --operators              which operators are judged, and why others are not
    opcheck list --clauses --op Hardmax   how the sentences of its text are tested
    opcheck list --clauses my.yaml        the same for my cases, of any ONNX operator
    opcheck list my.yaml --save-questions DIR && ./device DIR && opcheck run my.yaml -b saved:DIR

    Exit codes: 0 listed, 2 a case file is invalid (all problems are listed), 5 no case matches.
    """
    if given.operators:
        extra = options.given_besides("operators", "ops", "format")
        if extra:
            raise UsageError(f"--operators takes no {extra[0]}", "it takes --op and --format")
        _list_operators(given)
        return
    cases, description = chosen_cases(given.cases.paths, given.cases.selection, given.dims)
    if given.clauses:
        _list_clauses(given, cases)
    else:
        _list_cases(given, cases)
    if given.save_questions:
        from opcheck.execution.saving import write_questions

        count = write_questions(given.save_questions, cases)
        note(f"{count:,} questions in {given.save_questions}")
    if not cases:
        note(f"no case matches ({description})")
        exit_with(Exit.NOTHING_JUDGED)


def _list_cases(given: ListOptions, cases: "Sequence[Case]") -> None:
    """Print the cases as `--format` says: a table, or a line of JSON for each."""
    from opcheck.report import listing

    if given.format == "json":
        print_records(map(listing.record, cases))
    else:
        listing.show(stdout_console(), cases)


def _list_clauses(given: ListOptions, cases: "Sequence[Case]") -> None:
    """Print the sentences of the specification, each with those of the cases that test it.

    Raises CaseFileError for files of clauses that are wrong.
    """
    from opcheck.clauses import check_files, survey
    from opcheck.report import listing
    from opcheck.suite import load

    # Files of clauses are also about operators that were not selected.
    has_selected_operators = bool(given.cases.paths or given.cases.ops)

    def cases_of(op: str) -> "tuple[Case, ...]":
        """Return the shipped cases of an operator, or all if none is selected."""
        return load((), [op] if has_selected_operators else ())

    check_files(cases, cases_of)
    surveys = survey(cases)
    if given.format == "json":
        print_records(record for page in surveys for record in listing.clause_records(page))
    else:
        listing.show_clauses(stdout_console(), surveys)


def _list_operators(given: ListOptions) -> None:
    """Print the operators, with how much of them the shipped suites judge."""
    from opcheck.report import listing
    from opcheck.suite.load import shipped_coverage

    coverage = [*shipped_coverage(given.cases.ops)]
    if given.format == "json":
        print_records(map(listing.coverage_record, coverage))
    else:
        listing.show_coverage(stdout_console(), coverage)


#: The formats that have a JSON Schema, by the modules whose `json_schema` returns it.
SCHEMAS = {
    "cases": "opcheck.suite.fields",
    "ledger": "opcheck.known",
    "run": "opcheck.report.store",
    "protocol": "opcheck.backends.cmd_protocol",
    "golden": "opcheck.suite.golden_files",
}


@dataclass(frozen=True, kw_only=True)
class SchemaOptions:
    """Options of `opcheck schema`."""

    what: str


@click.command(name="schema")
@click.argument("what", type=click.Choice(list(SCHEMAS)), default="cases", metavar="[FORMAT]")
@options.takes(SchemaOptions)
def schema(given: SchemaOptions) -> None:
    """Print the JSON Schema of case files or another format.

    FORMAT is cases (the default), ledger, run (a line of a stored run), protocol (a line of a
    program behind cmd:), or golden (the manifest of golden files).

    \b
    opcheck schema > opcheck.schema.json
    # then, as the first line of a case file:
    # yaml-language-server: $schema=opcheck.schema.json
    """
    json_schema = import_module(SCHEMAS[given.what]).json_schema()
    click.echo(json.dumps(json_schema, indent=2))


@dataclass(frozen=True, kw_only=True)
class MutateOptions:
    """Options of `opcheck mutate`."""

    cases: CaseOptions
    mutants: tuple[str, ...]
    jobs: int | None
    cluster: str | None
    levels: bool
    verbose: bool


@click.command(name="mutate")
@options.case_options
@click.option("--mutant", "mutants", metavar="NAME", multiple=True, help="Only this mutant.")
@click.option(
    "--levels",
    is_flag=True,
    help="Show instead which rows of the cases level core lacks, and which it does not need.",
)
@options.processes_option
@options.cluster_option
@click.option(
    "-v", "--verbose", is_flag=True, help="Also print what kills each mutant, and every argument."
)
@options.takes(MutateOptions)
def mutate(given: MutateOptions) -> None:
    """Show which mutants the cases kill, and which survive.

    A mutant is a backend with one likely mistake. There is one for each version and element type
    of the cases; one for each version if the mistake is only to accept invalid models. A mutant is
    killed if a case of rule `must` fails because of it. If a mutant survives your cases, a shipped
    case that kills it is named. Operators that opcheck's engine lacks have no mutants.

    Of operators with situations (docs/situations.md), a second table counts mutants that are wrong
    in one situation only, such as [m,n] with [1,n]: a case in that situation has to kill them. They
    do not change the exit code.

    \b
    opcheck mutate                               the shipped suites
    opcheck mutate my.yaml -v                    my cases, with what kills each mutant
    opcheck mutate --op Mul -v                   and which survive in which situation
    opcheck mutate --op Hardmax --opset 13 --mutant last_of_ties
    opcheck mutate --levels --op Sign,Abs        what of their cases belongs in level core

    With --levels, each mutant is tried on each case of every level. Core should see 99 % of the
    mutants that some level sees, and show every sentence, situation and known defect that cases
    show, by as little counted work as possible. A row of several operators is weighed by those
    that are selected.

    A mutant that raises is a mistake of opcheck's own: it is named on standard error, its fate is
    not known, and the exit code is 1.

    Exit codes: 0 no mutant survives, or core is as proposed, 1 some survive, or are argued to be
    harmless and are not, or raise, or rows should move, 2 wrong usage or case file, 4 the cluster
    could not be used or a process died, 5 opcheck's engine has no operator of these cases.
    """
    from opcheck.report import listing
    from opcheck.report.conditioned import show_conditioned

    _reject_clashes(given)
    if given.levels:
        show_levels(given.cases, given.jobs, verbose=given.verbose)
    cases, description = chosen_cases(given.cases.paths, given.cases.selection)
    _note_cases_left_out(cases)
    _check_mutants(given.mutants, cases)
    tried = _try_mutants(given, cases)
    if tried is None:
        note(f"no case of an operator with known mutants ({description})")
        exit_with(Exit.NOTHING_JUDGED)
    raised = console.note_mutants_that_raised(tried.errors())
    listing.show_power(stdout_console(), tried.power, verbose=given.verbose)
    show_conditioned(stdout_console(), tried.in_situations, verbose=given.verbose)
    wrong = _what_is_wrong(tried.power.mutations, raised)
    if wrong:
        console.print_and_exit(Exit.NONCONFORMING, ", ".join(wrong))
    console.print_and_exit(Exit.CONFORMS, "no mutant survives")


def _reject_clashes(given: MutateOptions) -> None:
    """Raise UsageError for options that do not go together."""
    if given.levels and (given.mutants or given.cluster is not None):
        raise UsageError("--levels goes with neither --mutant nor --cluster")
    if given.cluster and given.jobs:
        raise UsageError("no jobs on a cluster", "start as many workers as there shall be")


@dataclass(frozen=True, kw_only=True)
class _TriedMutants:
    """What became of mutants.

    Attributes:
        power: The fates of those that raised nothing, and what kills survivors elsewhere.
        broken: The mutants that raised.
        elsewhere: What shipped cases show of survivors, also of those that raised there.
        in_situations: Those that are wrong in one situation only, also if they raised.
    """

    power: "Power"
    broken: "Sequence[Mutation]"
    elsewhere: "Sequence[ShippedKill]"
    in_situations: "Sequence[ConditionedMutant]"

    def errors(self) -> "Iterator[tuple[MutantId, str]]":
        """Yield mutants with what they raised, "" for nothing."""
        for mutation in self.broken:
            yield mutation.mutant, mutation.raised
        for survivor in self.elsewhere:
            yield survivor.mutant, survivor.raised
        for conditioned_mutant in self.in_situations:
            yield conditioned_mutant.mutant, conditioned_mutant.raised


def _try_mutants(given: MutateOptions, cases: "Sequence[Case]") -> _TriedMutants | None:
    """Try the mutants of cases, here or on a cluster, and show how far that is.

    None if the operators of the cases have no mutants, or none of the names that are given.
    """
    from opcheck.execution import conditioned, mutate as work
    from opcheck.model import Fate, Power

    settings = work.MutationSettings(given.mutants)
    processes = given.jobs or interrupt.processors()
    spread = None
    with ExitStack() as stack:
        if given.cluster is not None:
            from opcheck.cluster import hired

            cluster = stack.enter_context(hired(given.cluster))
            processes = max(1, cluster.threads())
            spread = cluster.run_jobs
        with console.counted("trying mutants", work.count(cases, settings)) as each:
            mutations = tuple(each(work.mutations(cases, settings, processes, spread)))
        if not mutations:
            return None
        known = tuple(mutation for mutation in mutations if not mutation.raised)
        survivors = sorted(mutation.mutant for mutation in known if mutation.fate is Fate.SURVIVED)
        elsewhere = tuple(work.killed_elsewhere(survivors, cases, processes, spread))
        power = Power(known, {one.mutant: one.case for one in elsewhere if one.case})
        total = conditioned.count(cases, settings)
        with console.counted("trying mutants in situations", total) as each:
            in_situations = tuple(
                each(conditioned.conditioned_mutants(cases, settings, processes, spread))
            )
    return _TriedMutants(
        power=power,
        broken=[mutation for mutation in mutations if mutation.raised],
        elsewhere=elsewhere,
        in_situations=in_situations,
    )


def _what_is_wrong(known: "Sequence[Mutation]", raised: int) -> list[str]:
    """Return, in words, how many mutants survive, contradict an argument, or raise.

    known: the mutants that raised nothing. raised: how many others there are.
    """
    from opcheck.model import Fate

    counts = {
        "survived": sum(mutation.fate is Fate.SURVIVED for mutation in known),
        "not as harmless as argued": sum(mutation.contradicts for mutation in known),
        "raised": raised,
    }
    return [f"{count:,} {text}" for text, count in counts.items() if count]


def _note_cases_left_out(cases: "Sequence[Case]") -> None:
    """Print how many cases no mutant can be tried on, because the engine has no answer to them."""
    from opcheck.engine import operator_of

    left_out = [case for case in cases if operator_of(case.op) and not case.expect.is_stated]
    if left_out:
        message = f"{plural(len(left_out), 'case')} left out, such as {left_out[0].id}"
        note(f"{message}: what must come out is what backends answer")


def _check_mutants(names: Sequence[str], cases: "Sequence[Case]") -> None:
    """Raise UsageError for a name that no mutant of the cases' operators has."""
    from opcheck.engine.mutants.mutant import STATEFUL
    from opcheck.execution.mutate import all_mutants

    ops = {case.op for case in cases}
    known = {name for op in ops for mutant in all_mutants(op) for name in mutant.names}
    known |= {mutant.name for mutant in STATEFUL}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"no mutant {unknown[0]!r}", did_you_mean(unknown[0], known))


@dataclass(frozen=True, kw_only=True)
class BackendsOptions:
    """Options of `opcheck backends`."""

    addresses: tuple[str, ...]
    config: Path | None
    timeout: float | None
    format: str


@click.command(name="backends")
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...", shell_complete=values.backends)
@options.config_option
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=options.SECONDS,
    help=f"Time limit for a backend to start.  [default: {options.PATIENCE:g}]",
)
@format_option("json")
@options.takes(BackendsOptions)
def backends(given: BackendsOptions) -> None:
    """Show the available backends, or those at ADDRESS: which can be used here, and what the
    others need.

    \b
    opcheck backends                        built in, offered by installed packages, and profiles
    opcheck backends openvino:GPU           whether this one can be used
    opcheck backends --format json          a line of JSON for each backend

    Each backend is started in a process of its own, as for a run. `opcheck support` shows which
    operators it has.

    Exit codes: 0 all is shown, 2 wrong usage, 4 a backend at an ADDRESS cannot be used.
    """
    from opcheck.backends.address import profiles
    from opcheck.backends.isolation.cleanup import guarded_folder
    from opcheck.backends.offers import offers, tried
    from opcheck.report import support as report

    options.use_config(given.config)
    problems: list[OpcheckError] = []
    if given.addresses:
        chosen = _offered(given.addresses)
    else:
        chosen, problems = offers(profiles(Path.cwd()))
    with guarded_folder() as folder:
        tried_offers = tried(chosen, folder, given.timeout or options.PATIENCE)
        if given.format == "json":
            print_records(map(report.backend_record, tried_offers))
            for problem in problems:
                print_records([{"type": "problem", "message": "\n".join(problem.lines())}])
        else:
            report.show_backends(stdout_console(), tried_offers, problems)
    exit_with(_exit_code_of(tried_offers) if given.addresses else Exit.CONFORMS)


@dataclass(frozen=True, kw_only=True)
class SupportOptions:
    """Options of `opcheck support`."""

    paths: tuple[Path, ...]
    addresses: tuple[str, ...]
    config: Path | None
    ops: tuple[str, ...]
    require: str | None
    lenient: bool
    timeout: float | None
    cluster: str | None
    format: str


@click.command(name="support")
@options.paths_argument
@options.backends_option
@options.op_option
@click.option(
    "--require",
    metavar="CELLS",
    shell_complete=values.operators,
    help="Cells that must be right in all core cases, as 'Conv, MatMul@13+, *:float32': an operator"
    " or all, at an opset (+ for later versions too), of a type.",
)
@click.option(
    "--lenient",
    is_flag=True,
    help="With --require: every warning passes, not only that of a case `should`.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=options.SECONDS,
    help="Time limit for a backend to start, and for a model."
    f"  [default: {options.PATIENCE:g}, for a model also as the backend's profile says]",
)
@options.cluster_option
@format_option("html", "json")
@options.takes(SupportOptions)
def support(given: SupportOptions) -> None:
    """Show which operators backends have, in every version and type, and which of them are right.

    \b
    opcheck support -b onnxruntime                   cells that are not right, and why
    opcheck support -b npu:0 -b onnxruntime          both, side by side
    opcheck support -b npu:0 --require '*@13+:float32'   a gate
    opcheck support -b npu:0 --format html > npu.html    every cell
    opcheck support net -b npu:0                     what the cases in a folder use

    Each cell is tested by a few small models of the shipped suites, or by the cases of PATH that
    name no oracle. With --require, only the operators that it names are tested, unless --op names
    others, and the cells that it names by all core cases. A warning of a poorer arithmetic is right
    if the backend declares that arithmetic (?accumulate=). No ledger excuses a wrong answer.
    Without -b: the backends of `opcheck run`.

    Exit codes: 0 all that is required is right, 1 some is not, 2 wrong usage, 4 a backend or the
    cluster could not be used.
    """
    from opcheck.backends.address import DEFAULT
    from opcheck.suite import check_case_files

    options.use_config(given.config)
    offered = _offered(given.addresses or DEFAULT)
    check_case_files(given.paths, "support")
    if given.lenient and given.require is None:
        raise UsageError("--lenient goes with --require CELLS")
    if given.cluster is None:
        # Before the suites are read, which takes longer.
        offered = _tried_here(given, offered)
    cells, required = _cells_to_test(given)
    matrices = _matrices(given, offered, cells)
    _show_matrices(given.format, matrices)
    is_of_everything = not (given.paths or given.ops or given.require)
    if is_of_everything and options.scope_of(given.addresses, cases_are_named=False) is None:
        _propose_scopes(matrices)
    exit_with(_judge_required(given, required, matrices))


def _offered(addresses: Sequence[str]) -> "list[Offer]":
    """Return the backends at addresses, or of profiles; raise UsageError with all problems."""
    from opcheck.backends.address import profiles, resolve
    from opcheck.backends.offers import offer
    from opcheck.execution.workers import each

    known = profiles(Path.cwd())

    def offer_at(address: str) -> "Offer":
        return offer(resolve(address, known))

    return each(offer_at, addresses)


def _tried_here(given: SupportOptions, offered: "Sequence[Offer]") -> "list[Offer]":
    """Return the backends with their information; if one cannot be used, end the program instead.

    Each is started once on this machine.
    """
    from opcheck.backends.isolation.cleanup import guarded_folder
    from opcheck.backends.offers import tried

    with guarded_folder() as folder:
        backends = tried(offered, folder, given.timeout or options.PATIENCE)
    _exit_if_unusable(backends)
    return backends


def _cells_to_test(given: SupportOptions) -> "tuple[Asked, list[Floor]]":
    """Return the cells to test, each with its cases, and those that are required."""
    from opcheck.execution.support import cells_of, floors, matrix, named_in, with_all_core
    from opcheck.suite import Selection

    ops = given.ops
    if not ops and given.require is not None:
        ops = tuple(named_in(given.require))
    scope = options.scope_of(given.addresses, cases_are_named=bool(ops))
    if scope is not None and not given.paths:
        ops = scope.operators
    cases, _ = chosen_cases(given.paths, Selection(ops=ops))
    cells = cells_of(cases) if given.paths else matrix(cases)
    if scope is not None:
        cells = {cell: asked for cell, asked in cells.items() if scope.has(cell.op, cell.dtype)}
    if given.require is None:
        return cells, []
    all_core = with_all_core(cells, cases)
    required = floors(given.require, all_core)
    cells |= {cell: all_core[cell] for floor in required for cell in floor.cells}
    return cells, required


def _matrices(given: SupportOptions, offered: "Sequence[Offer]", cells: "Asked") -> "list[Matrix]":
    """Test the cells on each backend, those `offered`, which were tried unless on a cluster.

    If a worker of the cluster cannot use one, end the program instead.
    """
    from opcheck.backends.isolation.cleanup import guarded_folder
    from opcheck.report.support import Matrix

    matrices: list[Matrix] = []
    with guarded_folder() as folder, ExitStack() as stack:
        backends, probes = _probes(given, offered, cells, folder, stack)
        _exit_if_unusable(backends)
        total = len(backends) * sum(map(len, cells.values()))
        with console.counted("testing", total, pausing=False) as counted:
            for backend, probe in zip(backends, probes, strict=True):
                tested = probe(counted)
                info = backend.info
                is_plain = info is not None and backend.name == info.address
                title = str(info) if is_plain else f"{backend.name}: {info}"
                matrices.append(Matrix(backend.name, title, backend.about.declares, tested))
    return matrices


def _show_matrices(form: str, matrices: "Sequence[Matrix]") -> None:
    """Print the matrices of all backends, in one of the formats of `opcheck support`."""
    from opcheck.report import support as report

    if form == "json":
        for matrix in matrices:
            print_records(report.record(matrix.address, cell) for cell in matrix.cells)
    elif form == "pretty":
        report.show(stdout_console(), matrices)
    else:
        console.write_lines(None, report.html_lines(matrices))


def _propose_scopes(matrices: "Sequence[Matrix]") -> None:
    """Print the operators of each backend that lacks most of them, for its profile."""
    for matrix in matrices:
        tried = scopes.TriedOperators()
        for cell in matrix.cells:
            if cell.verdict is not None:
                tried.add(cell.cell.op, is_had=cell.is_supported)
        if tried.are_few:
            scopes.propose(matrix.address, tried, tried.parts())


def _probes(
    given: SupportOptions,
    offered: "Sequence[Offer]",
    cells: "Asked",
    folder: Path,
    stack: ExitStack,
) -> "tuple[Sequence[Offer], list[Probe]]":
    """Prepare to test the backends, here or on a cluster that `stack` closes.

    Returns:
        The backends, each with its information or its error, and for each a function that probes
        its cells. Those `offered` have it already, unless they are on a cluster.
    """
    from opcheck.execution.support import probe_in_processes, settings_of

    settings = [
        settings_of(offer, folder, given.timeout or offer.profile.timeout or options.PATIENCE)
        for offer in offered
    ]
    if given.cluster is None:
        return offered, [
            partial(probe_in_processes, its_settings, cells) for its_settings in settings
        ]
    from opcheck.cluster import hired, supported

    cluster = stack.enter_context(hired(given.cluster, settings))
    infos = zip(offered, cluster.infos, strict=True)
    on_workers = [replace(offer, info=info) for offer, info in infos]
    numbers = range(len(on_workers))
    return on_workers, [partial(supported, cluster, number, cells) for number in numbers]


def _exit_if_unusable(backends: "Sequence[Offer]") -> None:
    """Show the backends that cannot be used, and exit with the code of their errors."""
    from opcheck.report import support as report

    unusable = [backend for backend in backends if backend.error]
    if unusable:
        report.show_backends(console.new_console(is_wide=False, stderr=True), unusable)
        exit_with(_exit_code_of(unusable))


def _exit_code_of(backends: "Sequence[Offer]") -> Exit:
    """Return the exit code of the errors that backends have; that of success without any."""
    codes = [backend.error.exit_code for backend in backends if backend.error]
    return min(codes, key=list(Exit).index, default=Exit.CONFORMS)


def _judge_required(
    given: SupportOptions, required: "Sequence[Floor]", matrices: "Sequence[Matrix]"
) -> Exit:
    """Print the required cells that are not right, each with a case; return the exit code."""
    from opcheck.model import Verdict
    from opcheck.report import support as report

    lenient = given.lenient
    is_missed = False
    for matrix in matrices:
        for floor in required:
            message = report.missed(floor, matrix, lenient=lenient)
            if not message:
                continue
            is_missed = True
            note(message)
            first = report.first_missed(floor, matrix, lenient=lenient)
            if first:
                note(f"first: {one_line(f'{first.case}: {first.reason}')}")
                note(f"repeat: {_repeat(given, matrix, first)}")
    if required:
        note(report.required_of(required, matrices, lenient=lenient))
    needed = {cell for floor in required for cell in floor.cells}
    verdicts = {cell.verdict for matrix in matrices for cell in matrix.cells if cell.cell in needed}
    if Verdict.NOT_RUN in verdicts:
        return Exit.UNUSABLE
    return Exit.NONCONFORMING if is_missed else Exit.CONFORMS


def _repeat(given: SupportOptions, matrix: "Matrix", support: "Support") -> str:
    """Return the command that runs the case that a cell names, red if the cell is not right."""
    from opcheck.model import Verdict

    words = ["opcheck", "run", *map(str, given.paths), "--case", support.case]
    words += ["-b", matrix.address]
    if given.config is not None:
        words += ["--config", str(given.config)]
    words.append("--no-known")
    words += ["--strict"] * (support.verdict is Verdict.WARN)
    words += ["--require-supported"] * (support.verdict is Verdict.UNSUPPORTED)
    return one_line(shlex.join(words))

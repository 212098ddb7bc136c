"""`opcheck golden`, `pack` and `verify`: folders and files to hand to others."""

import hashlib
import re
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opcheck import interrupt
from opcheck.cli import options
from opcheck.cli.group import Commands
from opcheck.errors import Exit, UsageError, few, writing
from opcheck.report.plain_text import one_line, plural

_RUN, _OUTPUTS, _SUMS = "run.jsonl", "outputs", "SHA256SUMS"
#: Bytes of a package's files that are unpacked, at most: it may come from strangers.
_MOST = 16 << 30
_DAMAGE = (zlib.error, zipfile.BadZipFile)

if TYPE_CHECKING:
    from opcheck.model import BackendInfo, Case, Header, Run


@click.group(name="golden", cls=Commands)
def golden() -> None:
    """Write test data with the right answers in it.

    \b
    opcheck golden write -o golden        the shipped suites, in the layout of ONNX's test data
    opcheck golden write my.yaml -o mine  my cases
    opcheck run golden -b mine            such a folder, checked against its checksums and judged
    """


def _is_replaced(folder: Path, words: Sequence[str]) -> bool:
    """Return True for a folder of nothing but what opcheck wrote, with --force."""
    from opcheck.execution.golden import check_place

    if "--force" not in words or not folder.is_dir() or not any(folder.iterdir()):
        return False
    check_place(folder, force=True)
    return True


@golden.command(name="write", cls=options.OutputCommand)
@options.selection_options
@options.declared(
    """
    -o --output folder DIR: The folder to be made.
    --force: Replace a folder that this command wrote.
    """,
    folder={"type": options.OutputPath(_is_replaced), "required": True},
)
@options.processes_option
def write(folder: Path, force: bool, jobs: int | None, **selection: Any) -> None:
    """Write cases with their right answers, as ONNX's test data.

    What is written is the exact value of the operator's formula, correctly rounded. Where a case
    states another answer, nothing is written of it.

    \b
    opcheck golden write -o golden                       the shipped suites
    opcheck golden write -o golden --op Softmax          one operator
    opcheck golden write my.yaml -o mine                 my cases

    A test of `must` has to pass, and of `open` one of each case; the models of `rejected` have to
    be refused. docs/golden-files.md describes all files.

    Exit codes: 0 written, 1 a case was left out because it contradicts the oracle, 2 wrong usage
    or case file, 4 the folder cannot be written, 5 there was nothing to write, 130 interrupted.
    """
    from opcheck.execution.golden import check_place, write as write_cases
    from opcheck.report.style import Numbers, new_table, put_all
    from opcheck.suite import golden_files
    from opcheck.suite.load import check_case_files

    check_case_files(selection["paths"], "golden write")
    check_place(folder, force=force)
    cases, said = options.chosen_cases(**selection)
    with options.counted("writing", len(cases)) as each:
        jobs = jobs or interrupt.processors()
        written = write_cases(folder, cases, said, jobs, force=force, counted=each)
    # How a backend uses each folder's tests, where values come from, what is left out.
    folders = new_table("folder", "a backend has to", *map(Numbers, ("tests", "files")))
    for kind, duty in {
        "must": "give these answers",
        "should": "give these answers, or have a reason",
        "open": "give one of each case's",
        "rejected": "refuse the model",
    }.items():
        if tests := [test for test in written.tests if test.folder.startswith(f"{kind}/")]:
            files = sum(len(test.files) for test in tests)
            folders.add_row(kind, duty, f"{len(tests):,}", f"{files:,}")
    methods = new_table("values", Numbers("tests"), "")
    counts = Counter(test.method for test in written.tests)
    for method, text in written.methods.items():
        if counts[method]:
            methods.add_row(method, f"{counts[method]:,}", text)
    put_all(options.output(), folders, methods)
    left = [one for one in written.left_out if not one.wrong]
    if left:
        click.echo(f"left out, as the manifest tells in full: {len(left):,}")
        for one in left[:3]:
            click.echo(f"  {one.what}: {one.case}: {one_line(one.reason)}")
        if more := left[3:]:
            click.echo(f"  and {len(more):,} more")
        click.echo()
    mistakes = [one for one in written.left_out if one.wrong]
    for one in mistakes:
        click.echo(f"WRONG {one.case}\n  {one.what}: {one_line(one.reason)}")
    wrong, count = len({one.case for one in mistakes}), len(written.cases)
    if not count and not wrong:
        options.end(Exit.NOTHING_JUDGED, f"nothing to write ({said})")
    if count:
        manifest_digest = golden_files.digest_of(folder)
        click.echo(
            f"{golden_files.MANIFEST}: SHA-256 {manifest_digest}, for opcheck run --digest\n"
        )
    written_cases, bad = (plural(n, "case is", "cases are") for n in (count, wrong))
    where = f"{written_cases} in {folder}" if count else "nothing was written"
    code = Exit.NONCONFORMING if wrong else Exit.CONFORMS
    options.end(code, f"{f'{bad} wrong; ' if wrong else ''}{where}")


@click.command(name="pack", cls=options.OutputCommand)
@click.argument("run_path", type=options.PATH, metavar="RUN")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@options.declared(
    "-o --output out FILE: The package, a zip file.",
    out={"type": options.OutputPath(), "required": True},
)
def pack(run_path: Path, folder: Path, out: Path) -> None:
    """Put a stored run and its outputs into one file, with checksums.

    RUN is of one backend, and FOLDER what `--save-outputs` kept of it. Whoever gets the package
    sees what ran where, and judges the outputs again, with `opcheck verify`.

    \b
    opcheck run -b npu:0 --report json=run.jsonl --save-outputs outputs
    opcheck pack run.jsonl outputs -o npu.zip

    Exit codes: 0 written, 2 wrong usage, or a run that is incomplete or of other outputs, 4 the
    package cannot be written.
    """
    from opcheck.execution.saving import check_foreign
    from opcheck.graph import folders

    (run,) = options.read_runs(run_path)
    try:
        origin = folders.read_origin(folder)
    except ValueError as error:
        raise UsageError(f"{folder}: {error}") from None
    (info, *others) = run.header.backends
    if others or not run.complete:
        raise UsageError(f"{run_path}: a package holds a complete run of one backend")
    if origin is None or (origin.kind, origin.version) != (info.kind, info.version):
        raise UsageError(f"{folder} holds no outputs of {info}: run with --save-outputs {folder}")
    check_foreign(folder, folders.ANSWER_FILE.fullmatch)
    files = {_RUN: run_path}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        files[f"{_OUTPUTS}/{path.relative_to(folder).as_posix()}"] = path
    with writing(out), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, path in files.items():
            package.write(path, name)
        sums = (f"{_digest(path)}  {name}\n" for name, path in files.items())
        package.writestr(_SUMS, "".join(sums))
    options.end(Exit.CONFORMS, f"{plural(len(run.records), 'result')} of {info} in {out}")


@click.command(name="verify", cls=options.OutputCommand)
@click.argument("package", type=options.PATH)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@options.config_option
def verify(package: Path, paths: tuple[Path, ...]) -> None:
    """Judge again what somebody handed in: a package that `opcheck pack` wrote.

    Its checksums must hold, its parts agree with each other, and its cases be those here: the
    shipped ones, or those in PATH. A run of a whole level must have all cases of that level. Each
    output is judged anew, and compared with the verdict that was handed in. Crashes, time limits
    and answers that change from run to run leave no output: they stand as they were handed in.
    Nothing here can show that the backend gave these outputs.

    \b
    opcheck verify npu.zip
    opcheck verify npu.zip their_cases      a run of these case files

    Exit codes: 0 what could be judged again has the verdicts that were handed in, 1 some has
    another, 2 the package is damaged or contradicts itself, 4 it is of other cases than those here
    or some are missing, 5 nothing could be judged again.
    """
    from opcheck.analysis import without_ledgers
    from opcheck.execution import package_checks

    with tempfile.TemporaryDirectory(prefix="opcheck-") as place:
        _unpack(package, Path(place))
        (run,) = options.read_runs(Path(place) / _RUN)
        outputs = Path(place) / _OUTPUTS
        info = _check(package, run, outputs)
        _show_origin(run, info)
        scope = package_checks.scope(run, paths)
        findings = _judged_again(run, scope.known, outputs)
    for line in findings.wrong:
        click.echo(line)
    verdicts = Counter(without_ledgers(one, as_found=True).verdict for one in run.records)
    click.echo(", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common()))
    counts = f"{plural(findings.confirmed, 'verdict')} confirmed, {findings.alone:,} as handed in"
    click.echo(f"{counts}; {len(run.records):,} of the {plural(scope.total, 'case')} here")
    if scope.apart:
        unknown = f"{plural(len(scope.apart), 'case')} are not those here"
        options.end(Exit.UNUSABLE, f"{unknown}: {one_line(few(scope.apart, 3))}")
    if scope.missing:
        lost = plural(len(scope.missing), "case of its selection is", "cases of its selection are")
        options.end(Exit.UNUSABLE, f"{lost} missing: {one_line(few(scope.missing, 3))}")
    if findings.wrong:
        options.end(Exit.NONCONFORMING, f"{plural(len(findings.wrong), 'verdict')} not confirmed")
    if not findings.confirmed:
        options.end(Exit.NOTHING_JUDGED, "nothing could be judged again")
    part = f" of {scope.total:,}" if len(run.records) < scope.total else ""
    options.end(
        Exit.CONFORMS, f"{counts} ({len(run.records):,}{part} cases, {_selection(run.header)})"
    )


def _check(package: Path, run: "Run", outputs: Path) -> "BackendInfo":
    """Return the backend of a package; raise UsageError where its parts contradict each other."""
    from opcheck.execution import package_checks

    try:
        info = package_checks.check_run(run)
        package_checks.check_origin(info, outputs)
    except UsageError as error:
        said = one_line(error.message)
        raise UsageError(f"{package}: this is no package of opcheck: {said}") from None
    return info


def _show_origin(run: "Run", info: "BackendInfo") -> None:
    """Print what ran where, as it was handed in: each in one line, whatever it holds."""
    from opcheck.execution import package_checks

    header = run.header
    there = header.environment
    where = f"{info} on {there.platform}, by opcheck {there.opcheck}, {header.started}"
    click.echo(one_line(where))
    if declared := package_checks.declarations(info):
        click.echo(one_line(f"it declares: {declared}"))
    click.echo(f"its run: {_selection(header)}")


def _selection(header: "Header") -> str:
    """Return what a run selected, in one line."""
    words = [header.selection or f"level {header.level}", header.part]
    if header.paths:
        words.append(f"from {' '.join(header.paths)}")
    return one_line(", ".join(filter(None, words)))


@dataclass
class _Findings:
    """What came of judging again: lines of wrong verdicts, and counts of the others."""

    wrong: list[str] = field(default_factory=list)
    confirmed: int = 0
    #: Those whose answers left no output.
    alone: int = 0


def _judged_again(run: "Run", known: "Sequence[Case]", outputs: Path) -> _Findings:
    """Judge the outputs in a folder by cases, and compare each verdict with the run's."""
    from opcheck import api
    from opcheck.analysis import without_ledgers
    from opcheck.model import Verdict

    old = {one.case: without_ledgers(one, as_found=True) for one in run.records}
    lasting = (Verdict.CRASH, Verdict.TIMEOUT, Verdict.OOM, Verdict.UNSTABLE)
    found = _Findings()
    results = api.run(known, [f"saved:{outputs}"], shipped_ledgers=False) if known else ()
    with options.counted("judging again", len(known)) as each:
        for new in each(results):
            was = old[new.case]
            has_no_output = new.verdict in (Verdict.NOT_RUN, Verdict.UNSUPPORTED)
            if has_no_output and was.verdict in (*lasting, new.verdict):
                found.alone += 1
            elif (was.verdict, was.failure) == (new.verdict, new.failure):
                found.confirmed += 1
            else:
                said = f"handed in as {was.verdict}, it is {new.verdict}: {new.reason}"
                found.wrong.append(one_line(f"{new.case}: {said}"))
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(package: Path, place: Path) -> None:
    """Unpack into `place`; raises UsageError unless all is there as it was packed, and no more."""
    from opcheck.graph.folders import ANSWER_FILE

    # None of these names leads out of `place`.
    known = re.compile(rf"{re.escape(_RUN)}|{_OUTPUTS}/(?!\.\./)({ANSWER_FILE.pattern})")
    try:
        with zipfile.ZipFile(package) as file:
            names = [one.filename for one in file.infolist() if one.filename != _SUMS]
            if sum(one.file_size for one in file.infolist()) > _MOST:
                raise ValueError(f"unpacked it has more than {_MOST:,} bytes")
            lines = (line.partition("  ") for line in file.read(_SUMS).decode().splitlines())
            sums = {name: digest for digest, _, name in lines}
            if strange := [name for name in names if not known.fullmatch(name)]:
                raise ValueError(f"{strange[0]!r} belongs in no package")
            if sorted(names) != sorted(sums) or _RUN not in sums:
                raise ValueError(f"{_SUMS} lists other files than there are")
            for name, digest in sums.items():
                if _digest(Path(file.extract(name, place))) != digest:
                    raise ValueError(f"{name} is not what was packed")
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, *_DAMAGE) as error:
        message = f"{package}: this is no package of opcheck, or damaged: {one_line(str(error))}"
        raise UsageError(message) from None

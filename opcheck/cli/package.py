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
from typing import TYPE_CHECKING

import click

from opcheck import interrupt
from opcheck.cli import console, options
from opcheck.cli.files import OutputCommand, OutputPath, check_files, read_runs
from opcheck.cli.group import Commands
from opcheck.cli.options import CaseOptions
from opcheck.errors import Exit, UsageError, few, writing
from opcheck.report.plain_text import one_line, plural

if TYPE_CHECKING:
    from opcheck.execution.golden import Names
    from opcheck.model import BackendInfo, Case, Header, Run
    from opcheck.suite.golden_files import LeftOut, Manifest

#: Names in a package: the stored run, the folder of outputs, the checksums.
_RUN = "run.jsonl"
_OUTPUTS = "outputs"
_SUMS = "SHA256SUMS"
#: Bytes of a package's files that are unpacked, at most: it may come from strangers.
_MOST = 16 << 30
_DAMAGE = (zlib.error, zipfile.BadZipFile)


@click.group(name="golden", cls=Commands)
def golden() -> None:
    """Write test data with right answers.

    \b
    opcheck golden write -o golden        the shipped suites, in the layout of ONNX's test data
    opcheck golden write my.yaml -o mine  my cases
    opcheck run golden -b mine            such a folder, checked against its checksums and judged
    """


def _is_replaced(folder: Path, words: Sequence[str]) -> bool:
    """Return True for an archive; for a folder of nothing but what opcheck wrote, with --force."""
    from opcheck.execution.golden import check_place
    from opcheck.execution.golden_archive import is_archive

    if is_archive(folder):
        return folder.is_file()
    if "--force" not in words or not folder.is_dir() or not any(folder.iterdir()):
        return False
    check_place(folder, force=True)
    return True


@dataclass(frozen=True, kw_only=True)
class GoldenWriteOptions:
    """Options of `opcheck golden write`."""

    cases: CaseOptions
    release: str | None
    names: "Names"
    out: Path
    force: bool
    jobs: int | None


@golden.command(name="write", cls=OutputCommand)
@options.case_options
@click.option(
    "--onnx",
    "release",
    metavar="VERSION",
    help="Only cases at opsets that this release of onnx has, such as 1.19.",
)
@click.option(
    "--names",
    type=click.Choice(["opcheck", "onnx"]),
    default="opcheck",
    show_default=True,
    help="Name tests by the ids of cases, or as ONNX names its node tests.",
)
@click.option(
    "-o",
    "--output",
    "out",
    metavar="PATH",
    type=OutputPath(_is_replaced),
    required=True,
    help="Folder to create, or archive: .tar.gz, .tgz or .zip.",
)
@click.option("--force", is_flag=True, help="Replace a folder that this command wrote.")
@options.processes_option
@options.takes(GoldenWriteOptions)
def write(given: GoldenWriteOptions) -> None:
    """Write cases with their right answers, as ONNX's test data.

    The answers are the exact values of the operator's formula, correctly rounded. A case that
    states another answer is not written.

    \b
    opcheck golden write -o golden                       the shipped suites
    opcheck golden write -o golden --op Softmax          one operator
    opcheck golden write my.yaml -o mine                 my cases
    opcheck golden write --onnx 1.19 -o golden.tar.gz    opsets that onnx 1.19 has, in one file

    Tests in `must` have to pass, and one test of each case in `open`; models in `rejected` have to
    be refused. docs/golden-files.md describes all files.

    Exit codes: 0 written, 1 a case was left out because it contradicts the oracle, 2 wrong usage
    or case file, 4 the files cannot be written, 5 there was nothing to write, 130 interrupted.
    """
    from opcheck.opset.releases import cases_of_release, opsets_of_release
    from opcheck.suite.load import check_case_files

    check_case_files(given.cases.paths, "golden write")
    _check_output(given)
    if given.release is not None:
        opsets_of_release(given.release)
    cases, description = options.chosen_cases(given.cases.paths, given.cases.selection)
    if given.release is not None:
        cases = cases_of_release(cases, given.release)
        description = f"{description}, onnx {given.release}"
    written = _written(given, cases, description)
    _show_written(written)
    _show_left_out([part for part in written.left_out if not part.wrong])
    mistakes = [part for part in written.left_out if part.wrong]
    for part in mistakes:
        click.echo(f"WRONG {part.case}\n  {part.what}: {one_line(part.reason)}")
    wrong = len({part.case for part in mistakes})
    count = len(written.cases)
    if not count and not wrong:
        console.print_and_exit(Exit.NOTHING_JUDGED, f"nothing to write ({description})")
    where = "nothing was written"
    if count:
        digest = hashlib.sha256(written.data()).hexdigest()
        click.echo(f"manifest.json: SHA-256 {digest}, for opcheck run --digest\n")
        where = f"{plural(count, 'case is', 'cases are')} in {given.out}"
    if wrong:
        bad = plural(wrong, "case is", "cases are")
        console.print_and_exit(Exit.NONCONFORMING, f"{bad} wrong; {where}")
    console.print_and_exit(Exit.CONFORMS, where)


def _check_output(given: GoldenWriteOptions) -> None:
    """Raise UsageError where the folder or archive cannot be written, or must not be replaced."""
    from opcheck.execution.golden import check_place
    from opcheck.execution.golden_archive import is_archive

    if not is_archive(given.out):
        check_place(given.out, force=given.force)
        return
    if given.force:
        raise UsageError("--force is for a folder: an archive is replaced without it")
    check_files([(f"-o {given.out}", given.out)])


def _written(given: GoldenWriteOptions, cases: "Sequence[Case]", description: str) -> "Manifest":
    """Write the cases to the folder or archive, with a progress bar; return the manifest."""
    from opcheck.execution import golden, golden_archive

    jobs = given.jobs or interrupt.processors()
    with console.counted("writing", len(cases)) as each:
        if golden_archive.is_archive(given.out):
            return golden_archive.write(
                given.out, cases, description, jobs, names=given.names, counted=each
            )
        return golden.write(
            given.out,
            cases,
            description,
            jobs,
            force=given.force,
            names=given.names,
            counted=each,
        )


#: What a backend has to do with the tests in each folder of golden files.
_DUTIES = {
    "must": "give these answers",
    "should": "give these answers, or have a reason",
    "open": "give one of each case's",
    "rejected": "refuse the model",
}
#: Cases left out that are shown; the manifest has all.
_LEFT_OUT_SHOWN = 3


def _show_written(written: "Manifest") -> None:
    """Print the number of tests by folder, and by where their values come from."""
    from opcheck.report.style import Numbers, new_table, put_all

    folders = new_table("folder", "a backend has to", Numbers("tests"), Numbers("files"))
    for kind, duty in _DUTIES.items():
        tests = [test for test in written.tests if test.folder.startswith(f"{kind}/")]
        if tests:
            files = sum(len(test.files) for test in tests)
            folders.add_row(kind, duty, f"{len(tests):,}", f"{files:,}")
    methods = new_table("values", Numbers("tests"), "")
    counts = Counter(test.method for test in written.tests)
    for method, text in written.methods.items():
        if counts[method]:
            methods.add_row(method, f"{counts[method]:,}", text)
    put_all(console.stdout_console(), folders, methods)


def _show_left_out(left_out: "Sequence[LeftOut]") -> None:
    """Print the first of the cases that were not written, and the number of the others."""
    if not left_out:
        return
    click.echo(f"left out, listed in full in the manifest: {len(left_out):,}")
    for part in left_out[:_LEFT_OUT_SHOWN]:
        click.echo(f"  {part.what}: {part.case}: {one_line(part.reason)}")
    if len(left_out) > _LEFT_OUT_SHOWN:
        click.echo(f"  and {len(left_out) - _LEFT_OUT_SHOWN:,} more")
    click.echo()


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """Options of `opcheck pack`."""

    run_path: Path
    folder: Path
    out: Path


@click.command(name="pack", cls=OutputCommand)
@click.argument("run_path", type=options.PATH, metavar="RUN")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    "out",
    metavar="FILE",
    type=OutputPath(),
    required=True,
    help="Package to write, a zip file.",
)
@options.takes(PackOptions)
def pack(given: PackOptions) -> None:
    """Pack a stored run and its outputs into one file, with checksums.

    RUN is of one backend, and FOLDER is what `--save-outputs` wrote. `opcheck verify` shows what
    ran where, and judges the outputs again.

    \b
    opcheck run -b npu:0 --report json=run.jsonl --save-outputs outputs
    opcheck pack run.jsonl outputs -o npu.zip

    Exit codes: 0 written, 2 wrong usage, or a run that is incomplete or of other outputs, 4 the
    package cannot be written.
    """
    from opcheck.execution.saving import check_foreign
    from opcheck.graph import folders

    run_path = given.run_path
    folder = given.folder
    (run,) = read_runs(run_path)
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
    for path in sorted(item for item in folder.rglob("*") if item.is_file()):
        files[f"{_OUTPUTS}/{path.relative_to(folder).as_posix()}"] = path
    with writing(given.out), zipfile.ZipFile(given.out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, path in files.items():
            package.write(path, name)
        sums = (f"{_digest(path)}  {name}\n" for name, path in files.items())
        package.writestr(_SUMS, "".join(sums))
    console.print_and_exit(
        Exit.CONFORMS, f"{plural(len(run.records), 'result')} of {info} in {given.out}"
    )


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Options of `opcheck verify`."""

    package: Path
    paths: tuple[Path, ...]
    config: Path | None


@click.command(name="verify", cls=OutputCommand)
@click.argument("package", type=options.PATH)
@options.paths_argument
@options.config_option
@options.takes(VerifyOptions)
def verify(given: VerifyOptions) -> None:
    """Re-judge a packed run: a package that `opcheck pack` wrote.

    Its checksums must be right, its parts must agree with each other, and its cases must be the
    same as here: the shipped ones, or those in PATH. A run of a whole level must have all cases of
    that level. Each output is judged again, and the verdict compared with the packed one. Crashes,
    time limits and answers that change from run to run leave no output: their verdicts stay as
    packed. verify cannot prove that the backend produced these outputs.

    \b
    opcheck verify npu.zip
    opcheck verify npu.zip their_cases      a run of these case files

    Exit codes: 0 what could be judged again has the verdicts that were handed in, 1 some has
    another, 2 the package is damaged or contradicts itself, 4 it is of other cases than those here
    or some are missing, 5 nothing could be judged again.
    """
    from opcheck.analysis import without_ledgers
    from opcheck.execution import package_checks

    options.use_config(given.config)
    with tempfile.TemporaryDirectory(prefix="opcheck-") as place:
        _unpack(given.package, Path(place))
        (run,) = read_runs(Path(place) / _RUN)
        outputs = Path(place) / _OUTPUTS
        info = _check(given.package, run, outputs)
        _show_origin(run, info)
        scope = package_checks.scope(run, given.paths)
        findings = _judged_again(run, scope.known, outputs)
    for line in findings.wrong:
        click.echo(line)
    verdicts = Counter(without_ledgers(record, as_found=True).verdict for record in run.records)
    click.echo(", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common()))
    counts = f"{plural(findings.confirmed, 'verdict')} confirmed, {findings.alone:,} as handed in"
    click.echo(f"{counts}; {len(run.records):,} of the {plural(scope.total, 'case')} here")
    if scope.foreign:
        count = len(scope.foreign)
        unknown = plural(count, "case is not one here", "cases are not those here")
        message = f"{unknown}: {one_line(few(scope.foreign, 3))}"
        console.print_and_exit(Exit.UNUSABLE, message)
    if scope.missing:
        lost = plural(len(scope.missing), "case of its selection is", "cases of its selection are")
        message = f"{lost} missing: {one_line(few(scope.missing, 3))}"
        console.print_and_exit(Exit.UNUSABLE, message)
    if findings.wrong:
        message = f"{plural(len(findings.wrong), 'verdict')} not confirmed"
        console.print_and_exit(Exit.NONCONFORMING, message)
    if not findings.confirmed:
        console.print_and_exit(Exit.NOTHING_JUDGED, "nothing could be judged again")
    part = f" of {scope.total:,}" if len(run.records) < scope.total else ""
    judged_cases = f"{len(run.records):,}{part} cases, {_selection(run.header)}"
    console.print_and_exit(Exit.CONFORMS, f"{counts} ({judged_cases})")


def _check(package: Path, run: "Run", outputs: Path) -> "BackendInfo":
    """Return the backend of a package; raise UsageError where its parts contradict each other."""
    from opcheck.execution import package_checks

    try:
        info = package_checks.check_run(run)
        package_checks.check_origin(info, outputs)
    except UsageError as error:
        reason = one_line(error.message)
        raise UsageError(f"{package}: this is not a package of opcheck: {reason}") from None
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

    old = {record.case: without_ledgers(record, as_found=True) for record in run.records}
    lasting = (Verdict.CRASH, Verdict.TIMEOUT, Verdict.OOM, Verdict.UNSTABLE)
    findings = _Findings()
    results = api.run(known, [f"saved:{outputs}"], shipped_ledgers=False) if known else ()
    with console.counted("judging again", len(known)) as each:
        for new in each(results):
            was = old[new.case]
            has_no_output = new.verdict in (Verdict.NOT_RUN, Verdict.UNSUPPORTED)
            if has_no_output and was.verdict in (*lasting, new.verdict):
                findings.alone += 1
            elif (was.verdict, was.failure) == (new.verdict, new.failure):
                findings.confirmed += 1
            else:
                verdicts = f"handed in as {was.verdict}, it is {new.verdict}"
                findings.wrong.append(one_line(f"{new.case}: {verdicts}: {new.reason}"))
    return findings


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(package: Path, place: Path) -> None:
    """Unpack into `place`; raises UsageError unless all is there as it was packed, and no more."""
    from opcheck.graph.folders import ANSWER_FILE

    # None of these names leads out of `place`.
    known = re.compile(rf"{re.escape(_RUN)}|{_OUTPUTS}/(?!\.\./)({ANSWER_FILE.pattern})")
    try:
        # A pipe without a writer would never end.
        if package.exists() and not package.is_file():
            raise ValueError("it is not a file")
        with zipfile.ZipFile(package) as file:
            names = [entry.filename for entry in file.infolist() if entry.filename != _SUMS]
            if sum(entry.file_size for entry in file.infolist()) > _MOST:
                raise ValueError(f"unpacked it has more than {_MOST:,} bytes")
            lines = (line.partition("  ") for line in file.read(_SUMS).decode().splitlines())
            sums = {name: digest for digest, _, name in lines}
            if strange := [name for name in names if not known.fullmatch(name)]:
                raise ValueError(f"{strange[0]!r} does not belong in a package")
            if sorted(names) != sorted(sums) or _RUN not in sums:
                raise ValueError(f"{_SUMS} lists other files than there are")
            for name, digest in sums.items():
                if _digest(Path(file.extract(name, place))) != digest:
                    raise ValueError(f"{name} is not what was packed")
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, *_DAMAGE) as error:
        reason = f"this is not a package of opcheck, or damaged: {one_line(str(error))}"
        raise UsageError(f"{package}: {reason}") from None

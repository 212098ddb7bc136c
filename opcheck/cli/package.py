"""`opcheck pack` and `opcheck verify`: a run and its outputs as one file, judged again."""

import hashlib
import re
import tempfile
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import click

from opcheck.cli.options import PATH, OutputCommand, OutputPath, counted, declared, end, read_runs
from opcheck.errors import Exit, UsageError, few, writing
from opcheck.report.plain_text import one_line, plural

_RUN, _OUTPUTS, _SUMS = "run.jsonl", "outputs", "SHA256SUMS"
#: Bytes of a package's files that are unpacked, at most: it may come from strangers.
_MOST = 16 << 30
_DAMAGE = (zlib.error, zipfile.BadZipFile)


@click.command(name="pack", cls=OutputCommand)
@click.argument("run_path", type=PATH, metavar="RUN")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@declared("-o --output out FILE: The package, a zip file.",
          out={"type": OutputPath(), "required": True})  # fmt: skip
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
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        files[f"{_OUTPUTS}/{path.relative_to(folder).as_posix()}"] = path
    with writing(out), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, path in files.items():
            package.write(path, name)
        sums = (f"{_digest(path)}  {name}\n" for name, path in files.items())
        package.writestr(_SUMS, "".join(sums))
    end(Exit.CONFORMS, f"{plural(len(run.records), 'result')} of {info} in {out}")


@click.command(name="verify", cls=OutputCommand)
@click.argument("package", type=PATH)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
def verify(package: Path, paths: tuple[Path, ...]) -> None:
    """Judge again what somebody handed in: a package that `opcheck pack` wrote.

    Its checksums must hold, and its cases be those here: the shipped ones, or those in PATH. Each
    output is judged anew, and held against the verdict that was handed in. Crashes, time limits
    and answers that change from run to run leave no output: they stand as they were handed in.
    That the backend gave these outputs, nobody can see here.

    \b
    opcheck verify npu.zip
    opcheck verify npu.zip their_cases      a run of these case files

    Exit codes: 0 what could be judged again has the verdicts that were handed in, 1 some has
    another, 2 the package is damaged, 4 it is of other cases than those here, 5 nothing could be
    judged again.
    """
    from opcheck import api
    from opcheck.analysis import without_ledgers
    from opcheck.model import Verdict
    from opcheck.suite import Selection, case_digest, load_all

    alone = confirmed = 0
    wrong = []
    with tempfile.TemporaryDirectory(prefix="opcheck-") as place:
        _unpack(package, Path(place))
        (run,) = read_runs(Path(place) / _RUN)
        info, *others = run.header.backends
        if others:
            why = "this is no package of opcheck: its run is of several backends"
            raise UsageError(f"{package}: {why}")
        there = run.header.environment
        click.echo(f"{info} on {there.platform}, by opcheck {there.opcheck}, {run.header.started}")
        ops = tuple({record.op.name for record in run.records})
        here = {case.id: case for case in load_all(paths, None, Selection(ops=ops, level="deep"))}
        pairs = [(here.get(one.case), one.digest) for one in run.records]
        known = [case for case, digest in pairs if case and case_digest(case) == digest]
        old = {one.case: without_ledgers(one, as_found=True) for one in run.records}
        apart = sorted(old.keys() - {case.id for case in known})
        address = f"saved:{Path(place) / _OUTPUTS}"
        results = api.run(known, [address], shipped_ledgers=False) if known else ()
        with counted("judging again", len(known)) as each:
            for new in each(results):
                was = old[new.case]
                lasting = Verdict.CRASH, Verdict.TIMEOUT, Verdict.OOM, Verdict.UNSTABLE, new.verdict
                lacking = new.verdict in (Verdict.NOT_RUN, Verdict.UNSUPPORTED)
                if lacking and was.verdict in lasting:
                    alone += 1
                elif (was.verdict, was.failure) == (new.verdict, new.failure):
                    confirmed += 1
                else:
                    said = f"handed in as {was.verdict}, it is {new.verdict}"
                    wrong.append(f"{one_line(new.case)}: {said}: {one_line(new.reason)}")
    click.echo("".join(f"{line}\n" for line in wrong), nl=False)
    counts = Counter(one.verdict for one in old.values())
    click.echo(", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common()))
    click.echo(f"{plural(confirmed, 'verdict')} confirmed, {alone:,} as handed in")
    if apart:
        end(Exit.UNUSABLE, f"{plural(len(apart), 'case')} are not those here: {few(apart, 3)}")
    if wrong:
        end(Exit.NONCONFORMING, f"{plural(len(wrong), 'verdict')} not confirmed")
    if not confirmed:
        end(Exit.NOTHING_JUDGED, "nothing could be judged again")
    end(Exit.CONFORMS, "the verdicts are confirmed")


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
        raise UsageError(f"{package}: this is no package of opcheck, or damaged: {error}") from None

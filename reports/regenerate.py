"""Makes everything in this folder that is published, but for the ledgers.

    python reports/regenerate.py               all of it: needs opcheck[openvino,tract,torch]
    python reports/regenerate.py -b torch      the run of one backend, and the pages
    python reports/regenerate.py --resume      only cases that today's runs do not have yet
    python reports/regenerate.py --only-run tract    the whole run of one backend, and nothing else
    python reports/regenerate.py --only-run tract --shards 16    the same in parts, which are kept
    python reports/regenerate.py --take DIR    the pages, of the whole runs in a folder
    python reports/regenerate.py --page        the pages only, of what is published
    python reports/regenerate.py --more tvm    the run of examples/backends/of_tvm.py, and the pages

Whole runs go to `runs/`, which git ignores: a release of opcheck has them as files, as
`.github/workflows/runs.yml` makes them. What the pages need of them goes to `results/`, what
`confirm.py` sees to `shown/`, timings to `bench.jsonl.gz`, and the pages of it all to
`README.md`, `operators.md`, `timings.md` and a folder for each engine; pages that no longer belong
are deleted.
With `--shards`, an interrupted run takes up where it stopped: its parts are in `runs/parts`.
Ledgers are checked first. A run that fails, or that is incomplete, is not published: its last lines
are printed, the published results stay, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

HERE = Path(__file__).parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

import opcheck  # noqa: E402  (it may be run as a script)
from opcheck import analysis, suite  # noqa: E402
from opcheck.analysis import RunPart  # noqa: E402
from opcheck.errors import CaseFileError, UsageError  # noqa: E402
from opcheck.model import Case, Run, Suite  # noqa: E402
from opcheck.report import store, timings  # noqa: E402
from reports import nodes, results, weights  # noqa: E402
from reports.checks import all_checks  # noqa: E402
from reports.page import Site  # noqa: E402
from reports.published import (  # noqa: E402
    ENGINES,
    OTHERS,
    VARIANTS,
    ledgers,
    others,
    published,
    variants,
)

RUNS = HERE / "runs"
BENCH = HERE / "bench.jsonl.gz"
#: The names of whole runs of known engines, also with options.
RUNNABLE = (*ENGINES, *VARIANTS)
#: A command line names no more cases than these.
MANY = 10_000
#: Those that are timed; the first is the baseline. A call of `reference` takes up to 12 seconds.
TIMED = ("onnxruntime", "numpy", "openvino", "torch", "tract")


def main() -> int:
    """Make what the options name; exit status 1 where something could not be made."""
    args = _arguments()
    began = time.monotonic()
    try:
        ledgers()
    except CaseFileError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return 2
    if args.only_run:
        made = [one for one in args.only_run if _run(one, args.jobs, shards=args.shards)]
        return _exit_status([f"{one} failed" for one in args.only_run if one not in made])
    if args.take:
        taken = [name for name in (*RUNNABLE, *OTHERS) if _path(name, args.take)]
        failed = _publish(taken, args.take)
    elif args.more:
        failed = _make(args.more, _more)
    elif args.page:
        failed = []
    else:
        failed = _make_engines(args)
    written = stored().files()
    write(HERE, written)
    print(f"{len(written)} pages and scores: {time.monotonic() - began:.0f} s")
    return _exit_status(failed)


def _arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-b", "--backend", action="append", choices=RUNNABLE)
    parser.add_argument("--more", action="append", choices=OTHERS)
    parser.add_argument("--take", type=Path, metavar="DIR", help="take whole runs, and make none")
    parser.add_argument("--only-run", action="append", choices=RUNNABLE, help="only the whole run")
    parser.add_argument("--page", action="store_true", help="only the pages, of what is published")
    parser.add_argument("--resume", action="store_true", help="keep results of the same cases")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes a backend")
    parser.add_argument("--shards", type=int, default=1, help="with --only-run: parts of a run")
    return parser.parse_args()


def _exit_status(failed: Sequence[str]) -> int:
    """Print what could not be made; return 1 if there is anything, else 0."""
    for reason in failed:
        print(reason, file=sys.stderr)
    return int(bool(failed))


def _make(names: Sequence[str], run: Callable[[str], bool]) -> list[str]:
    """Make whole runs of engines, and publish them; return what could not be made."""
    made = [name for name in names if run(name)]
    failed = [f"{name} failed; its results stay" for name in names if name not in made]
    return failed + _publish(made)


def _make_engines(args: argparse.Namespace) -> list[str]:
    """Make whole runs, what confirms their defects, and timings; return what could not be made."""
    names = args.backend or RUNNABLE
    failed = _make(names, partial(_run, jobs=args.jobs, resume=args.resume))
    engines = [name for name in names if any(check.engine == name for check in all_checks())]
    if engines and subprocess.run([sys.executable, HERE / "confirm.py", *engines]).returncode:
        failed.append("confirm.py: not every defect shows as expected, see NOT CONFIRMED above")
    if not (args.backend or args.resume) and not _bench():
        failed.append("bench failed; its stored times stay")
    return failed


def _path(name: str, folder: Path = RUNS) -> Path | None:
    """The file of an engine's whole run in a folder, or None."""
    path = folder / f"{name}.jsonl.gz"
    return path if path.exists() else None


def _publish(names: Sequence[str], folder: Path = RUNS) -> list[str]:
    """Publish the results of whole runs; return why that is impossible."""
    try:
        if not names:
            raise UsageError(f"{folder} has no run of {', '.join((*RUNNABLE, *OTHERS))}")
        results.pack({name: store.read(folder / f"{name}.jsonl.gz") for name in names})
    except (CaseFileError, UsageError) as error:
        return error.lines()
    return []


def stored() -> Site:
    """Return the pages, of the files that are published."""
    models = weights.read(HERE / "weights.json")
    old_links = json.loads((HERE / "anchors.json").read_text("utf-8"))
    return Site(
        published(HERE),
        timings.read(BENCH),
        models,
        old_links,
        others(HERE),
        variants(HERE),
        nodes.read(HERE / "nodes.json.gz"),
    )


def pages(folder: Path) -> set[Path]:
    """Return the files of the folder that are made of others."""
    made = {*folder.glob("*.md"), *folder.glob("*/*.md")}
    return made | {*folder.glob("*/badge.json"), *folder.glob("*/score.json")}


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files, and delete what was made and no longer belongs."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    for path in pages(folder) - {folder / name for name in files}:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()


def _run(engine: str, jobs: int, *, resume: bool = False, shards: int = 1) -> bool:
    """Make the whole run of an engine; return False if that was impossible.

    `resume` keeps the results of today's cases, and `shards` parts of an interrupted run.
    """
    path = RUNS / f"{engine}.jsonl.gz"
    command = ["run", "-q", "-b", VARIANTS.get(engine, engine), "-j", str(jobs)]
    if shards > 1:
        return _run_in_shards(path, command, shards, fine=_fine(engine))
    if not (resume and path.exists()):
        return _stored(path, command, "--report", "json=", fine=_fine(engine))
    old = _of_today(store.read(path))
    there = {record.case for record in old.records}
    missing = [case for case, _ in _asked() if case not in there]
    print(f"         {len(there):,} of {len(_asked()):,} cases are in the stored run")
    if not missing:
        return _join(path, [("the stored run", old)], fine=_fine(engine))
    if len(missing) > MANY:
        return _run(engine, jobs)
    command += [word for case in missing for word in ("--case", case)]
    with tempfile.TemporaryDirectory() as made:
        new = Path(made) / path.name
        # Of some cases alone, a backend may have none: what the whole says counts.
        if not _stored(new, command, "--report", "json=", fine=(*_fine(engine), 5)):
            return False
        others = "that of the others", _of_today(store.read(new))
        return _join(path, [("the stored run", old), others], fine=_fine(engine))


def _fine(engine: str) -> Sequence[int]:
    """Return the exit codes of a run to publish: ledgers are about engines by their defaults."""
    return (0, 1) if engine in VARIANTS else (0,)


def _run_in_shards(path: Path, command: Sequence[str], shards: int, *, fine: Sequence[int]) -> bool:
    """Make a run in parts, less those that are there, and join them; return False if one fails."""
    stem = path.name.partition(".")[0]
    parts = [
        path.parent / "parts" / f"{stem}-{number}-of-{shards}.jsonl.gz"
        for number in range(1, shards + 1)
    ]
    for number, part in enumerate(parts, 1):
        words = [*command, "--shard", f"{number}/{shards}"]
        if not part.exists() and not _stored(part, words, "--report", "json=", fine=fine):
            return False
    if not _join(path, [(part.name, store.read(part)) for part in parts], fine=fine):
        return False
    for part in parts:
        part.unlink()
    return True


def _more(engine: str) -> bool:
    folder = HERE.parent / "examples" / "backends"
    command = ("run", "-q", "--level", "smoke", "--timeout", "60", "-b", f"py:of_{engine}")
    path = RUNS / f"{engine}.jsonl.gz"
    return _stored(path, command, "--report", "json=", folder=folder, fine=(0, 1))


@cache
def _asked() -> dict[tuple[str, str], Case]:
    """The cases of a run, by their ids and digests, made once for all engines."""
    return {(case.id, suite.case_digest(case)): case for case in opcheck.load()}


def _of_today(run: Run) -> Run:
    """The results of a run on today's cases, as a part of the run of all of them."""
    asked = _asked()
    places = {about: place for place, about in enumerate(asked)}
    suite_ = Suite(suite.suite_digest(asked), len(asked))
    records = []
    for one in run.records:
        about = one.case, one.digest
        if about in asked:
            records.append(replace(one, place=places[about], source=asked[about].source))
    header = replace(run.header, suite=suite_, cases=suite_.cases)
    return replace(run, header=header, records=tuple(records))


def _join(path: Path, parts: Sequence[RunPart], *, fine: Sequence[int] = (0,)) -> bool:
    """Store parts of a run as one, but of different releases; failures look as they do in each.

    The whole may end with one of the exit codes in `fine`.
    """
    try:
        whole, lacks = analysis.merge(parts)
    except UsageError as error:
        whole = parts[0][1]
        lacks = tuple(error.lines())
    ending = whole.ending
    if lacks or ending is None or ending.exit_code not in fine:
        print("\n".join(f"         {line}" for line in lacks or [ending and ending.meaning]))
        return False
    _pack(path, "".join(f"{line}\n" for line in store.lines(whole)).encode())
    return True


def _bench() -> bool:
    backends = [word for name in TIMED for word in ("-b", name)]
    return _stored(BENCH, ("bench", "--quick", "--seconds", "3", *backends), "--save", "")


def _stored(
    path: Path,
    command: Sequence[str],
    option: str,
    prefix: str,
    folder: Path = HERE.parent,
    fine: Sequence[int] = (0,),
) -> bool:
    """Run opcheck and pack what it stores, without where this checkout lies on this machine.

    It is run in `folder`, and may end with one of the exit codes in `fine`.
    """
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "stored.jsonl"
        opcheck = [sys.executable, "-m", "opcheck", *command, option, f"{prefix}{file}"]
        done = subprocess.run(opcheck, cwd=folder, stdout=subprocess.PIPE, encoding="utf-8")
        print(f"{time.monotonic() - began:5.0f} s  {' '.join(command[:6])}")
        said = done.stdout.strip().splitlines() or [""]
        print(
            "\n".join(
                f"         {line}" for line in said[-1 if done.returncode in fine else -60 :]
            ),
            flush=True,
        )
        if done.returncode not in fine:
            return False
        data = file.read_bytes().replace(f"{HERE.parent.resolve()}/".encode(), b"")
    _pack(path, data)
    return True


def _pack(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a time or a name, so that equal runs are equal files.
    path.write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    sys.exit(main())

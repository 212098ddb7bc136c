"""Makes everything in this folder that is published, but for the ledgers.

    python reports/regenerate.py               all of it: needs opcheck[openvino,tract,torch]
    python reports/regenerate.py -b torch      the run of one backend, and the page
    python reports/regenerate.py --page        the page only, of what is stored

Runs go to `runs/`, what `confirm.py` sees to `by_hand.json`, timings to `bench.jsonl.gz`, and the
page of it all to `README.md`. A run that fails, or that is incomplete, is not published.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

from opcheck.report import timing_store  # noqa: E402  (it may be run as a script)
from reports import page  # noqa: E402

ENGINES = ("onnxruntime", "openvino", "reference", "torch", "tract")
BENCH = HERE / "bench.jsonl.gz"
PAGE = HERE / "README.md"
#: Those that are timed; the first is the baseline. A call of `reference` takes up to 12 seconds.
TIMED = ("onnxruntime", "numpy", "openvino", "torch", "tract")


def main() -> int:
    """Make what was asked for; exit status 1 where something could not be."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("-b", "--backend", action="append", choices=ENGINES)
    asked.add_argument("--page", action="store_true", help="only the page, of what is stored")
    asked.add_argument("-j", "--jobs", type=int, default=2, help="processes a backend")
    args = asked.parse_args()
    began = time.monotonic()
    failed = []
    if not args.page:
        failed = [one for one in args.backend or ENGINES if not _run(one, args.jobs)]
        engines = [one for one in args.backend or ENGINES if one != "torch"]
        if engines and subprocess.run([sys.executable, HERE / "confirm.py", *engines]).returncode:
            failed.append("confirm.py")
        if not args.backend and not _bench():
            failed.append("bench")
    PAGE.write_text(text(), "utf-8")
    print(f"{PAGE}: {time.monotonic() - began:.0f} s")
    for one in failed:
        print(f"failed, and left as it was: {one}", file=sys.stderr)
    return int(bool(failed))


def text() -> str:
    """The page, of the files that are stored."""
    lines = page.lines(page.published(HERE), timing_store.read(BENCH))
    return "\n".join(lines).rstrip() + "\n"


def _run(engine: str, jobs: int) -> bool:
    command = ("run", "-q", "-b", engine, "-j", str(jobs))
    return _stored(HERE / "runs" / f"{engine}.jsonl.gz", command, "--report", "json=")


def _bench() -> bool:
    backends = [word for name in TIMED for word in ("-b", name)]
    return _stored(BENCH, ("bench", "--quick", "--seconds", "3", *backends), "--save", "")


def _stored(path: Path, command: Sequence[str], option: str, prefix: str) -> bool:
    """Run opcheck and pack what it stores, without where this checkout lies on this machine."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stored.jsonl"
        opcheck = [sys.executable, "-m", "opcheck", *command, option, f"{prefix}{file}"]
        done = subprocess.run(opcheck, cwd=HERE.parent, stdout=subprocess.PIPE, encoding="utf-8")
        print(f"{time.monotonic() - began:5.0f} s  {' '.join(command)}")
        print(f"         {(done.stdout.strip().splitlines() or [''])[-1]}", flush=True)
        if done.returncode:
            return False
        data = file.read_bytes().replace(f"{HERE.parent.resolve()}/".encode(), b"")
    path.parent.mkdir(exist_ok=True)
    # Without a time or a name, so that equal runs are equal files.
    path.write_bytes(gzip.compress(data, mtime=0))
    return True


if __name__ == "__main__":
    sys.exit(main())

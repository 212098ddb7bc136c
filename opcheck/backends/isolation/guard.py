"""Nothing is left of a run, even if it is killed: neither a process of a backend nor a file.

A process that is killed can clean up nothing, so another one waits for its end. That one is this
file run as a program; until there is something to do, it has imported next to nothing.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def guarded_folder() -> Iterator[Path]:
    """A folder for what workers leave behind. Those whose own folders are in it end with it.

    Raises BackendUnavailable where there is no room for a folder or a process.
    """
    from opcheck.errors import BackendUnavailable

    try:
        folder = Path(tempfile.mkdtemp(prefix="opcheck-"))
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Not killed with the group that this process belongs to.
            start_new_session=True,
        )
    except OSError as error:
        raise BackendUnavailable(f"no process can be started for a backend: {error}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        # First: closing its standard input is what it takes for an accident.
        guard.kill()
        guard.wait()
        assert guard.stdin
        guard.stdin.close()


def main() -> None:
    """Wait until the process that started this one is gone, and end what it has left."""
    folder = Path(sys.argv[1])
    sys.stdin.buffer.read()
    sys.path[:] = sys.argv[2:]
    # By its path: through its packages comes all that a backend needs.
    sys.path.insert(0, str(Path(__file__).parent))
    from mark import kill_marked  # type: ignore[import-not-found]  # a file beside this one

    kill_marked(lambda own: Path(own).parent == folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

"""Processes of `opcheck` that start at once, and commands of documents in a shell that finds them.

Each is a fork of one process that has imported what takes long; arguments, environment, files,
signals and exit codes are those of a process of its own. What matters from the first line of
Python on, as an import or an encoding does, needs a real one.
"""

import atexit
import ctypes
import functools
import json
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from opcheck.backends.isolation.cleanup import SCRATCH

ROOT = Path(__file__).parent.parent
#: Of Linux: who has it set adopts the orphans among its descendants.
PR_SET_CHILD_SUBREAPER = 36
#: How long the name of a folder of a worker may be, and where it stands in a fork.
ROOM, _MARK = 512, 0
#: Where the tests run; processes are no children of its own forks.
_TESTS = os.getpid()


def program(path: Path, text: str) -> Path:
    """An executable file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


#: `opcheck` of the shell: it hands its words and files to a fork of the process below.
CLIENT = """
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
wanted = {'words': sys.argv[2:], 'folder': os.getcwd(), 'environment': dict(os.environ)}
wanted['program'] = 'opcheck'
said = json.dumps(wanted | {'files': [0, 1, 2], 'ours': False}).encode()
socket.send_fds(server, [said], [0, 1, 2])
sys.exit(int(server.recv(9) or 70))
"""


def serve(path: str) -> None:
    """Have each process that is asked for be a fork of this one."""
    import pytest  # noqa: F401

    from opcheck import diagnose, execution, known, suite  # noqa: F401
    from opcheck.backends import connect  # noqa: F401
    from opcheck.backends.adapters import numpy  # noqa: F401
    from opcheck.backends.isolation import cleanup, pool, wire, worker  # noqa: F401
    from opcheck.cli import group, main, output, runs  # noqa: F401
    from opcheck.execution import workers  # noqa: F401
    from opcheck.report import formatting  # noqa: F401

    global _MARK
    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_void_p
    _MARK = library.getenv(SCRATCH.encode())
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        print("ready", flush=True)
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            connection, _ = server.accept()
            if os.fork() == 0:
                break
            connection.close()
        else:
            shutil.rmtree(Path(path).parent)
            return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    said, files, *_ = socket.recv_fds(connection, 1 << 20, 9)
    wanted = json.loads(said)
    if wanted["ours"]:
        _leave(connection)
    _become(wanted, files, None if wanted["ours"] else connection)


def _leave(connection: socket.socket) -> None:
    """Go from the family of the server to that of the process that asked, and say so there."""
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == middle:
        time.sleep(0.001)
    connection.send(str(os.getpid()).encode())


def _become(
    wanted: dict[str, Any], files: Sequence[int], connection: socket.socket | None = None
) -> NoReturn:
    """Be the process of this description for the rest of one's life; a shell is told its end."""
    import fcntl

    import pytest

    from opcheck.backends.isolation import process, worker
    from opcheck.cli import main

    atexit._clear()
    if connection is None:
        os.setsid()
    # The numbers of files may be those of others among them.
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, 500) for file in files]
    kept = [] if connection is None else [connection.fileno()]
    for number in {*range(3, 256)} - {*kept}:
        with suppress(OSError):
            os.close(number)
    for file, number in zip(high, wanted["files"], strict=True):
        os.dup2(file, number, inheritable=number < 3)
        os.close(file)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream: Any = None
        if number in wanted["files"]:
            # As Python makes them.
            errors = "backslashreplace" if name == "stderr" else "strict"
            stream = open(number, "w" if number else "r", errors=errors, closefd=False)  # noqa: SIM115
            if name == "stderr":
                stream.reconfigure(line_buffering=True)
        else:
            os.close(number)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    # This is where other processes look for it.
    mark = wanted["environment"].get(SCRATCH, "").encode()
    assert len(mark) < ROOM
    ctypes.memmove(_MARK, mark.ljust(ROOM, b"\0"), ROOM)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    os.chdir(wanted["folder"])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if "worker" in wanted:
            sys.argv = ["-c", wanted["worker"]]
            sys.path[:] = json.loads(wanted["worker"])["path"]
            worker.main(wanted["worker"])
            code = 0
        else:
            sys.argv = [wanted["program"], *wanted["words"]]
            sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
            if connection is None:
                # As `python -m opcheck` has it.
                sys.modules["__main__"].HERE = wanted["folder"]  # type: ignore[attr-defined]
                sys.path.append(wanted["folder"])
            process.subprocess = Workers  # type: ignore[assignment]
            sys.exit(pytest.main()) if wanted["program"] == "pytest" else main()
            raise AssertionError("it has no end")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    # As at the end of Python, which takes its time to forget all that is imported here.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    if connection:
        connection.send(str(code).encode())
    os._exit(code)


@functools.cache
def server() -> str:
    """The socket of a process that serves until this one ends."""
    path = f"{tempfile.mkdtemp()}/socket"
    process = subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-c",
            "import sys; from tests.shell import *; serve(sys.argv[1])",
            path,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), SCRATCH: "-" * ROOM},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    atexit.register(process.communicate)  # the end of its standard input ends it
    return path


class Forked(subprocess.Popen[Any]):
    """`opcheck` with these words, in a session of its own, without the files numbered `closed`.

    The `program` may be pytest, too.
    A child of this process like any other: files, folder and environment are as for Popen.
    """

    def __init__(
        self,
        words: Sequence[str],
        closed: Sequence[int] = (),
        program: str = "opcheck",
        **settings: Any,
    ) -> None:
        self._without, self._program = closed, program
        super().__init__(words, **settings)

    def _execute_child(self, words: Any, *settings: Any) -> None:
        passed, cwd, env, pipes = *settings[3:6], settings[9:15]
        files = dict(enumerate(pipes[i] if pipes[i] != -1 else i // 2 for i in (0, 3, 5)))
        files |= {number: number for number in passed}
        for number in self._without:
            del files[number]
        wanted = {
            "files": [*files],
            "folder": os.fspath(cwd or Path.cwd()),
            "environment": dict(env or os.environ),
            **self._wish(words),
        }
        self.pid = self._fork(wanted, [*files.values()])
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _wish(self, words: Any) -> dict[str, Any]:
        return {"words": words, "program": self._program}

    def _fork(self, wanted: dict[str, Any], files: list[int]) -> int:
        adopt = functools.partial(ctypes.CDLL(None).prctl, PR_SET_CHILD_SUBREAPER)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(server())
            adopt(1)
            try:
                said = json.dumps(wanted | {"ours": True}).encode()
                socket.send_fds(connection, [said], files)
                return int(connection.recv(9))
            finally:
                adopt(0)


class Workers:
    """In the place of the module `subprocess`, where workers of opcheck are started."""

    DEVNULL, TimeoutExpired = subprocess.DEVNULL, subprocess.TimeoutExpired

    class Popen(Forked):
        """A worker that is a fork, except where this process is one of the tests'."""

        def _execute_child(self, words: Any, *settings: Any) -> None:
            if _MARK or os.getpid() == _TESTS:
                super()._execute_child(words, *settings)
            else:
                subprocess.Popen._execute_child(self, words, *settings)  # type: ignore[attr-defined]

        def _wish(self, words: Any) -> dict[str, Any]:
            return {"worker": words[-1]}

        def _fork(self, wanted: dict[str, Any], files: list[int]) -> int:
            if not _MARK:
                return super()._fork(wanted, files)
            # This is a fork itself, and has all that is needed.
            pid = os.fork()
            if pid == 0:
                _become(wanted, files)
            return pid


def shell(folder: Path, commands: str, more: str = "") -> tuple[int, str]:
    """Exit status and output of `commands`, run in `folder`; `opcheck run` is given `more`.

    Programs in `folder`/bin are found before any other.
    """
    python = shlex.quote(sys.executable)
    program(folder / "bin" / "python3", f'#!/bin/sh\nexec {python} "$@"\n')
    program(
        folder / "bin" / "opcheck",
        f'#!/bin/sh\n[ "$1" != run ] || set -- "$@" {more}\n'
        f'exec {python} -ISc {shlex.quote(CLIENT)} {server()} "$@"\n',
    )
    environment = {
        **os.environ,
        "PATH": f"{folder}/bin{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(":"),
        "COLUMNS": "200",
    }
    found = subprocess.run(
        ["bash", "-c", commands],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return found.returncode, found.stdout


README = Path(__file__).parent.parent / "README.md"
VERDICTS = README.parent / "docs" / "verdicts.md"


def block(start: str, page: Path = README) -> str:
    """The one fenced block of a page that begins with `start`."""
    blocks = re.findall(r"```\w+\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [text for text in blocks if text.startswith(start)]
    return str(found)


def plain(text: str) -> str:
    """Without what a version number and its width change."""
    return re.sub(r"[ ─]+", " ", re.sub(r"\d+\.\d+\.\d+", "VERSION", text))


def numberless(text: str) -> str:
    """Without numbers, and what their widths change."""
    return re.sub(r"[\d.,·]*\d[\d.,]*", "N", plain(text))

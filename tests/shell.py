"""Commands as they stand in documents, run by a shell that finds opcheck and python3."""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


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
said = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [said], [0, 1, 2])
sys.exit(int(server.recv(9) or 70))
"""


def serve(path: str) -> None:
    """Run each command in a fork of this process, which has imported what takes long."""
    from opcheck.backends.isolation import guard  # noqa: F401
    from opcheck.cli import group, main, output  # noqa: F401
    from opcheck.report import spelling  # noqa: F401

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
    said, files, *_ = socket.recv_fds(connection, 1 << 20, 3)
    words, folder, environment = json.loads(said)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    sys.argv = ["opcheck", *words]
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        connection.send(str(int(end.code or 0)).encode())


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
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    atexit.register(process.communicate)  # the end of its standard input ends it
    return path


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

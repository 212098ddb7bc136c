"""Small programs to be run as backends, in Python of no packages, so that they start quickly."""

import shlex
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np

from tests.asking import task_of

X = np.array([[3, -0.0, 1], [3, 0, np.nan]], np.float32)
SAME = task_of("Identity", 13, {}, X)

#: What each program begins with: its three arguments as paths, and how an output is written.
_ONE_SHOT = """
import os, shutil, signal, sys, time
from pathlib import Path
model, inputs, outputs = map(Path, sys.argv[1:4])

def say(*words):
    print(*words, file=sys.stderr)

def identity(name="output_0.pb"):
    shutil.copy(inputs / "input_0.pb", outputs / name)

"""

#: Answers any question like the operator Identity.
_PERSISTENT = """
import json, os, signal, sys, time

def say(*words):
    print(*words, file=sys.stderr, flush=True)

def reply(**message):
    print(json.dumps(message), flush=True)

def hello(**more):
    reply(**{"opcheck": 1, "name": "tiny", "version": "0.1", **more})

def answers(request):
    if request["do"] == "prepare":
        return {"id": request["id"], "ready": True}
    x = request["inputs"][0]
    return {"id": request["id"], "outputs": [{key: x[key] for key in ("dtype", "shape", "data")}]}

def serve(change=lambda request, message: message):
    for line in sys.stdin:
        request = json.loads(line)
        reply(**change(request, answers(request)))

"""


def command(folder: Path, text: str, start: str = "") -> str:
    """The command that runs a program with this text."""
    folder.mkdir(exist_ok=True)
    script = folder / "program.py"
    script.write_text(start + dedent(text), encoding="utf-8")
    # No environment and no packages: that starts in half the time.
    return shlex.join([sys.executable, "-I", "-S", str(script)])


def one_shot(folder: Path, text: str) -> str:
    """The command of a program that is run once for each case."""
    return command(folder, text, _ONE_SHOT) + " {model} {inputs} {outputs}"


def persistent(folder: Path, text: str) -> str:
    """The command of a program that is asked in lines."""
    return command(folder, text, _PERSISTENT)

"""Backends that do to their process, and to whoever asks, all the harm we can think of.

`Faulty` is right about Hardmax but for what a case's name asks for: `_segfault` at its end, say,
and it dies of that. Each function in `FAULTS` gets the inputs and the right answer, when the task
runs; what it returns is the answer. `LATER` are faults that end the process some time afterwards.
The other classes fail before there is anything to ask.
"""

import atexit
import ctypes
import functools
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ascontiguousarray, asfortranarray, float32, full, ma, ones, uint8, zeros

from opcheck.backends.base import Defect
from opcheck.errors import NotSupported
from tests.cli.fakes import hardmax

LONG = 600  # seconds; longer than any test
MEBI = 1 << 20
GROWING = "import time; x = b'x' * (400 << 20); time.sleep(600)"
#: How many tasks this process has prepared.
COUNT = [0]


class Odd(BaseException):
    pass


class Unspeakable(Exception):
    def __str__(self):
        sys.exit("not even its message")


class Elsewhere:
    """A tensor of another library."""

    shape = (2, 3)
    dtype = "float32"


class Liar(np.ndarray):
    """Says of all things that they are equal, and of itself that it is a float32 tensor."""

    dtype = np.dtype(float32)
    shape = (2, 3)
    nbytes = 24

    def __eq__(self, other):
        return ones((2, 3), bool)

    def tobytes(self, order="C"):
        return bytes(24)

    def __array__(self, dtype=None, copy=None):
        return zeros((2, 3), float32)

    def __array_ufunc__(self, *args, **kwargs):
        return ones((2, 3), bool)

    def __array_function__(self, *args, **kwargs):
        return True


def lie(array: Any) -> Any:
    return ascontiguousarray(array).view(Liar)


def child(seconds: float = LONG, **settings: Any) -> subprocess.Popen[bytes]:
    """A process that only waits, as a child of this one."""
    return subprocess.Popen([sys.executable, "-S", "-c", f"import time; time.sleep({seconds})"])


def fork_and_wait(new_session: bool = False) -> None:
    if os.fork() == 0:
        if new_session:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(LONG)
        os._exit(0)


def leave_children() -> None:
    """Some stay in the family, some do not; some execute a program, some do not."""
    child()
    subprocess.Popen(["sleep", str(LONG)], start_new_session=True)
    fork_and_wait()
    fork_and_wait(new_session=True)
    # And one whose parent is gone.
    if os.fork() == 0:
        os.setsid()
        fork_and_wait(new_session=True)
        os._exit(0)


def overflow() -> None:
    """Recursion through C, which no limit of Python's stops once that is set aside."""
    sys.setrecursionlimit(10**9)

    def deeper(_: Any) -> Any:
        return functools.reduce(lambda a, b: deeper(a), [1, 2])

    threading.stack_size(MEBI)
    thread = threading.Thread(target=deeper, args=[0])
    thread.start()
    thread.join()


def hog(step: int, limit: int) -> list[Any]:
    """Memory that is really used, `step` bytes at a time."""
    held = []
    for _ in range(limit // step):
        held.append(ones(step, uint8))
        time.sleep(0.01)
    return held


def say(number: int, text: bytes) -> None:
    """Write to a file descriptor, which another case may have closed."""
    with suppress(OSError):
        os.write(number, text)


def python_says(text: str) -> None:
    """Print, though another case may have closed or replaced what is printed to."""
    with suppress(OSError, SystemExit):
        print(text)
        print(text, file=sys.stderr)


def wait() -> None:
    time.sleep(LONG)


def then(*actions: Any) -> Any:
    """The fault of who does all of this, and then answers."""

    def fault(x, y):
        for action in actions:
            action()
        return y

    return fault


def raising(kind: type[BaseException], *arguments: Any) -> Any:
    """The fault of who raises this."""

    def fault(x, y):
        raise kind(*arguments)

    return fault


def _long_message(x, y):
    raise ValueError("x" * 50 * MEBI)


def _limits_its_memory(x, y):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 64 * MEBI
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return [ones(MEBI << 10, uint8)]


def _hang_in_spite_of_signals(x, y):
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(LONG)


def _prints_for_ever(x, y):
    while True:
        say(1, b"x" * 999 + b"\n")


def _hang_at_flush(x, y):
    class Slow:
        def flush(self):
            time.sleep(LONG)

        def write(self, text):
            return len(text)

    sys.stdout = Slow()
    return y


def _changes_later(x, y, held=[]):  # noqa: B006 (it remembers)
    held.append(y[0].copy())
    for array in held:
        array[...] = len(held)
    return [held[-1]]


def _changes_in_a_thread(x, y):
    answer = y[0].copy()

    def change():
        for _ in range(200):
            answer[...] += 1
            time.sleep(0.001)

    threading.Thread(target=change, daemon=True).start()
    time.sleep(0.01)
    return [answer]


def _modifies_its_inputs(x, y):
    x[0][...] = 7
    return y


def _reshapes_its_inputs(x, y):
    x[0].shape = (-1,)
    return y


def _forks_and_raises(x, y):
    if os.fork() == 0:
        raise KeyboardInterrupt
    return y


def _prints(x, y):
    for _ in range(1000):
        python_says("x" * 2000)
    say(1, b"z" * 2 * MEBI)
    say(2, b"z" * 2 * MEBI)
    ctypes.CDLL(None).printf(b"%s", b"w" * 2 * MEBI)
    return y


def _prints_and_is_wrong(x, y):
    say(1, b"z" * 2 * MEBI)
    say(2, b"\x1b[2Jnot \xff text\n")
    ctypes.CDLL(None).puts(b"\xff C")
    return [y[0] * 2]


def _replaces_its_outputs(x, y):
    class Evil:
        def __getattr__(self, name):
            raise SystemExit(name)

    sys.stdout = sys.stderr = Evil()
    return y


def _patches_numpy(x, y):
    def wrong(*args, **kwargs):
        raise RuntimeError("patched")

    names = "array array_equal asarray frombuffer allclose copyto equal zeros dtype ndarray all"
    names += " void generic uint8 bool_ isnan errstate ascontiguousarray"
    for name in names.split():
        setattr(np, name, wrong)
    np.seterr(all="raise")
    return y


def _patches_more(x, y):
    import json
    import pickle

    json.dumps = json.loads = pickle.loads = os.getppid = None
    return y


def _handles_signals(x, y):
    for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    return y


def _thread_prints_for_ever(x, y):
    def chatter():
        while True:
            os.write(1, b"x" * 99_999 + b"\n")

    threading.Thread(target=chatter, daemon=True).start()
    return y


def _in_a_file(x, y):
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, float32, shape=y[0].shape)
        mapped[...] = y[0]
        return [mapped]


def _forks_with_much_memory(x, y):
    """Five processes of one and the same 100 MiB."""
    held = ones(100 * MEBI, uint8)
    for _ in range(4):
        fork_and_wait()
    time.sleep(0.5)
    assert held.all()
    return y


def _not_first(x, y):
    """Dies if it has answered before."""
    if COUNT[0] > 1:
        os.abort()
    return y


def after(seconds: float, what: Any) -> None:
    timer = threading.Timer(seconds, what)
    timer.daemon = True
    timer.start()


def _garbage_later(x, y):
    """Writes into every descriptor there is, some of which are ours."""

    def write():
        for number in range(3, 32):
            with suppress(OSError):
                os.write(number, b"\0\0\1\0 what is this?")

    after(0.2, write)
    return y


FAULTS = {
    name[1:]: function
    for name, function in list(globals().items())
    if name.startswith("_") and callable(function) and not name.startswith("__")
}
FAULTS |= {
    # What it does instead of answering, or before.
    "segfault": then(partial(python_says, "python: just before"), lambda: ctypes.string_at(0)),
    "abort": then(partial(say, 2, b"fd 2: just before\n"), os.abort),
    "c_prints_and_aborts": then(lambda: ctypes.CDLL(None).puts(b"C: just before"), os.abort),
    "kills_itself": then(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "terminates_its_group": then(lambda: os.killpg(0, signal.SIGTERM), wait),
    "exit_0": then(lambda: os._exit(0)),
    "exit_3": then(lambda: os._exit(3)),
    "alarm": then(lambda: signal.setitimer(signal.ITIMER_REAL, 0.01), wait),
    "overflow": then(overflow),
    "crash_with_children": then(leave_children, os.abort),
    "closes_everything": then(lambda: os.closerange(0, 1024)),
    "sys_exit_0": then(sys.exit),
    "sys_exit_3": then(partial(sys.exit, 3)),
    "odd": raising(Odd, "of its own kind"),
    "keyboard_interrupt": raising(KeyboardInterrupt, "nobody pressed anything"),
    "generator_exit": raising(GeneratorExit),
    "unspeakable": raising(Unspeakable),
    "surrogates": raising(ValueError, "half a character: \ud800"),
    "unsupported": raising(NotSupported, "not here"),
    "memory_error": raising(MemoryError, "no room on the device"),
    "defect": raising(Defect, "a bug of opcheck's own"),
    "grows": then(lambda: hog(32 * MEBI, 4096 * MEBI)),
    "spike": then(lambda: ones(400 * MEBI, uint8)),
    "child_grows": then(partial(subprocess.run, [sys.executable, "-S", "-c", GROWING])),
    "hang": then(partial(python_says, "waiting"), wait),
    "hang_in_c": then(lambda: ctypes.PyDLL(None).sleep(LONG)),
    "stops_itself": then(lambda: os.kill(os.getpid(), signal.SIGSTOP)),
    "hang_with_children": then(leave_children, wait),
    # What does no harm to its own answer, but perhaps to the next or to us.
    "forks": then(os.fork),
    "leaves_children": then(leave_children),
    "closes_its_outputs": then(lambda: os.closerange(0, 3)),
    "goes_elsewhere": then(partial(os.chdir, "/")),
    "allows_itself_no_file": then(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))),
    "allows_itself_no_bytes": then(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))),
    "hangs_at_exit": then(partial(atexit.register, time.sleep, LONG)),
    "crashes_at_exit": then(partial(atexit.register, os.abort)),
    # Time bombs: the answer is given, then the process ends.
    "aborts_later": then(lambda: after(0.2, os.abort)),
    "exits_later": then(lambda: after(0.2, lambda: os._exit(0))),
    "alarm_later": then(lambda: signal.setitimer(signal.ITIMER_REAL, 0.2)),
    # Answers, of which some are none.
    "many_numbers": lambda x, y: [0.0] * 2_000_000,
    "many_outputs": lambda x, y: [y[0]] * 900,
    "huge": lambda x, y: [zeros(100 * MEBI, uint8)],
    "structured": lambda x, y: [zeros((2, 3), [("re", float32), ("im", float32)])],
    # 4.8 MB for 96 bytes.
    "large": lambda x, y: [x[0].reshape(-1).repeat(50_000)],
    "echo": lambda x, y: x,
    "none": lambda x, y: None,
    "lists": lambda x, y: y[0].tolist(),
    "list_of_lists": lambda x, y: [y[0].tolist()],
    "a_dict": lambda x, y: {"output": y[0]},
    "a_generator": lambda x, y: (array for array in y),
    "nothing": lambda x, y: [],
    "twice": lambda x, y: [y[0], y[0]],
    "elsewhere": lambda x, y: [Elsewhere()],
    "objects": lambda x, y: [y[0].astype(object)],
    "texts": lambda x, y: [y[0].astype(str)],
    "text": lambda x, y: "output",
    "masked": lambda x, y: [ma.masked_array(y[0], mask=y[0] == 0)],
    "liar": lambda x, y: [lie(full((3, 2), 5.0))],
    "honest_subclass": lambda x, y: [lie(y[0])],
    "a_scalar": lambda x, y: [float32(1)],
    "a_number": lambda x, y: [1.0],
    "matrix": lambda x, y: [np.asmatrix(y[0])],
    "backwards": lambda x, y: [asfortranarray(y[0])],
    "other_byte_order": lambda x, y: [y[0].astype(">f4")],
    "no_bytes": lambda x, y: [zeros((2, 3), "V0")],
    "dates": lambda x, y: [zeros((2, 3), "M8[ns]")],
    "its_input": lambda x, y: x,
}


class Prepared:
    def __init__(self, fault: str, axis: int) -> None:
        self.fault, self.axis = fault, axis

    def run(self, inputs: Any) -> Any:
        right = [hardmax(inputs[0], self.axis)]
        return FAULTS[self.fault](inputs, right) if self.fault in FAULTS else right


class Faulty:
    """Asked for `name_fault`, it has that fault; a case without one is answered."""

    version = "1.0"

    def prepare(self, task: Any) -> Prepared:
        COUNT[0] += 1
        name = task.case.partition("/")[2].partition("@")[0]
        return Prepared(name.partition("__")[2], task.attrs.get("axis", -1))


class Sleepy(Faulty):
    """Right, but each answer takes so many seconds."""

    def __init__(self, seconds: str = "0.05") -> None:
        self.seconds = float(seconds)

    def prepare(self, task: Any) -> Prepared:
        time.sleep(self.seconds)
        return super().prepare(task)


class DeadAtStart(Faulty):
    def __init__(self, how: str = "abort") -> None:
        print("about to", how)
        match how:
            case "exit":
                os._exit(0)
            case "sys_exit":
                sys.exit(3)
            case "hang":
                time.sleep(LONG)
            case "print":
                while True:
                    os.write(1, b"x" * 99_999 + b"\n")
            case "grow":
                self.held = hog(32 * MEBI, 2048 * MEBI)
            case "raise":
                raise KeyError("no device")
            case _:
                os.abort()


class ForksAtStart(Faulty):
    def __init__(self) -> None:
        os.fork()


class Deaf(Faulty):
    """Hears of no question: its process comes to its end as if there were none."""

    def __init__(self) -> None:
        for number in range(3, 32):
            with suppress(OSError):
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    socket.socket(fileno=os.dup(number)).shutdown(socket.SHUT_RD)


class StartsSometimes(Faulty):
    """Dies at each start that `starts` names; they are counted in `file`."""

    def __init__(self, file: str, starts: str) -> None:
        with Path(file).open("a") as memory:
            memory.write("x")
        if str(Path(file).stat().st_size) in starts.split(","):
            print("no device left")
            os._exit(7)

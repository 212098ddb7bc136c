"""Backends that take a known time, or come to a known end while they are timed."""

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np


def hardmax(x: Any) -> Any:
    out = np.zeros_like(x)
    np.put_along_axis(out, x.argmax(-1, keepdims=True), 1, -1)
    return out


class Spin:
    """Right after it has had a processor for so many seconds."""

    version = "1.0"

    def __init__(self, seconds: str = "0.0002") -> None:
        self.seconds = float(seconds)

    def prepare(self, task: Any) -> Any:
        return self

    def run(self, inputs: Sequence[Any]) -> Any:
        end = time.process_time() + self.seconds
        answer = [hardmax(inputs[0])]
        while time.process_time() < end:
            pass
        return answer


class Ends(Spin):
    """Right until a task was run so many times, and then it dies, hangs, raises or is wrong."""

    def __init__(self, how: str, after: str = "20") -> None:
        super().__init__("0")
        self.how, self.after = how, int(after)

    def prepare(self, task: Any) -> Any:
        self.left = self.after
        return self

    def run(self, inputs: Sequence[Any]) -> Any:
        self.left -= 1
        if self.left >= 0:
            return super().run(inputs)
        match self.how:
            case "dies":
                print("a line\nenough of that", flush=True)
                os._exit(3)
            case "hangs":
                time.sleep(60)
            case "raises":
                raise ValueError("enough of that")
        return [np.ones_like(inputs[0])]


class Prints(Spin):
    """Says something when it prepares a task, and more in every run."""

    def prepare(self, task: Any) -> Any:
        print("prepared")
        return self

    def run(self, inputs: Sequence[Any]) -> Any:
        print("run\ndone")
        return super().run(inputs)


class Slow(Spin):
    """Takes a minute to prepare a task, for the second time in a process."""

    def __init__(self) -> None:
        super().__init__("0")
        self.before = False

    def prepare(self, task: Any) -> Any:
        if self.before:
            time.sleep(60)
        self.before = True
        return self


class Copies(Spin):
    """Slow, and says that a quick way would do."""

    def run(self, inputs: Sequence[Any]) -> Any:
        time.sleep(0.05)
        return super().run(inputs)

    def repeated(self, inputs: Sequence[Any]) -> Any:
        return lambda: None


class Remembers(Spin):
    """Computes an answer once: "place", "content" and "last" say by what it finds that again.

    "row" keeps the first row alone; "nothing" locks its inputs and puts others in their place.
    """

    def __init__(self, how: str) -> None:
        super().__init__("0.002")
        self.how = how

    def prepare(self, task: Any) -> Any:
        self.memory: dict[Any, Any] = {}
        return self

    def run(self, inputs: Any) -> Any:
        x = inputs[0]
        key = x.ctypes.data if self.how == "place" else x.tobytes()
        if key not in self.memory:
            if self.how == "last":
                self.memory.clear()
            self.memory[key] = super().run(inputs)
        if self.how == "nothing":
            x.flags.writeable = False
            inputs[0] = x.copy()
            self.memory.clear()
            return super().run(inputs)
        if self.how == "row":
            [answer] = self.memory.pop(key)
            answer[0] = self.memory.setdefault(x.ctypes.data, answer[0].copy())
            return [answer]
        return self.memory[key]

"""Odd nodes: shipped cases with one extreme attribute or input, for opcheck's engine.

    python -m benchmarks.odd_nodes [OPERATOR ...] [--cases N] [--seconds S]

A node may be odd in any way, as case files and models may. The engine has to answer, or to raise
InvalidNode, NotSupported or MemoryError, within some seconds. The nodes for which it does not are
printed, and the exit code is 1 for any.
"""

import argparse
import collections
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import defs

from opcheck import suite
from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer, evaluate
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import node_of, question
from opcheck.model import Case, OpVersion

Array: TypeAlias = NDArray[Any]

#: NumPy's limit of axes.
MOST_AXES = 64
INTEGERS = (-(2**63), -(2**31), -7, -1, 0, 1, 2, 7, 2**31, 2**62, 2**63 - 1)
FLOATS = (-np.inf, -1e300, -1.0, 0.0, 0.5, 1e300, np.inf, np.nan)
STRINGS = ("", "x", "(a+)+b", "\U0001f642" * 99)
#: Memory that a node may take, in bytes.
MEMORY = 6 << 30
_NUMBER = re.compile(r"-?[0-9]+")
_A = defs.OpSchema.AttrType


class Hangs(BaseException):
    """The engine took too long; no formula catches it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise Hangs in the block after so many seconds of the processor."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise Hangs

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def odd_attributes(op: OpVersion, attrs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and extreme values of the attributes that the schema has."""
    try:
        schema = defs.get_schema(op.name, op.since, op.domain)
    except defs.SchemaError:
        return
    for name, attribute in schema.attributes.items():
        stated = attrs.get(name)
        values: list[Any] = []
        if attribute.type == _A.INT:
            values = [*INTEGERS]
        elif attribute.type == _A.FLOAT:
            values = [*FLOATS]
        elif attribute.type == _A.STRING:
            values = [*STRINGS]
        elif attribute.type in (_A.INTS, _A.FLOATS, _A.STRINGS):
            some = {_A.INTS: INTEGERS, _A.FLOATS: FLOATS, _A.STRINGS: STRINGS}[attribute.type]
            values = [(), *((x,) for x in some), some[:2] * 40]
            if stated and isinstance(stated, tuple):
                values += [tuple(stated)[:-1], (*stated, stated[-1])]
                values += [(x, *tuple(stated)[1:]) for x in some]
                values += [(x,) * len(stated) for x in some]
        elif attribute.type == _A.TENSOR and isinstance(stated, np.ndarray):
            values = [*odd_arrays(stated)]
        yield from ((name, value) for value in values)
        if stated is not None:
            yield name, None


def odd_arrays(array: Array) -> Iterator[Array]:
    """Yield an array of other ranks, of no elements, and of extreme values."""
    filler: Any = np.zeros((), array.dtype) if array.dtype != object else np.array("", object)
    one = array.reshape(-1)[:1].reshape(()) if array.size else filler
    yield one
    yield np.broadcast_to(one, (1,))
    yield np.broadcast_to(one, (0,))
    yield np.broadcast_to(one, (0, 0))
    yield np.broadcast_to(one, (*array.shape, 0))
    yield np.broadcast_to(one, (0, *array.shape[1:]))
    yield np.broadcast_to(one, (*array.shape[:-1], 0))
    yield array[..., None]
    yield array[None]
    yield np.broadcast_to(one, (2,) * (array.ndim + 1))
    yield np.broadcast_to(one, (1,) * (MOST_AXES - 1))
    yield np.broadcast_to(one, (1,) * MOST_AXES)
    if array.ndim > 1 and len(array):
        yield array[0]
    if array.ndim:
        yield array[:1]
        yield np.concatenate([array, array[:1]])
    for extreme in _extremes(array):
        yield np.full_like(array, extreme)
        if array.size > 1:
            changed = array.copy()
            changed.flat[0] = extreme
            yield changed


def _extremes(array: Array) -> list[Any]:
    """Return extreme elements of the dtype."""
    if array.dtype == object:
        return [*STRINGS]
    if array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return [*np.array(FLOATS).astype(array.dtype)]
    if array.dtype.kind in "iu":
        ends = np.iinfo(array.dtype)
        return [x for x in INTEGERS if ends.min <= x <= ends.max] + [ends.min, ends.max]
    return []


def odd_nodes(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield nodes like `node` but for one attribute or input, with what is odd."""
    attrs = dict(node.attrs)
    for name, value in odd_attributes(node.op, attrs):
        changed = {key: x for key, x in attrs.items() if key != name}
        if value is not None:
            changed[name] = value
        text = f"{value!r:.80}"
        yield f"{name}={text}", replace(node, attrs=changed)
    for place, array in enumerate(node.inputs):
        if array is None:
            continue
        for odd in odd_arrays(np.asarray(array)):
            inputs = [*node.inputs]
            inputs[place] = odd
            text = f"{[*odd.shape]} {odd.reshape(-1)[:4].tolist()!r:.80}"
            yield f"input {place}: {text}", replace(node, inputs=tuple(inputs))
        if len(node.inputs) > 1:
            inputs = [*node.inputs]
            inputs[place] = None
            while inputs and inputs[-1] is None:
                inputs.pop()
            yield f"input {place} left out", replace(node, inputs=tuple(inputs))


def problem_of(node: Node, seconds: float) -> str:
    """Say what the engine raises that it must not, or ""."""
    begin = time.process_time()
    for compute in (_answers, evaluate):
        try:
            with judging(), within(seconds):
                compute(node)
        except (InvalidNode, NotSupported, MemoryError):
            pass
        except Hangs:
            return f"takes more than {time.process_time() - begin:.0f} s"
        except (Exception, RecursionError) as error:
            return f"{type(error).__name__}: {error}"
    return ""


def _answers(node: Node) -> None:
    for reading in each_answer(node):
        if not isinstance(reading.answer, InvalidNode):
            for output in reading.answer:
                rounded(output)


def chosen(cases: tuple[Case, ...], most: int) -> Iterator[Case]:
    """Yield the cases of fewest elements, up to so many for each version of an operator."""
    by_version = collections.defaultdict(list)
    for case in cases:
        by_version[case.op].append(case)
    for version in sorted(by_version, key=str):
        few = sorted(by_version[version], key=lambda c: (sum(map(_size, c.inputs)), c.id))
        attrs: list[Any] = []
        taken = 0
        for case in few:
            names = {*case.attrs}, [spec.dtype for spec in case.inputs]
            if names in attrs:
                continue
            attrs.append(names)
            yield case
            taken += 1
            if taken == most:
                break


def _size(spec: Any) -> int:
    return int(np.prod(spec.shape, dtype=object))


def main() -> int:
    """Print the nodes that make the engine fail, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    parser.add_argument("--cases", type=int, default=2, help="cases for each version")
    parser.add_argument("--seconds", type=float, default=10.0, help="what a node may take")
    stated = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    count = 0
    problems = 0
    seen = collections.Counter[str]()
    for case in chosen(suite.load((), tuple(stated.operators)), stated.cases):
        try:
            asked = question(case)
            node = node_of(asked.task, asked.inputs)
        except (ValueError, MemoryError) as error:
            print(f"{case.id}: {error}", file=sys.stderr)
            continue
        for what, odd in odd_nodes(node):
            count += 1
            problem = problem_of(odd, stated.seconds)
            if not problem:
                continue
            problems += 1
            place = problem.split("; fed")[0]
            kind = f"{case.op.name}: {_NUMBER.sub('', place)}"
            seen[kind] += 1
            if seen[kind] == 1:
                print(f"{case.id}\n  {what[:300]}\n  {place[:400]}", flush=True)
    print(f"{count} nodes, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

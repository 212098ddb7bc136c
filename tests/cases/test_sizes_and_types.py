"""Suites of rows and pools ask for every size in every place, and for every wrong type.

The mistakes of the engine show that what is asked can be seen. What they leave out, for there would
be hundreds, is counted here: in the newest version of each operator, in float32. Other suites ask
for what those mistakes call for.
"""

import pytest

from opcheck.model import Case, Rejected, Typed
from opcheck.opset import versions
from opcheck.suite import Selection, select
from tests.asking import WHOLE, shipped_cases

CORE = select(shipped_cases(*WHOLE), Selection(level="core"))
NEWEST = {
    op: [case for case in CORE if case.op == op and case.inputs[0].dtype.name == "float32"]
    for op in {
        (case.op.domain, case.op.name): case.op for case in sorted(CORE, key=lambda c: c.op)
    }.values()
}
TYPES = {"int", "float", "string", "ints", "floats", "tensor"}


def lists_of(op) -> list[str]:
    """The attributes that hold sizes; DirectML's `Axes` are numbers of axes."""
    declared = versions(op.domain, op.name)[op.since].attributes.values()
    lists = [attribute.name for attribute in declared if attribute.type == "ints"]
    return [name for name in lists if name != "Axes"]


def sizes(case: Case, place: str | int) -> list[int]:
    """The sizes along an axis of the input, or in an attribute."""
    if isinstance(place, int):
        shape = case.inputs[0].shape
        return [shape[place]] if -len(shape) <= place < len(shape) else []
    value = case.attrs.get(place)
    return [int(entry) for entry in value] if isinstance(value, tuple) else []


@pytest.mark.parametrize("op", NEWEST, ids=str)
def test_past_every_power_of_two_there_is_a_size(op):
    legal = [case for case in NEWEST[op] if not isinstance(case.expect, Rejected)]
    missing = {
        (place, 1 << power)
        for place in (-1, -2, *lists_of(op))
        for power in range(11)
        for asked in [{size for case in legal for size in sizes(case, place)}]
        if not any(1 << power < size <= 2 << power for size in asked)
    }
    assert missing == set()
    longest = {axis: max(n for case in legal for n in sizes(case, axis)) for axis in range(5)}
    assert {axis: size for axis, size in longest.items() if size <= 1024} == {}


@pytest.mark.parametrize("op", [op for op in NEWEST if not op.domain], ids=str)
def test_every_attribute_is_asked_for_in_every_wrong_type(op):
    values = [item for case in NEWEST[op] for item in case.attrs.items()]
    asked = {(name, value.type) for name, value in values if isinstance(value, Typed)}
    declared = versions(op.domain, op.name)[op.since].attributes
    assert {(name, kind) for name, it in declared.items() for kind in TYPES - {it.type}} <= asked
    assert asked - {(name, kind) for name in declared for kind in TYPES}

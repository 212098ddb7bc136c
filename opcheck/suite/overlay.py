"""Parts of a case: held against their form, laid over each other, and reached by a path.

Works on nodes, so that every value of a finished case still knows where it was written.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import TypeAlias

from opcheck.dtypes import DTYPES
from opcheck.errors import did_you_mean
from opcheck.reading import FileNode, Problems, validation
from opcheck.suite import fields
from opcheck.suite.fields import CONTENTS, PutField, TensorFields

FieldPath: TypeAlias = tuple[str, ...]

#: What a path may be, for messages.
PATHS_ARE = "a path is opset, dtype, attrs.NAME, inputs.NAME or inputs.NAME.KEY"
#: The keys that may stand below a step of pydantic's location.
_KEYS: dict[str | int, list[str]] = {
    "put": validation.aliases(PutField),
    "<tensor>": validation.aliases(TensorFields),
    "tolerance": [*validation.aliases(fields.ToleranceFields), *DTYPES],
    "<rejected>": validation.aliases(fields.RejectedField),
    "<agree>": validation.aliases(fields.AgreeField),
    "<computed>": validation.aliases(fields.ComputedField),
    "<golden>": validation.aliases(fields.GoldenField),
    "<oracle>": validation.aliases(fields.OracleField),
    "<any_of>": validation.aliases(fields.AnyOfField),
    "rows": validation.aliases(fields.RowFields),
}


#: How some values are written, by their key, and a whole file.
_FILE = {"": "write op: NAME and cases:"}
_HINTS = {
    "attrs": "by name: {axis: 1}",
    "cases": "write - name: …",
    "expect": "by the name of the output: {output: [1, 0]}",
    "inputs": "by name: {input: [1, 2]}",
    "tolerance": "such as {rtol: 1e-5}",
    "arange": "[start, step]",
    "normal": "[mean, deviation]",
    "uniform": "[lowest, highest]",
}


def parse_path(text: str) -> FieldPath | None:
    """The path that `text` spells, or None if it spells none."""
    path = tuple(text.split("."))
    lengths = {"opset": (1,), "dtype": (1,), "attrs": (2,), "inputs": (2, 3)}.get(path[0], ())
    return path if len(path) in lengths and all(path) else None


def overlay(base: FileNode, nearer: FileNode, path: FieldPath = ()) -> FileNode:
    """`nearer` over `base`, both at `path` of a case: attrs, inputs and tensors merge by key."""
    merges = not path or (path[0] == "inputs" and len(path) < 3) or path == ("attrs",)
    if not merges or not (isinstance(base.value, dict) and isinstance(nearer.value, dict)):
        return nearer
    if _is_tensor(path):
        base = _without_replaced(base, nearer.value)
    old = base.entries
    merged = {
        key: overlay(old[key], value, (*path, key)) if key in old else value
        for key, value in nearer.value.items()
    }
    return FileNode({**old, **merged}, nearer.mark, {**base.keys, **nearer.keys})


def _is_tensor(path: FieldPath) -> bool:
    return len(path) == 2 and path[0] == "inputs"


def _without_replaced(tensor: FileNode, nearer: dict[str, FileNode]) -> FileNode:
    """`tensor` without its content, if `nearer` says another: what fills it is said once."""
    return tensor.without(CONTENTS) if any(key in nearer for key in CONTENTS) else tensor


def put(node: FileNode, path: FieldPath, value: FileNode, way: FieldPath = ()) -> FileNode | None:
    """`node`, at `way` of a case, with `value` at `path`; None if a scalar or list is between."""
    if not path:
        return value
    if node.value is not None and not isinstance(node.value, dict):
        return None
    step = path[0]
    below = node.get(step) or FileNode({}, value.mark)
    changed = put(below, path[1:], value, (*way, step))
    if changed is None:
        return None
    if _is_tensor(way):
        node = _without_replaced(node, {step: changed})
    keys = {step: value.mark, **node.keys, **({step: value.mark} if len(path) == 1 else {})}
    return FileNode({**node.entries, step: changed}, node.mark, keys)


def states(node: FileNode, path: FieldPath) -> bool:
    """Return True if `node` sets `path`: there, by a scalar above, or by a tensor's other fill."""
    for number, step in enumerate(path):
        if not isinstance(node.value, dict):
            return True
        if step not in node.value:
            is_content = _is_tensor(path[:number]) and step in CONTENTS
            return is_content and any(key in node.value for key in CONTENTS)
        node = node.value[step]
    return True


class OmittedFields(IntEnum):
    """Fields left out of a case because they are malformed."""

    NOTHING = 0
    SOMETHING = 1
    #: The expectation, or what may have been meant as one.
    EXPECTATION = 2


def validate(
    model: type[validation.Model], node: FileNode, file: str, problems: Problems
) -> tuple[validation.Model | None, FileNode, OmittedFields]:
    """`node` as an instance of `model`, the node that it was made of, and what that lacks.

    Malformed fields are reported and left out. None if nothing can be made of the rest.
    """

    def keys(container: validation.Location) -> list[str]:
        nearest = (_KEYS[step] for step in reversed(container) if step in _KEYS)
        return next(nearest, validation.aliases(model))

    hints = _HINTS | _FILE if model is fields.HeadFields else _HINTS
    found, faults = validation.check(model, node, file, problems, keys, hints)
    if not faults:
        return found, node, OmittedFields.NOTHING
    rest = _without_faults(node, faults)
    keys_lost = {str(step) for path in faults for step in path}
    lost = (
        OmittedFields.EXPECTATION if did_you_mean("expect", keys_lost) else OmittedFields.SOMETHING
    )
    return validation.check(model, rest, file, Problems(), keys)[0], rest, lost


def _without_faults(node: FileNode, paths: Iterable[validation.Location]) -> FileNode:
    """`node` without the fields that the paths lead into; of `inputs` and `rows`, without one."""
    below: dict[str | int, list[validation.Location]] = {}
    for path in paths:
        if path:
            below.setdefault(path[0], []).append(path[1:])

    def kept(key: str | int, value: FileNode) -> FileNode | None:
        if key not in below:
            return value
        enters = isinstance(key, int) or key in ("inputs", "rows")
        return _without_faults(value, below[key]) if enters and all(below[key]) else None

    if isinstance(node.value, tuple):
        items = [kept(number, item) for number, item in enumerate(node.value)]
        return FileNode(tuple(item for item in items if item), node.mark, node.keys)
    if not isinstance(node.value, dict):
        return node
    entries = {key: kept(key, value) for key, value in node.value.items()}
    return FileNode({key: value for key, value in entries.items() if value}, node.mark, node.keys)

"""Parts of a case: held against their form, laid over each other, and reached by a path.

Works on nodes, so that every value of a finished case still knows where it was written.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import TypeAlias

from opcheck.dtypes import DTYPES
from opcheck.errors import did_you_mean
from opcheck.reading import Node, Problems, form
from opcheck.suite import fields
from opcheck.suite.fields import CONTENTS, PutField, TensorFields

Path: TypeAlias = tuple[str, ...]

#: What a path may be, for messages.
PATHS_ARE = "a path is opset, dtype, attrs.NAME, inputs.NAME or inputs.NAME.KEY"
#: The keys that may stand below a step of pydantic's location.
_KEYS: dict[str | int, list[str]] = {
    "put": form.aliases(PutField),
    "<tensor>": form.aliases(TensorFields),
    "tolerance": [*form.aliases(fields.ToleranceFields), *DTYPES],
    "<rejected>": form.aliases(fields.RejectedField),
    "<agree>": form.aliases(fields.AgreeField),
    "<computed>": form.aliases(fields.ComputedField),
    "<golden>": form.aliases(fields.GoldenField),
    "<oracle>": form.aliases(fields.OracleField),
    "<any_of>": form.aliases(fields.AnyOfField),
    "rows": form.aliases(fields.RowFields),
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


def parse_path(text: str) -> Path | None:
    """The path that `text` spells, or None if it spells none."""
    path = tuple(text.split("."))
    lengths = {"opset": (1,), "dtype": (1,), "attrs": (2,), "inputs": (2, 3)}.get(path[0], ())
    return path if len(path) in lengths and all(path) else None


def mapping(node: Node | None) -> dict[str, Node]:
    """The node's mapping, or an empty one if it is none."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


def overlay(base: Node, nearer: Node, path: Path = ()) -> Node:
    """`nearer` laid over `base`: fields replace fields; attrs, inputs and tensors merge by key.

    The nodes are two cases, or what lies in them at `path`.
    """
    merges = not path or (path[0] == "inputs" and len(path) < 3) or path == ("attrs",)
    if not merges or not (isinstance(base.value, dict) and isinstance(nearer.value, dict)):
        return nearer
    if _is_tensor(path):
        base = _without_replaced(base, nearer.value)
    old = mapping(base)
    merged = {
        key: overlay(old[key], value, (*path, key)) if key in old else value
        for key, value in nearer.value.items()
    }
    return Node({**old, **merged}, nearer.mark, {**base.keys, **nearer.keys})


def _is_tensor(path: Path) -> bool:
    return len(path) == 2 and path[0] == "inputs"


def _without_replaced(tensor: Node, nearer: dict[str, Node]) -> Node:
    """`tensor` without its content, if `nearer` says another: what fills it is said once."""
    if not any(key in nearer for key in CONTENTS):
        return tensor
    kept = {key: value for key, value in mapping(tensor).items() if key not in CONTENTS}
    return Node(kept, tensor.mark, tensor.keys)


def get(node: Node, path: Path) -> Node | None:
    """The node at `path`, or None where the path leads nowhere."""
    for step in path:
        below = mapping(node).get(step)
        if below is None:
            return None
        node = below
    return node


def put(node: Node, path: Path, value: Node, way: Path = ()) -> Node | None:
    """The case `node` with `value` at `path`; None where a scalar or list stands in the way.

    `way` is the path that leads from the case to the node.
    """
    if not path:
        return value
    if node.value is not None and not isinstance(node.value, dict):
        return None
    step = path[0]
    below = mapping(node).get(step, Node({}, value.mark))
    changed = put(below, path[1:], value, (*way, step))
    if changed is None:
        return None
    if _is_tensor(way):
        node = _without_replaced(node, {step: changed})
    keys = {step: value.mark, **node.keys, **({step: value.mark} if len(path) == 1 else {})}
    return Node({**mapping(node), step: changed}, node.mark, keys)


def states(node: Node, path: Path) -> bool:
    """Whether `node` says anything itself about `path`: there, or by a scalar on the way.

    One content of a tensor says something about all of them, as it replaces them.
    """
    for number, step in enumerate(path):
        if not isinstance(node.value, dict):
            return True
        if step not in node.value:
            is_content = _is_tensor(path[:number]) and step in CONTENTS
            return is_content and any(key in node.value for key in CONTENTS)
        node = node.value[step]
    return True


class Lost(IntEnum):
    """What was left out of a case because it had not the form."""

    NOTHING = 0
    SOMETHING = 1
    #: The expectation, or what may have been meant as one.
    EXPECTATION = 2


def validate(
    model: type[form.Model], node: Node, file: str, problems: Problems
) -> tuple[form.Model | None, Node, Lost]:
    """`node` as an instance of `model`, the node that it was made of, and what that lacks.

    What has not the form is reported and left out, so that the rest can be looked at all the
    same. None if nothing can be made of the rest.
    """

    def keys(container: form.Location) -> list[str]:
        nearest = (_KEYS[step] for step in reversed(container) if step in _KEYS)
        return next(nearest, form.aliases(model))

    hints = _HINTS | _FILE if model is fields.HeadFields else _HINTS
    found, faults = form.check(model, node, file, problems, keys, hints)
    if not faults:
        return found, node, Lost.NOTHING
    rest = _without_faults(node, faults)
    keys_lost = {str(step) for path in faults for step in path}
    lost = Lost.EXPECTATION if did_you_mean("expect", keys_lost) else Lost.SOMETHING
    return form.check(model, rest, file, Problems(), keys)[0], rest, lost


def _without_faults(node: Node, paths: Iterable[form.Location]) -> Node:
    """`node` without the fields that the paths lead into; of `inputs` and `rows`, without one."""
    below: dict[str | int, list[form.Location]] = {}
    for path in paths:
        if path:
            below.setdefault(path[0], []).append(path[1:])

    def kept(key: str | int, value: Node) -> Node | None:
        if key not in below:
            return value
        enters = isinstance(key, int) or key in ("inputs", "rows")
        return _without_faults(value, below[key]) if enters and all(below[key]) else None

    if isinstance(node.value, tuple):
        items = [kept(number, item) for number, item in enumerate(node.value)]
        return Node(tuple(item for item in items if item), node.mark, node.keys)
    if not isinstance(node.value, dict):
        return node
    entries = {key: kept(key, value) for key, value in node.value.items()}
    return Node({key: value for key, value in entries.items() if value}, node.mark, node.keys)

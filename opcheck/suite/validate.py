"""The form of a case file, of one of its entries or of a concrete case."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from opcheck.dtypes import DTYPES
from opcheck.errors import did_you_mean
from opcheck.reading import Node, Problems, form
from opcheck.suite import fields
from opcheck.suite.fields import PutField, TensorFields

#: The keys that may stand below a step of pydantic's location.
_KEYS: dict[str | int, list[str]] = {
    "put": form.aliases(PutField),
    "<tensor>": form.aliases(TensorFields),
    "tolerance": [*form.aliases(fields.ToleranceFields), *DTYPES],
    "<rejected>": form.aliases(fields.RejectedField),
    "<agree>": form.aliases(fields.AgreeField),
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
    rest = _without(node, faults)
    keys_lost = {str(step) for path in faults for step in path}
    lost = Lost.EXPECTATION if did_you_mean("expect", keys_lost) else Lost.SOMETHING
    return form.check(model, rest, file, Problems(), keys)[0], rest, lost


def _without(node: Node, paths: Iterable[form.Location]) -> Node:
    """`node` without the fields that the paths lead into; of `inputs` and `rows`, without one."""
    below: dict[str | int, list[form.Location]] = {}
    for path in paths:
        if path:
            below.setdefault(path[0], []).append(path[1:])

    def kept(key: str | int, value: Node) -> Node | None:
        if key not in below:
            return value
        enters = isinstance(key, int) or key in ("inputs", "rows")
        return _without(value, below[key]) if enters and all(below[key]) else None

    if isinstance(node.value, tuple):
        items = [kept(number, item) for number, item in enumerate(node.value)]
        return Node(tuple(item for item in items if item), node.mark, node.keys)
    if not isinstance(node.value, dict):
        return node
    entries = {key: kept(key, value) for key, value in node.value.items()}
    return Node({key: value for key, value in entries.items() if value}, node.mark, node.keys)

"""Which cells of operators are judged: an operator in a version with an element type.

The type is one of the first type variable, that of the first input or, without inputs, of the first
output. Deprecated versions have no cells.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from opcheck import errors, model, opset
from opcheck.dtypes import BY_TEXT, DTYPES
from opcheck.engine import operator_of
from opcheck.suite.load import shipped_suites

#: What `python docs/operators.py` writes next to the shipped cases, which take long to load.
FILE = "judged.json"


class Coverage(NamedTuple):
    """A version of an operator: its types as ONNX writes them, those the engine computes and those
    that cases ask for an answer in, and why others are not judged; "" if nothing is stated.
    """

    op: model.OpVersion
    types: frozenset[str]
    computed: frozenset[str]
    judged: frozenset[str]
    why: str


def shipped_coverage(ops: Collection[str] = ()) -> Iterator[Coverage]:
    """All operators, or those of these names, by the shipped cases; raises UsageError."""
    known = {name.lower(): (d, name) for d in opset.domains() for name in opset.operators(d)}
    for op in ops:
        if op.lower() not in known:
            hint = errors.did_you_mean(op, (name for _, name in known.values()))
            raise errors.UsageError(f"no operator {op!r}", hint)
    asked = {op.lower() for op in ops}
    table = json.loads((shipped_suites() / FILE).read_text(encoding="utf-8"))
    for lower, (domain, name) in sorted(known.items(), key=lambda pair: pair[1]):
        if not asked or lower in asked:
            yield from coverage(domain, name, table.get(domain, {}).get(name, {}))


def coverage(domain: str, name: str, stated: Mapping[str, Any]) -> Iterator[Coverage]:
    """Each version with cells; `stated` has the judged types by version, and `why` not others."""
    for schema in opset.versions(domain, name).values():
        if schema.deprecated:
            continue
        parameter = first(schema)
        names = stated.get(str(schema.op.since), "").split()
        judged = parameter.types & {DTYPES[one].text for one in names}
        computed = parameter.types & BY_TEXT.keys() if operator_of(schema.op) else frozenset()
        formal = next(chain(*schema.formals)).types
        yield Coverage(schema.op, formal, computed, judged, stated.get("why", ""))


def first(schema: opset.Schema) -> opset.Parameter:
    """The input or output whose types a version's cells have."""
    # A sequence is the first where it is declared so, though cases have its tensors last.
    name = next(chain(*schema.formals)).name
    return next(one for one in (*schema.inputs, *schema.outputs) if one.name == name)

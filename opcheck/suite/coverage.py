"""The cells that are judged: an operator in a version with an element type.

The type is one of the first type variable, that of the first input or, without inputs, of the first
output. Deprecated versions have no cells.
"""

import json
import re
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
    every = [(domain, name) for domain in opset.domains() for name in opset.operators(domain)]
    known = {name.lower(): (domain, opset.plain(name)) for domain, name in every}
    for op in (op for op in ops if op.lower() not in known):
        hint = errors.did_you_mean(op, (name for _, name in every))
        raise errors.UsageError(f"no operator {op!r}", hint)
    table = json.loads((shipped_suites() / FILE).read_text(encoding="utf-8"))
    for domain, name in sorted({known[op.lower()] for op in ops} or {*known.values()}):
        yield from coverage(domain, name, table.get(domain, {}).get(name, {}))


def coverage(domain: str, name: str, stated: Mapping[str, Any]) -> Iterator[Coverage]:
    """Each version with cells; `stated` has the judged types by version, and `why` not others."""
    others = [opset.versions(domain, one) for one in opset.on_forms(name)]
    for since, schema in opset.versions(domain, name).items():
        if schema.deprecated:
            continue
        types = next(chain(*schema.formals)).types
        computed = {
            written(one, text)
            for found in (schema, *(found[since] for found in others if since in found))
            for one in (first(found) if operator_of(found.op) else ())
            for text in one.types & BY_TEXT.keys()
        }
        # As ONNX writes them; the file has our names.
        words = (re.split(r"(\w+)(?=\)*$)", one) for one in stated.get(str(since), "").split())
        judged = (f"{begin}{DTYPES[dtype].text}{end}" for begin, dtype, end in words)
        found = types & computed, types & {*judged}
        yield Coverage(schema.op, types, *found, stated.get("why", ""))


def first(schema: opset.Schema) -> list[opset.Parameter]:
    """The inputs or outputs that a version's cells have their types of."""
    # A sequence is the first where it is declared so, though cases have its tensors last. Next to
    # an optional there may be a tensor in its place.
    formal, known = next(chain(*schema.formals)).name, (*schema.inputs, *schema.outputs)
    chief = next(one for one in known if one.name == formal)
    return [
        one
        for one in known
        if one.constraint == chief.constraint
        and (one.listed == chief.listed or one.name == f"{formal}_tensor")
    ]


def written(parameter: opset.Parameter, name: str) -> str:
    """A type of tensors as that of the sequence or optional in whose place they are."""
    return f"{parameter.listed}{name}{')' * parameter.listed.count('(')}"

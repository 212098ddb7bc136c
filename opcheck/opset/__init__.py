"""Which operators, versions, attributes and types exist; the only reader of `onnx.defs`.

`describe` answers for one operator at one opset, `versions` and `operators` list what there is.
DirectML's operators stand beside ONNX's and are read the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from opcheck.model import OpVersion
from opcheck.opset.schema import Attribute, Parameter, Schema

__all__ = [
    "Attribute",
    "Parameter",
    "Schema",
    "attribute",
    "describe",
    "domains",
    "later",
    "newest",
    "operators",
    "versions",
]


def versions(domain: str, name: str) -> Mapping[int, Schema]:
    """Every version of the operator by the opset since which it is in force; empty if unknown."""
    return _all().get((domain, name), {})


def describe(domain: str, name: str, opset: int) -> Schema | None:
    """The version of the operator in force at `opset`, or None if there is none yet."""
    return max(
        (schema for since, schema in versions(domain, name).items() if since <= opset),
        key=lambda schema: schema.op.since,
        default=None,
    )


def attribute(op: OpVersion, name: str) -> Attribute | None:
    """The attribute as `op` declares it, else as the nearest other version of the operator does."""
    by_distance = sorted(
        versions(op.domain, op.name).items(), key=lambda item: abs(item[0] - op.since)
    )
    return next((s.attributes[name] for _, s in by_distance if name in s.attributes), None)


def operators(domain: str) -> tuple[str, ...]:
    """The operators of a domain, by name."""
    return tuple(sorted(name for known, name in _all() if known == domain))


def domains() -> tuple[str, ...]:
    """Every domain that has operators; ONNX's own is ""."""
    return tuple(sorted({domain for domain, _ in _all()}))


def later(op: OpVersion, opset: int) -> tuple[int, ...]:
    """Two later opsets at which `op` is in force, halfway and last; fewer if there are not two."""
    next_ones = [since for since in versions(op.domain, op.name) if since > op.since]
    last = min(next_ones) - 1 if next_ones else newest(op.domain)
    return tuple(sorted({number for number in ((opset + last + 1) // 2, last) if number > opset}))


def newest(domain: str) -> int:
    """The newest opset of `domain` that the installed packages know."""
    if domain == "":
        from opcheck.opset import onnx_defs

        return onnx_defs.newest()
    return max((v for (known, _), by in _all().items() if known == domain for v in by), default=0)


@cache
def _all() -> Mapping[tuple[str, str], Mapping[int, Schema]]:
    from opcheck.opset import directml, onnx_defs

    table: dict[tuple[str, str], dict[int, Schema]] = {}
    for schema in (*onnx_defs.schemas(), *directml.SCHEMAS):
        by_version = table.setdefault((schema.op.domain, schema.op.name), {})
        by_version[schema.op.since] = schema
    return {key: dict(sorted(by_version.items())) for key, by_version in table.items()}

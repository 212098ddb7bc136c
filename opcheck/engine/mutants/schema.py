"""Mutants that an operator's schema makes: attributes, inputs, versions and types misread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from opcheck import opset
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import OpVersion
from opcheck.opset import Attribute


def mutants(op: OpVersion, operator: Operator) -> Iterator[Mutant]:
    """What the schema of a version and its neighbours make."""
    schema = opset.versions(op.domain, op.name)[op.since]
    argued = operator.equivalents
    for attribute in schema.attributes.values():
        for mutant in _of_attribute(op, attribute):
            yield mutant if mutant.name not in argued else _with(mutant, argued[mutant.name])
    for since, formula in operator.formulas.items():
        if formula is not operator.formulas[op.since]:
            name = f"version_{since}_always"
            yield Mutant(
                name,
                f"version {since} was computed, whatever the model's opset",
                partial(lambda since, node: node.at(since).right, since),
                equivalent=argued.get(name, {}),
            )


def _with(mutant: Mutant, why: Any) -> Mutant:
    from dataclasses import replace

    return replace(mutant, equivalent=why)


def _of_attribute(op: OpVersion, attribute: Attribute) -> Iterator[Mutant]:
    name = attribute.name
    if attribute.required:
        return

    def ignored(node: Node) -> Sequence[Any]:
        return node.with_attrs(**{name: None}).right if name in node.attrs else node.right

    yield Mutant(f"{name}_ignored", f"{name} was ignored, and taken for its default", ignored)
    others = {
        schema.attributes[name].default
        for schema in opset.versions(op.domain, op.name).values()
        if name in schema.attributes and not isinstance(schema.attributes[name].default, list)
    }
    for default in sorted(others - {attribute.default, None}, key=str):

        def another(node: Node, default: Any = default) -> Sequence[Any]:
            return node.right if name in node.attrs else node.with_attrs(**{name: default}).right

        yield Mutant(
            f"default_{name}_{default}_always".replace("-", "minus_"),
            f"a missing {name} was taken for {default}, the default of another version",
            another,
        )

"""The form of a case file, of one of its entries or of a concrete case."""

from __future__ import annotations

from pydantic import BaseModel

from opcheck.reading import Node, Problems, form
from opcheck.suite import fields

_MODELS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("put", fields.PutField),
    ("<tensor>", fields.TensorFields),
    ("tolerance", fields.ToleranceFields),
    ("<rejected>", fields.RejectedField),
    ("<golden>", fields.GoldenField),
    ("<any_of>", fields.AnyOfField),
    ("rows", fields.RowFields),
)


def validate(
    model: type[form.Model], node: Node, file: str, problems: Problems
) -> form.Model | None:
    """`node` as an instance of `model`; None, with every problem reported, if it is none."""

    def keys(container: form.Location) -> list[str]:
        # The container itself, or the list it is an item of.
        found = (known for step, known in _MODELS if step in container[-2:])
        return form.aliases(next(found, model))

    return form.validate(model, node, file, problems, keys)

"""The inputs that a model declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onnx import ModelProto

from opcheck.dtypes import DType
from opcheck.graph.test_data import fed_by_default
from opcheck.graph.values import BeyondOpcheck, element, tensor_type


@dataclass(frozen=True)
class Declared:
    """An input: its sizes are numbers, names, or "" where nothing is said of them.

    `sizes` is None where not even their number is.
    """

    name: str
    dtype: DType
    sizes: tuple[int | str, ...] | None


def declared_inputs(model: ModelProto) -> Iterator[Declared]:
    """The inputs that have no value of their own.

    Raises BeyondOpcheck for what is no tensor, ValueError for a type that ONNX does not have.
    """
    for info in fed_by_default(model):
        try:
            tensor = tensor_type(info.type)
            if not info.type.HasField("tensor_type"):
                raise BeyondOpcheck("a sequence or an optional")
            dtype = element(tensor.elem_type)
        except BeyondOpcheck as error:
            raise BeyondOpcheck(
                f"no values are made up for {error} (input {info.name!r})"
            ) from None
        sizes = tuple(
            dim.dim_value if dim.HasField("dim_value") else dim.dim_param
            for dim in tensor.shape.dim
        )
        yield Declared(info.name, dtype, sizes if tensor.HasField("shape") else None)

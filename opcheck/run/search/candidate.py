"""A node that may be what is looked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DType
from opcheck.model import Attrs, Given, TensorSpec

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Candidate:
    """Attributes and inputs, legal or not."""

    attrs: Attrs
    inputs: tuple[TensorSpec, ...]

    @property
    def size(self) -> int:
        """How many elements the inputs have."""
        return sum(math.prod(spec.shape) for spec in self.inputs)

    @property
    def constant(self) -> bool:
        """Whether one of the inputs is an initializer."""
        return any(spec.initializer for spec in self.inputs)

    def on(self, dtype: DType) -> Candidate:
        """The same with inputs of another dtype."""
        return replace(self, inputs=tuple(replace(spec, dtype=dtype) for spec in self.inputs))

    def with_input(self, number: int, spec: TensorSpec) -> Candidate:
        """The same with another tensor for one of its inputs."""
        return replace(self, inputs=(*self.inputs[:number], spec, *self.inputs[number + 1 :]))


def given(values: Sequence[float], shape: Shape, dtype: DType) -> Given:
    """These values, rounded to what `dtype` holds."""
    exact = np.array(values, np.float64)
    return Given(dtypes.round_to(exact, dtype).astype(np.float64).reshape(shape))

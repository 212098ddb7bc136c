"""A case with all that decides it: what `opcheck show` prints."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opcheck.model.case import Case
from opcheck.model.question import Question


@dataclass(frozen=True, eq=False)
class RightOutput:
    """One output of a right answer.

    `values` are in the output's dtype and shape. An element is right from `lowest` to `highest`;
    both are `values` where no error is allowed. `form` is what the output is; a sequence or an
    optional without a value has no elements here. `undefined` masks the elements that may be
    anything, whatever is in `values`; None for none.
    """

    name: str
    values: NDArray[np.generic]
    lowest: NDArray[np.generic]
    highest: NDArray[np.generic]
    form: str = "tensor"
    undefined: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class RightAnswer:
    """Outputs that a case admits, or the refusal of its model.

    `name` tells several answers of one case apart. `mixed` names the readings that single elements
    may follow instead.
    """

    name: str | None
    outputs: tuple[RightOutput, ...] = ()
    refusal: str = ""
    mixed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ShownCase:
    """A case, what a backend is asked, and what is right; `problem` says why no answer is known."""

    case: Case
    question: Question | None
    answers: tuple[RightAnswer, ...]
    problem: str = ""

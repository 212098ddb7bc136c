"""The verdicts on a model's nodes on a backend."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from opcheck import dtypes
from opcheck.grouping import group_by
from opcheck.model import Array, LiveResult, OpVersion, Verdict


class Part(NamedTuple):
    """A node of a model; `name` is its own, or made of its operator and place."""

    place: int
    name: str
    op: OpVersion
    outputs: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class JudgedNode:
    """A node's result; `right` is what the engine answers, where it is wrong.

    `harm` is how far off its outputs are, relative to their size. `wrong_alone`: asked as a model
    of its own, on the same inputs, it is wrong too.
    """

    part: Part
    result: LiveResult
    right: tuple[Array, ...] = ()
    harm: float = 0.0
    wrong_alone: bool = False

    @property
    def fails(self) -> bool:
        """True for wrong values and a missing answer, unless that is a warning."""
        is_warning = self.result.verdict is Verdict.WARN
        return self.result.failure not in (None, "precision") and not is_warning

    @property
    def is_wrong(self) -> bool:
        """True if it fails by more than may come of nodes computed together, or fails alone."""
        return self.fails and (self.wrong_alone or not self.is_small)

    @property
    def is_small(self) -> bool:
        """True if the outputs are off by no more than 64 roundings, of their size."""
        wrong = [one.dtype for one in self.result.comparisons if one.problem]
        # An integer is right or wrong.
        if self.result.failure != "values" or not all(d and d.precision for d in wrong):
            return False
        precision = max((d.precision for x in self.right if (d := dtypes.of(x))), default=0)
        # From 2^-5 of the size on, an error is small in no type.
        return precision > 0 and self.harm < 2.0 ** min(6 - precision, -5)


class Depth(NamedTuple):
    """The error of a tensor and what independent roundings explain, relative to its size."""

    part: Part
    error: float
    expected: float
    ratio: float


@dataclass(frozen=True, eq=False)
class Located:
    """The result of a model on one backend.

    Attributes:
        whole: The verdict on the model as it is; None if nobody knows its answer.
        judged: The results of nodes, in the order of the nodes.
        around: The nodes that are not judged, and why.
        total: The number of the model's nodes.
        depths: The errors of some tensors, in the order of the nodes.
        exposed: Why a pass came to nothing, or what making outputs of tensors changed.
        together: The first node that the backend computes together with others, and so wrongly: its
            outputs have to be the model's own for the model to be right. If a node is wrong by
            itself, the model is the part that computes what that node reads.
        branches: The number of Ifs that were replaced by the branch they take.
        right_alone: The wrong node is right as a model of its own.
        unjudged: The nodes without a verdict that wrong outputs are computed from, and why; those
            that any output is computed from, if none is known to be wrong.
    """

    whole: LiveResult | None
    judged: tuple[JudgedNode, ...]
    around: tuple[tuple[Part, str], ...]
    total: int
    depths: tuple[Depth, ...] = ()
    exposed: str = ""
    together: Part | None = None
    branches: int = 0
    right_alone: bool = False
    unjudged: tuple[tuple[Part, str], ...] = ()

    @property
    def wrong(self) -> JudgedNode | None:
        """The first node that is wrong by itself, or else is off where the answer is beyond it."""
        is_off = self.whole is not None and self.whole.failure == "values" and not self.together
        return self.by_itself or (next(iter(self.small), None) if is_off else None)

    @property
    def by_itself(self) -> JudgedNode | None:
        """The first node that fails, or else the first one whose errors scatter too far."""
        # Whatever else is a matter of precision names the elements that need it, and is no error.
        seen = ((one, one.result.comparisons) for one in self.nodes)
        poorer = (n for n, by in seen if any(c.problem == "precision" and not c.wrong for c in by))
        # What is off by little is seldom what makes a model wrong.
        failing = sorted(self.failing, key=lambda one: one.is_small)
        return next(chain(failing, poorer), None)

    @cached_property
    def nodes(self) -> list[JudgedNode]:
        """One result of each node: a failure in any run, or else the first."""
        by_place = group_by(self.judged, lambda one: one.part.place).values()
        return [max(runs, key=lambda one: one.fails) for runs in by_place]

    @property
    def failing(self) -> list[JudgedNode]:
        """The nodes that are wrong."""
        return [one for one in self.nodes if one.is_wrong]

    @property
    def small(self) -> list[JudgedNode]:
        """The nodes that are wrong by so little that it may come of nodes computed together."""
        return [one for one in self.nodes if one.fails and not one.is_wrong]

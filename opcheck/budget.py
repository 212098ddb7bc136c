"""How much of a graph the engine computes: a model of 200 bytes may ask for any amount.

An evaluation counts the nodes that it runs and the elements that it holds. Sizes are counted before
memory is taken, wherever inputs and attributes decide them: see `opcheck.engine.sizes`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from opcheck.errors import BeyondBudget

#: The options that change the limits, as messages name them.
ELEMENTS_OPTION, NODES_OPTION = "--graph-elements", "--graph-nodes"
#: All tensors that are held at once may have so many times the elements of the largest one.
_HELD = 4


@dataclass(frozen=True)
class GraphLimits:
    """The most elements of a tensor, and the most runs of nodes, in the evaluation of a graph."""

    elements: int = 1 << 25
    nodes: int = 100_000


@dataclass
class Budget:
    """What an evaluation has taken of its limits."""

    limits: GraphLimits
    #: The runs of nodes so far, those of subgraphs included.
    runs: int = 0
    #: The elements of tensors that are still held.
    held: int = 0

    def run(self) -> None:
        """Count one more run of a node; raises BeyondBudget."""
        self.runs += 1
        if self.runs > self.limits.nodes:
            most = f"opcheck runs at most {self.limits.nodes:,} nodes ({NODES_OPTION})"
            raise BeyondBudget(f"the graph runs more nodes than that: {most}")

    def hold(self, elements: int) -> None:
        """Count the elements of tensors that are held from now on; raises BeyondBudget."""
        self.held += elements
        most = _HELD * self.limits.elements
        if self.held > most:
            held = f"opcheck holds at most {most:,}, {_HELD} times {ELEMENTS_OPTION}"
            raise BeyondBudget(f"the tensors of the graph have {self.held:,} elements: {held}")


_USUAL = GraphLimits()
_limits: ContextVar[GraphLimits] = ContextVar("graph_limits", default=_USUAL)
_budget: ContextVar[Budget | None] = ContextVar("graph_budget", default=None)


def limits() -> GraphLimits:
    """Return the limits in force."""
    return _limits.get()


def check(what: str, elements: int) -> None:
    """Raise BeyondBudget for a tensor of more elements than one may have; `what` names it."""
    most = limits().elements
    if elements > most:
        computed = f"opcheck computes at most {most:,} ({ELEMENTS_OPTION})"
        raise BeyondBudget(f"{what} of {elements:,} elements: {computed}")


@contextmanager
def limited(elements: int | None = None, nodes: int | None = None) -> Iterator[None]:
    """Set limits meanwhile; None leaves one as it is."""
    known = limits()
    changed = GraphLimits(
        known.elements if elements is None else elements,
        known.nodes if nodes is None else nodes,
    )
    token = _limits.set(changed)
    try:
        yield
    finally:
        _limits.reset(token)


@contextmanager
def counting() -> Iterator[Budget]:
    """The budget of the evaluation in progress, or of a new one."""
    if known := _budget.get():
        yield known
        return
    budget = Budget(limits())
    token = _budget.set(budget)
    try:
        yield budget
    finally:
        _budget.reset(token)

"""How much of a graph the engine computes: a model of 200 bytes may ask for any amount.

An evaluation counts the nodes that it runs, the iterations of its loops and the elements that it
holds. Sizes are counted before memory is taken, wherever inputs and attributes decide them: see
`opcheck.engine.sizes`.
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
    """The limits of an evaluation.

    Attributes:
        elements: The most elements of a tensor.
        nodes: The most runs of nodes. Each iteration of a loop counts as one more, as its graph may
            be empty.
    """

    elements: int = 1 << 25
    nodes: int = 100_000


_USUAL = GraphLimits()
#: The options as messages name them, with what they are if nobody sets them.
_ELEMENTS = f"{ELEMENTS_OPTION}, by default {_USUAL.elements:,}"
_NODES = f"{NODES_OPTION}, by default {_USUAL.nodes:,}"


@dataclass
class Budget:
    """What an evaluation has taken of its limits."""

    limits: GraphLimits
    #: The runs so far: of nodes, those of subgraphs included, and of subgraphs as a whole.
    runs: int = 0
    #: The elements of tensors that are still held.
    held: int = 0

    def run(self, times: int = 1) -> None:
        """Count more runs of a node, or of a graph in its attributes; raises BeyondBudget."""
        self.runs += times
        self.foresee(0)

    def foresee(self, runs: int) -> None:
        """Raise BeyondBudget if so many more runs are beyond the limit; nothing is counted."""
        if self.runs + runs > self.limits.nodes:
            most = f"opcheck runs at most {self.limits.nodes:,} of both ({_NODES})"
            raise BeyondBudget(f"the graph has too many runs of nodes and iterations: {most}")

    def hold(self, elements: int) -> None:
        """Count the elements of tensors that are held from now on; raises BeyondBudget."""
        self.held += elements
        most = _HELD * self.limits.elements
        if self.held > most:
            held = f"opcheck holds at most {most:,}, {_HELD} times {_ELEMENTS}"
            raise BeyondBudget(f"the tensors of the graph have {self.held:,} elements: {held}")


_limits: ContextVar[GraphLimits] = ContextVar("graph_limits", default=_USUAL)
_budget: ContextVar[Budget | None] = ContextVar("graph_budget", default=None)


def limits() -> GraphLimits:
    """Return the limits in force."""
    return _limits.get()


def check(what: str, elements: int) -> None:
    """Raise BeyondBudget for a tensor of more elements than one may have; `what` names it."""
    most = limits().elements
    if elements > most:
        computed = f"opcheck computes at most {most:,} ({_ELEMENTS})"
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


@contextmanager
def iterating(iterations: int) -> Iterator["Held"]:
    """Count what a loop holds from one iteration to the next; nothing of it after the loop.

    iterations: how many there are at least. Raises BeyondBudget at once for too many.
    """
    with counting() as budget:
        budget.foresee(iterations)
        before = budget.held
        yield Held(budget)
        budget.held = before


@dataclass
class Held:
    """The elements that a loop holds."""

    budget: Budget
    #: The elements of what each iteration replaces.
    _states: int = 0

    def replace(self, states: int, elements: int) -> None:
        """Count the elements of the new states, and of what is kept of this iteration.

        Raises BeyondBudget.
        """
        self.budget.hold(states - self._states + elements)
        self._states = states

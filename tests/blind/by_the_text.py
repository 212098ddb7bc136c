"""What readings of ONNX's text share: the shipped cases, and the comparison with the engine."""

from collections.abc import Callable, Sequence

import numpy as np

import opcheck
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import node_of, question
from opcheck.model import Case
from tests.blind.checks import differs, forbids

Function = Callable[..., Sequence[np.ndarray]]


class Open(Exception):
    """The text does not say it."""


class Forbidden(Exception):
    """The text forbids it."""


def difference(case: Case, function: Function) -> str | None:
    """Return how the engine's answer to a case differs from that of `function`, or None."""
    asked = question(case)
    node, inputs = node_of(asked.task, asked.inputs), asked.task.operands(asked.inputs)
    try:
        if why := forbids(case, inputs):
            raise Forbidden(why)
        with np.errstate(all="ignore"):
            mine = function(case.op.since, inputs, dict(case.attrs), node.count)
        found = [differs(mine[n], it) for n, it in zip(asked.task.places, node.right, strict=True)]
        return next(filter(None, found), None)
    except Forbidden as why:
        return f"forbidden: {why}; the engine answers" if node.is_legal else None
    except InvalidNode as error:
        return f"the engine: {error}"
    except (Open, NotSupported):
        return None


def differences(op: str, function: Function, every: int = 1) -> list[str]:
    """Return a line for each shipped case of `op`, or each of so many, that differs."""
    pairs = ((c, difference(c, function)) for c in opcheck.load(ops=[op])[::every])
    return [f"{case.id} ({case.op}, {case.rule}): {found}" for case, found in pairs if found]

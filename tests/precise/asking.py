"""How tests ask the oracle: one method or the other, whatever the tensor's size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from unittest import mock

from opcheck.model import Array, OpVersion
from opcheck.precise import Precise, evaluate
from opcheck.precise.ops import softmax
from opcheck.precise.ops.lp_pool import pooling

Method = Literal["mpmath", "double-double"]
METHODS: tuple[Method, ...] = ("mpmath", "double-double")


def ask(name: str, since: int, x: Array, **attrs: Any) -> Precise:
    """The only output of an operator of ONNX."""
    answer = evaluate(OpVersion("", name, since), [x], attrs)
    assert answer is not None
    return answer[0]


@contextmanager
def by(method: Method | None) -> Iterator[None]:
    """All tensors are small, or none is; None leaves it at what is in force."""
    if method is None:
        yield
        return
    limit = 2**62 if method == "mpmath" else -1
    with mock.patch.object(softmax, "_FEW", limit), mock.patch.object(pooling, "_LITTLE", limit):
        yield

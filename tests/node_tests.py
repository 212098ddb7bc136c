"""ONNX's own node tests."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from functools import cache
from typing import Any

_PACKAGE = "onnx.backend.test.case.node"


@cache
def _modules() -> dict[str, str]:
    folder = importlib.import_module(_PACKAGE).__path__
    return {one.name.replace("_", ""): one.name for one in pkgutil.iter_modules(folder)}


def node_tests_of(op: str) -> dict[str, Any]:
    """Those of a single node `op`, by name; not those of its function body or in other graphs."""
    # They are made when the module of their operator is imported, and kept in a list beside it.
    if op.lower() in _modules():
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            importlib.import_module(f"{_PACKAGE}.{_modules()[op.lower()]}")
    made = importlib.import_module(_PACKAGE)._NodeTestCases
    alone = (test for test in made if [node.op_type for node in test.model.graph.node] == [op])
    return {test.name: test for test in alone}

"""ONNX's own node tests."""

from __future__ import annotations

import importlib
from typing import Any


#: Modules that are not named as their operator.
_MODULES: dict[str, str] = {}


def node_tests_of(op: str) -> dict[str, Any]:
    """Those of a single node `op`, by name; not those of its function body or in other graphs."""
    # They are made when the module of their operator is imported, and kept in a list beside it.
    importlib.import_module(f"onnx.backend.test.case.node.{_MODULES.get(op, op.lower())}")
    made = importlib.import_module("onnx.backend.test.case.node")._NodeTestCases
    alone = (test for test in made if [node.op_type for node in test.model.graph.node] == [op])
    return {test.name: test for test in alone}

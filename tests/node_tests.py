"""ONNX's own node tests."""

import importlib
import pkgutil
import warnings
from functools import cache
from importlib.metadata import version
from typing import Any

import pytest
from onnx import AttributeProto, TensorProto, numpy_helper, printer
from packaging.version import Version

from opcheck.opset.onnx_defs import value_of

_PACKAGE = "onnx.backend.test.case.node"


@cache
def _modules(within: str) -> dict[str, str]:
    folder = importlib.import_module(f"{_PACKAGE}.{within}".rstrip(".")).__path__
    return {one.name.replace("_", ""): one.name for one in pkgutil.iter_modules(folder)}


@cache
def node_tests_of(op: str) -> dict[str, Any]:
    """Those of a single node `op`, by name; not those of its function body or in other graphs."""
    # They are made when the module of their operator is imported, and kept in a list beside it.
    for folder in ("", "ai_onnx_ml."):
        if op.lower() in _modules(folder):
            with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
                importlib.import_module(f"{_PACKAGE}.{folder}{_modules(folder)[op.lower()]}")
    made = importlib.import_module(_PACKAGE)._NodeTestCases
    alone = (test for test in made if [node.op_type for node in test.model.graph.node] == [op])
    return {test.name: test for test in alone}


def asked_by(test: Any) -> list[tuple[list[Any], dict[str, Any], list[Any]]]:
    """The inputs of the node, its attributes, and the outputs that are wanted, of each data set.

    An input or output that is left out is None.
    """
    graph = test.model.graph
    (node,) = graph.node
    attrs = {
        one.name: printer.to_text(one.g) if one.type == AttributeProto.GRAPH else value_of(one)
        for one in node.attribute
    }
    found = []
    for given, wanted in (map(_arrays, data) for data in test.data_sets):
        fed = dict(zip((one.name for one in graph.input), given, strict=True))
        made = dict(zip((one.name for one in graph.output), wanted, strict=True))
        outputs = [made.get(name) for name in node.output]
        found.append(([fed.get(name) for name in node.input], attrs, outputs))
    return found


def _arrays(values: Any) -> list[Any]:
    return [
        numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
        for value in values
    ]


_LAST = {"onnxruntime": "1.32.0", "onnx": "1.23.2"}

needs_known_releases = pytest.mark.skipif(
    any(Version(version(package)) > Version(last) for package, last in _LAST.items()),
    reason="a release that the ledgers have not been looked over with",
)

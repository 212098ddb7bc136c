import platform
from importlib import metadata

import numpy as np
import onnxruntime
import pytest

import opcheck
from opcheck.execution import environment


def test_it_names_opcheck_python_and_the_packages_that_matter() -> None:
    found = environment()
    assert (found.opcheck, found.python) == (opcheck.__version__, platform.python_version())
    assert found.packages["numpy"] == np.__version__
    assert found.packages["onnxruntime"] == onnxruntime.__version__
    assert set(found.packages) == {"numpy", "ml_dtypes", "onnx", "onnxruntime"}
    assert found.platform


def test_a_package_that_is_missing_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    find = metadata.version

    def version(package: str) -> str:
        if package == "onnxruntime":
            raise metadata.PackageNotFoundError(package)
        return find(package)

    monkeypatch.setattr(metadata, "version", version)
    assert environment().packages["onnxruntime"] == "not installed"
    assert environment().packages["numpy"] == np.__version__

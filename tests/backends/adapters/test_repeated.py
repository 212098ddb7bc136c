"""What is timed of a backend is what it is judged by: the same call, on the same data."""

import ml_dtypes
import numpy as np
import pytest

from opcheck.backends.connect import connect
from tests.asking import task_of

X = np.array([[3, 3.5, 1], [3, 0, 3]])


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    ("address", "package"),
    [
        ("numpy", "numpy"),
        ("onnxruntime", "onnxruntime"),
        ("openvino", "openvino"),
        ("reference", "onnx"),
        ("torch", "torch"),
        ("tract", "tract"),
    ],
)
def test_the_bare_call_gives_the_answer_again_and_again(address, package, dtype):
    pytest.importorskip(package, reason=f"not installed: {package}")
    if dtype is ml_dtypes.bfloat16 and address in ("onnxruntime", "tract"):
        dtype = np.float16  # they have no kernel for it
    x = X.astype(dtype)
    bare = connect(address).prepare(task_of("Hardmax", 13, {"axis": -1}, x)).repeated([x])
    for _ in range(3):
        [answer] = bare.outputs(bare.call())
        assert answer.dtype == x.dtype
        assert answer.tolist() == [[0, 1, 0], [1, 0, 0]]

"""An operator of your own domain, my.domain.MyOperator: what is right, and models that ask for it.

python my_operator.py                          # writes the folder my_operator
opcheck run my_operator -b onnxruntime         # judged by the answers below
opcheck run my_operator/model.onnx --dim rows=3 --dim columns=5 -b onnxruntime
                                               # judged by the function, on generated data

ONNX has no text of this operator, so its specification is this file: sentences, a function of
ONNX's operators, and answers that are worked out by hand. A runtime that has a kernel of this name
may run it; any other runs the function, and shows that the function and the answers agree.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

FOLDER = Path("my_operator")

# The specification: put the sentences and the function of your operator here.
#
#   "Y is alpha times the square of X where X is positive, and 0 elsewhere."
#   "alpha is 1 by default."
FUNCTION = """
<domain: "my.domain", opset_import: ["": 21]>
MyOperator <alpha: float = 1.0> (X) => (Y) {
    positive = Relu(X)
    square = Mul(positive, positive)
    factor = Constant <value_float: float = @alpha> ()
    factor_of_type = CastLike(factor, X)
    Y = Mul(factor_of_type, square)
}
"""

# The model that asks for it. Sizes with a name are left open: --dim states them.
MODEL = """
<ir_version: 10, opset_import: ["": 21, "my.domain": 1]>
model (float[rows, columns] X) => (float[rows, columns] Y) {
    Y = my.domain.MyOperator <alpha: float = 0.5> (X)
}
"""

# Inputs, and the answers to them: what the sentences say, not what some program computed.
ANSWERS = [
    # Half of the square: 0.5 · 2 · 2 = 2, and 0.5 · 3 · 3 = 4.5.
    ([[1, 2, 3]], [[0.5, 2, 4.5]]),
    # 0 where X is not positive.
    ([[-1, 0], [-np.inf, 1]], [[0, 0], [0, 0.5]]),
    # A square that is out of range is infinite.
    ([[np.inf, 1e30]], [[np.inf, np.inf]]),
]


def write(folder: Path) -> None:
    """Write the model, and each input with its answer, in the layout of ONNX's test data."""
    model = onnx.parser.parse_model(MODEL + FUNCTION)
    onnx.checker.check_model(model)
    folder.mkdir(exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    for number, (given, answer) in enumerate(ANSWERS):
        data = folder / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for file, name, values in (("input_0.pb", "X", given), ("output_0.pb", "Y", answer)):
            tensor = numpy_helper.from_array(np.array(values, "float32"), name)
            onnx.save_tensor(tensor, data / file)


if __name__ == "__main__":
    write(FOLDER)

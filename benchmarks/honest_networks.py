"""Judge four honest engines on ten small networks, at each optimization level that they have.

    python -m benchmarks.honest_networks FOLDER [-k NETWORK ...]

The networks have random weights and are written to FOLDER. Each is judged as a whole, and each of
its nodes by `opcheck locate`. The exit status is 1 if an engine that computes in float32 is
accused. OpenVINO also runs with its default precision, which is bfloat16 on processors that have
it: its answers are then wrong, or a warning, and are shown but not counted.
"""

import argparse
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper
from onnx.numpy_helper import from_array

import opcheck
from opcheck.graph import model_of
from opcheck.model import Verdict

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
ENGINES = (
    *(f"py:benchmarks.honest_networks:AtLevel?level={level}" for level in LEVELS),
    "onnxruntime?threads=2",
    "openvino?precision=f32",
    "openvino?precision=f32&threads=2",
    "openvino",
    "tract",
    "reference",
)
#: Engines that may compute float32 tensors in a narrower type.
NARROW = ("openvino",)


@dataclass
class Network:
    """A graph that grows by a node at a time; its weights are drawn from one seed."""

    inputs: list[ValueInfoProto] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    weights: list[TensorProto] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def fed(self, name: str, *shape: int, dtype: int = TensorProto.FLOAT) -> str:
        """Add an input of the model."""
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def constant(self, values: Any) -> str:
        """Add an initializer."""
        name = f"constant_{len(self.weights)}"
        self.weights.append(from_array(np.asarray(values), name))
        return name

    def weight(self, *shape: int) -> str:
        """Add a random float32 initializer, scaled so that a layer keeps the size of numbers."""
        fan_in = math.prod(shape[1:]) if len(shape) > 1 else 16
        return self.constant((self.rng.normal(size=shape) / np.sqrt(fan_in)).astype(np.float32))

    def positive(self, *shape: int) -> str:
        """Add an initializer between 0.5 and 1.5, such as a variance."""
        return self.constant(self.rng.uniform(0.5, 1.5, shape).astype(np.float32))

    def node(self, op: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or the names of several."""
        names = [f"{op.lower()}_{len(self.nodes)}_{n}" for n in range(count)]
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
        return names[0] if count == 1 else names

    def dense(self, x: str, size_in: int, size_out: int) -> str:
        """Add a product with a matrix, and a bias."""
        product = self.node("MatMul", x, self.weight(size_in, size_out))
        return str(self.node("Add", product, self.weight(size_out)))

    def conv(self, x: str, channels: tuple[int, int], size: int = 3, **attributes: Any) -> str:
        """Add a convolution that keeps height and width at stride 1."""
        group = attributes.get("group", 1)
        weights = self.weight(channels[1], channels[0] // group, size, size)
        pads = [size // 2] * 4
        return str(self.node("Conv", x, weights, self.weight(channels[1]), pads=pads, **attributes))

    def normalized(self, x: str, channels: int) -> str:
        """Add a BatchNormalization with random statistics."""
        scale, variance = self.positive(channels), self.positive(channels)
        shift, mean = self.weight(channels), self.weight(channels)
        return str(self.node("BatchNormalization", x, scale, shift, mean, variance))

    def model(self, opset: int = 17) -> ModelProto:
        """Return the model, checked; the types of its outputs are inferred."""
        outputs = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "network", self.inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 9
        from onnx.shape_inference import infer_shapes

        inferred = infer_shapes(model, strict_mode=True, data_prop=True)
        del inferred.graph.value_info[:]
        checker.check_model(inferred)
        return inferred


def mlp() -> ModelProto:
    """Three dense layers with Relu, then Softmax."""
    net = Network()
    x = net.fed("x", 4, 64)
    x = net.node("Relu", net.dense(x, 64, 128))
    x = net.node("Relu", net.dense(x, 128, 128))
    net.outputs = [net.node("Softmax", net.dense(x, 128, 10), axis=-1)]
    return net.model()


def cnn() -> ModelProto:
    """Convolutions and pools, as for digits."""
    net = Network()
    x = net.fed("x", 2, 1, 28, 28)
    for channels in ((1, 8), (8, 16)):
        x = net.node("Relu", net.conv(x, channels))
        x = net.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.node("Flatten", x)
    x = net.node("Gemm", x, net.weight(10, 784), net.weight(10), transB=1)
    net.outputs = [net.node("LogSoftmax", x, axis=1)]
    return net.model()


def residual() -> ModelProto:
    """Two ResNet blocks, one of them with a projection."""
    net = Network()
    x = net.fed("x", 1, 16, 16, 16)
    for channels in ((16, 16), (16, 32)):
        stride = [channels[1] // channels[0]] * 2
        y = net.normalized(net.conv(x, channels, strides=stride), channels[1])
        y = net.conv(net.node("Relu", y), (channels[1], channels[1]))
        y = net.normalized(y, channels[1])
        if stride[0] > 1:
            x = net.normalized(net.conv(x, channels, size=1, strides=stride), channels[1])
        x = net.node("Relu", net.node("Add", x, y))
    net.outputs = [net.dense(net.node("Flatten", net.node("GlobalAveragePool", x)), 32, 10)]
    return net.model()


def tagger() -> ModelProto:
    """An LSTM in both directions that labels each word of a text."""
    net = Network()
    words = net.fed("words", 6, 2, dtype=TensorProto.INT64)
    x = net.node("Gather", net.weight(50, 24), words)
    weights = net.weight(2, 64, 24), net.weight(2, 64, 16), net.weight(2, 128)
    y = net.node("LSTM", x, *weights, hidden_size=16, direction="bidirectional")
    y = net.node("Transpose", y, perm=[0, 2, 1, 3])
    y = net.node("Reshape", y, net.constant([6, 2, 32]))
    net.outputs = [net.node("Softmax", net.dense(y, 32, 9), axis=-1)]
    return net.model()


def transformer() -> ModelProto:
    """A block with LayerNormalization, attention of four heads, and Gelu from Erf."""
    net = Network()
    x = net.fed("x", 2, 10, 32)
    y = net.node("LayerNormalization", x, net.positive(32), net.weight(32), axis=-1)
    heads = []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        split = net.node("Reshape", net.dense(y, 32, 32), net.constant([2, 10, 4, 8]))
        heads.append(net.node("Transpose", split, perm=order))
    scores = net.node("MatMul", heads[0], heads[1])
    scores = net.node("Div", scores, net.constant(np.float32(np.sqrt(8))))
    y = net.node("MatMul", net.node("Softmax", scores, axis=-1), heads[2])
    y = net.node("Reshape", net.node("Transpose", y, perm=[0, 2, 1, 3]), net.constant([2, 10, 32]))
    x = net.node("Add", x, net.dense(y, 32, 32))
    y = net.node("LayerNormalization", x, net.positive(32), net.weight(32), axis=-1)
    y = net.dense(y, 32, 64)
    half, one = net.constant(np.float32(0.5)), net.constant(np.float32(1))
    erf = net.node("Erf", net.node("Mul", y, net.constant(np.float32(np.sqrt(0.5)))))
    y = net.node("Mul", net.node("Mul", y, net.node("Add", erf, one)), half)
    net.outputs = [net.node("Add", x, net.dense(y, 64, 32))]
    return net.model()


def attention() -> ModelProto:
    """The operator Attention of opset 23, with RMSNormalization."""
    net = Network()
    x = net.fed("x", 1, 8, 32)
    y = net.node("RMSNormalization", x, net.positive(32), axis=-1)
    heads = [net.dense(y, 32, 32) for _ in range(3)]
    y = net.node("Attention", *heads, q_num_heads=4, kv_num_heads=4, is_causal=1)
    net.outputs = [net.node("Add", x, net.dense(y, 32, 32))]
    model = net.model(opset=23)
    model.ir_version = 10
    return model


def unet() -> ModelProto:
    """Down, and up again by Resize, next to what was there before."""
    net = Network()
    x = net.fed("x", 1, 3, 16, 16)
    high = net.node("Relu", net.conv(x, (3, 8)))
    low = net.node("MaxPool", high, kernel_shape=[2, 2], strides=[2, 2])
    low = net.node("Relu", net.conv(low, (8, 16)))
    scales = net.constant(np.array([1, 1, 2, 2], np.float32))
    up = net.node("Resize", low, "", scales, mode="linear")
    x = net.node("Concat", up, high, axis=1)
    x = net.node("Relu", net.conv(x, (24, 8)))
    net.outputs = [net.node("Sigmoid", net.conv(x, (8, 1), size=1))]
    return net.model()


def separable() -> ModelProto:
    """Depthwise and pointwise convolutions with Clip and HardSwish."""
    net = Network()
    x = net.fed("x", 1, 8, 20, 20)
    for _ in range(3):
        x = net.normalized(net.conv(x, (8, 8), group=8), 8)
        x = net.node("Clip", x, net.constant(np.float32(0)), net.constant(np.float32(6)))
        x = net.node("HardSwish", net.normalized(net.conv(x, (8, 8), size=1), 8))
    net.outputs = [net.dense(net.node("ReduceMean", x, axes=[2, 3], keepdims=0), 8, 5)]
    return net.model()


def quantized() -> ModelProto:
    """Convolutions between QuantizeLinear and DequantizeLinear, in uint8 and int8."""
    net = Network()
    x = net.fed("x", 1, 4, 12, 12)
    zero, scale = net.constant(np.uint8(128)), net.constant(np.float32(1 / 32))
    for channels in ((4, 8), (8, 8)):
        x = net.node("QuantizeLinear", x, scale, zero)
        x = net.node("DequantizeLinear", x, scale, zero)
        weights = net.rng.integers(-127, 128, (channels[1], channels[0], 3, 3), np.int8)
        step = net.constant(np.float32(1 / 512)), net.constant(np.int8(0))
        w = net.node("DequantizeLinear", net.constant(weights), *step)
        x = net.node("Relu", net.node("Conv", x, w, net.weight(channels[1]), pads=[1] * 4))
    net.outputs = [net.node("GlobalAveragePool", x)]
    return net.model(opset=13)


def detector() -> ModelProto:
    """The head of a detector: boxes, scores, TopK and NonMaxSuppression."""
    net = Network()
    x = net.fed("x", 1, 16, 6, 6)
    kinds = {}
    for kind, channels in (("boxes", 4), ("scores", 3)):
        y = net.node("Transpose", net.conv(x, (16, channels)), perm=[0, 2, 3, 1])
        kinds[kind] = net.node("Reshape", y, net.constant([1, 36, channels]))
    boxes = net.node("Sigmoid", kinds["boxes"])
    scores = net.node("Transpose", net.node("Sigmoid", kinds["scores"]), perm=[0, 2, 1])
    best = net.node("ReduceMax", scores, axes=[1], keepdims=0)
    values, indices = net.node("TopK", best, net.constant([10]), count=2, axis=-1)
    limits = net.constant([5]), net.constant(np.float32(0.5)), net.constant(np.float32(0.4))
    kept = net.node("NonMaxSuppression", boxes, scores, *limits)
    net.outputs = [boxes, scores, values, indices, kept]
    return net.model()


def classifier() -> ModelProto:
    """A text classifier: the mean of embedded words, and two dense layers."""
    net = Network()
    words = net.fed("words", 3, 12, dtype=TensorProto.INT64)
    x = net.node("Gather", net.weight(40, 32), words)
    x = net.node("Tanh", net.dense(net.node("ReduceMean", x, axes=[1], keepdims=0), 32, 24))
    net.outputs = [net.node("Softmax", net.dense(x, 24, 4), axis=-1)]
    return net.model()


NETWORKS: Mapping[str, Callable[[], ModelProto]] = {
    made.__name__: made
    for made in (
        mlp,
        cnn,
        residual,
        tagger,
        transformer,
        attention,
        unet,
        separable,
        quantized,
        detector,
        classifier,
    )
}


class AtLevel:
    """ONNX Runtime at one level of its graph optimizations."""

    def __init__(self, level: str) -> None:
        self.level = level

    def prepare(self, task: Any) -> "OpenSession":
        """Open a session of the model."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = getattr(levels, self.level)
        model = model_of(task).SerializeToString()
        providers = ["CPUExecutionProvider"]
        return OpenSession(task, onnxruntime.InferenceSession(model, options, providers=providers))


@dataclass(frozen=True)
class OpenSession:
    """A session and its task."""

    task: Any
    session: Any

    def run(self, inputs: Sequence[Any]) -> Any:
        """Return the outputs."""
        return self.session.run(None, dict(self.task.feed(inputs)))


def located(path: Path, address: str) -> tuple[int, str]:
    """Return the exit status of `opcheck locate`, and its last line."""
    command = [sys.executable, "-m", "opcheck", "locate", str(path), "-b", address]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = run.stdout.strip().splitlines() or run.stderr.strip().splitlines()
    return run.returncode, lines[-1] if lines else ""


def main() -> int:
    """Print a row for each network and engine; return 1 if an honest one is accused."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-k", nargs="*", default=[*NETWORKS], metavar="NETWORK")
    asked = parser.parse_args()
    accused = 0
    print(
        "| network | engine | verdict | exit of locate | its last line |",
        "|---" * 5 + "|",
        sep="\n",
    )
    asked.folder.mkdir(parents=True, exist_ok=True)
    for name in asked.k:
        path = asked.folder / f"{name}.onnx"
        path.write_bytes(NETWORKS[name]().SerializeToString())
        for result in opcheck.run(opcheck.load(path), ENGINES, shipped_ledgers=False):
            status, line = located(path, result.backend)
            honest = result.verdict in (Verdict.PASS, Verdict.UNSUPPORTED)
            accused += result.backend not in NARROW and not (honest and status in (0, 5))
            reason = f"{result.verdict} {result.reason}".strip()
            print(f"| {name} | {result.backend} | {reason} | {status} | {line} |", flush=True)
    print(f"\n{accused} accused")
    return bool(accused)


if __name__ == "__main__":
    sys.exit(main())

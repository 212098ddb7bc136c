"""Shows the published defects without opcheck: NumPy, onnx's protobuf, and each engine's API.

    python reports/confirm.py [ENGINE…]

Each model of `by_hand/` goes to the engine it is about, after a control that the engine has to
answer rightly. The defect is confirmed where just the expected wrong answer, message or death
comes; any other exception confirms nothing. Every engine is asked on the CPU as it is, with the
switch that limits its instructions if it has one, and on the same CPU without AVX-512, which
`hide_avx512.c` hides. `shown/` keeps what came, also from other CPUs. Exit status 1 where a
defect or a control is not as expected.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

HERE = Path(__file__).parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

from opcheck.grouping import group_by  # noqa: E402
from opcheck.machine import processor_fields  # noqa: E402
from reports.checks import (  # noqa: E402
    Array,
    Check,
    Declares,
    Dies,
    Gives,
    Graph,
    Holds,
    Leftovers,
    Model,
    Raises,
    all_checks,
)

#: What each engine showed, a file each.
STORED = HERE / "shown"
#: Outcomes of a check: the defect shows, or does not, or another does, or the control fails.
SHOWS = "shows"
RIGHT = "answers rightly"
OTHERWISE = "fails in another way"
CONTROL = "fails the control"
#: How often a model runs again that is answered rightly.
_TIMES = 20
#: Seconds for all checks of an engine.
_SECONDS = 300
#: Seconds for one model.
_PATIENCE = 30
_PACKAGES = {"reference": "onnx"}
_BF16 = np.dtype(ml_dtypes.bfloat16)
#: Types that NumPy lacks, by the names that OpenVINO has for them.
_NAMES_OF_OPENVINO = {
    "bf16": _BF16,
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
}


@dataclass(frozen=True)
class Processor:
    """A CPU by its instructions, a `limit` set for one library, and the environment that makes it.

    A limit makes no other CPU of it: the rest of the process sees the CPU as it is.
    """

    name: str
    limit: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """What an engine made of a model on a processor, next to what it had to."""

    engine: str
    version: str
    processor: str
    limit: str
    defect: str
    asked: str
    want: str
    got: str
    why: str
    control: str
    outcome: str


def shown(engines: Sequence[str], processors: Sequence[Processor] | None = None) -> Iterator[Shown]:
    """Yield every check of the engines on the processors, which are all that can be had here."""
    for engine in engines:
        checks = [check for check in all_checks() if check.engine == engine]
        release, *_ = version(_PACKAGES.get(engine, engine)).partition("+")  # less the build's name
        for processor in processors_of(engine) if processors is None else processors:
            command = [sys.executable, str(Path(__file__).resolve()), "--answer", engine]
            for check, (control, outcome, got) in ask(command, checks, processor.env):
                yield Shown(
                    engine,
                    release,
                    processor.name,
                    processor.limit,
                    check.defect,
                    _asked(check.model),
                    " or ".join(map(_spelt, check.wants)) or "a refusal",
                    got,
                    check.why,
                    f"{_asked(check.control)}: {control}",
                    outcome,
                )


# ── one engine on one processor, in processes of its own ──────────────────────────────────────


def ask(
    command: Sequence[str], checks: Sequence[Check], env: Mapping[str, str]
) -> Iterator[tuple[Check, tuple[str, str, str]]]:
    """Yield for each check what came of the control, the outcome, and what came of the model.

    The command takes the number of the check to begin with, and prints a line for each control and
    for each model. Where it ends before its time, it died of what comes next.
    """
    first = 0
    while first < len(checks):
        lines, ending = _run([*command, str(first)], env)
        for control, answer in zip(lines[::2], lines[1::2], strict=False):
            yield checks[first], _outcome(control, answer)
            first += 1
        if lines and len(lines) % 2 == 0 and checks[first - 1].last:
            continue
        if first < len(checks):
            dies = checks[first].shows
            as_said = isinstance(dies, Dies) and dies.words in ending
            death = (SHOWS if as_said else OTHERWISE, f"the process dies: {_line(ending, dies)}")
            before = lines[-1] if len(lines) % 2 else (CONTROL, death[1])
            yield checks[first], _outcome(before, death)
            first += 1


def _outcome(control: Sequence[str], answer: Sequence[str]) -> tuple[str, str, str]:
    return control[1], answer[0] if control[0] == RIGHT else CONTROL, answer[1]


def _run(command: Sequence[str], env: Mapping[str, str]) -> tuple[list[list[str]], str]:
    """Return the lines that the command printed, and what it wrote on standard error."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **env},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
        )
        out = done.stdout
        ending = f"{done.stderr}\nexit status {done.returncode}"
    except subprocess.TimeoutExpired as error:
        out = (error.stdout or b"").decode()
        ending = f"no answer within {_SECONDS} seconds"
    return [
        json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")
    ], ending


def _answer(engine: str, first: int) -> None:
    """Answer the checks of an engine, in the process that may die of it."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what engines print is none of the lines
    for check in [check for check in all_checks() if check.engine == engine][first:]:
        for ask_it in (controlled, answered):
            signal.alarm(_PATIENCE)  # it ends the process of an engine that never answers
            print(json.dumps(ask_it(check)), file=out, flush=True)
        if check.last:
            return


def controlled(check: Check) -> tuple[str, str]:
    """Return if the engine answers the control rightly, and what it answers."""
    answer = _attempt(check, check.control)
    right = _same(answer, check.control_wants, check.control, check.rtol)
    return RIGHT if right else CONTROL, _told(answer, check.shows)


def answered(check: Check) -> tuple[str, str]:
    """Return what becomes of the defect, and what the engine answers.

    Asked several times if it is right, because some answers are what memory happens to hold.
    """
    for _ in range(_TIMES):
        answer = _attempt(check, check.model)
        outcome = judged(check, answer)
        if outcome != RIGHT:
            break
    return outcome, _told(answer, check.shows)


def judged(check: Check, answer: Array | Exception) -> str:
    """Return if an answer shows the defect, is right, or is neither."""
    match check.shows:
        case Raises(words):
            shows = isinstance(answer, Exception) and words in f"{type(answer).__name__}: {answer}"
        case Gives(wrong, dtype):
            shows = _same(answer, wrong, check.model, check.rtol, dtype)
        case Holds():
            shows = not isinstance(answer, Exception) and check.shows.test(answer)
        case Leftovers(shape):
            shows = not isinstance(answer, Exception) and answer.shape == shape
        case Dies():
            shows = False
    if any(_same(answer, want, check.model, check.rtol) for want in check.wants):
        return RIGHT
    if shows:
        return SHOWS
    return RIGHT if isinstance(answer, Exception) and not check.wants else OTHERWISE


def _same(answer: Array | Exception, want: Any, model: Model, rtol: float, dtype: str = "") -> bool:
    expected = np.dtype(dtype or model.gives) if dtype or model.gives else model.x.dtype
    if isinstance(answer, Exception):
        return False
    if answer.dtype != expected and not (answer.dtype.kind == "U" and expected.hasobject):
        return False
    if answer.dtype.kind in "OU":
        return bool(answer.tolist() == np.asarray(want, object).tolist())
    kind = np.complex128 if answer.dtype.kind == "c" else np.float64
    got = answer.astype(kind)
    right = np.asarray(want, kind)
    if got.shape != right.shape or not np.allclose(got, right, rtol, 0, equal_nan=True):
        return False
    # A right answer of -0 is told from 0; where 0 is right, either may come.
    negative = np.signbit(right.real) & (right == 0)
    return bool(np.signbit(got.real)[negative].all())


def _attempt(check: Check, model: Model) -> Array | Exception:
    proto = _proto(model)
    run = _as_declared if isinstance(check.shows, Declares) else _RUN[check.engine]
    try:
        fed = {"x": model.x} if model.stored == "fed" else {}
        if not model.constant:
            fed |= _more(model)
        earlier = [{**fed, **_more(replace(model, more=model.earlier))}] if model.earlier else []
        return np.asarray(run(proto, fed, *earlier))
    except Exception as error:  # judged by its words
        return error


def _more(model: Model) -> dict[str, Array]:
    """The inputs behind the first that are there."""
    return {f"x{n}": array for n, array in enumerate(model.more, 1) if array is not None}


def _proto(model: Model) -> bytes:
    """Return an ONNX model of one node, with what makes and takes apart its sequence."""
    from onnx import helper, numpy_helper

    x = model.x
    infos = [("x", x.dtype, x.shape)] if model.stored == "fed" else []
    constants = [_stored_input(model)] if model.stored not in ("fed", "nothing") else []
    if model.constant:
        constants += [numpy_helper.from_array(a, name) for name, a in _more(model).items()]
    else:
        infos += [(name, a.dtype, a.shape) for name, a in _more(model).items()]
    nodes = [_node(model)]
    if model.sequence is not None:
        nodes.insert(0, _sequence_maker(model, nodes[0]))
    if model.item != "":
        nodes.append(_sequence_reader(model, nodes[-1]))
        place = 0 if model.item == "length" else model.item
        constants.append(numpy_helper.from_array(np.array(place), "place"))
    gives = _type_code(np.dtype(model.gives) if model.gives else x.dtype)
    graph = helper.make_graph(
        nodes,
        "one",
        [helper.make_tensor_value_info(name, _type_code(dtype), sh) for name, dtype, sh in infos],
        [helper.make_tensor_value_info("y", gives, None)],
        constants,
    )
    opset = helper.make_opsetid(model.domain, model.opset)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10).SerializeToString()


def _type_code(dtype: Any) -> int:
    """Return ONNX's number of an element type."""
    from onnx import TensorProto, helper

    return TensorProto.BFLOAT16 if dtype == _BF16 else helper.np_dtype_to_tensor_dtype(dtype)


def _stored_input(model: Model) -> Any:
    """Return the input `x` as a constant, in the field that the model names."""
    from onnx import TensorProto

    x = model.x
    data: dict[str, Any] = {"raw_data": x.tobytes()}
    if model.stored == "int32_data":
        data = {"int32_data": x.view(np.uint16).ravel().tolist()}
    if model.stored == "string_data":
        data = {"string_data": [text.encode() for text in x.ravel().tolist()]}
    return TensorProto(name="x", data_type=_type_code(x.dtype), dims=x.shape, **data)


def _node(model: Model) -> Any:
    """Return the node that is tested, with its inputs, outputs and attributes."""
    from onnx import AttributeProto, helper, numpy_helper, parser

    names = [f"x{n}" if array is not None else "" for n, array in enumerate(model.more, 1)]
    names = names[: len(names) - model.around]
    if model.stored != "nothing":
        names.insert(0, "x")
    outputs = [*(f"y{place}" for place in range(model.output)), "y"]
    outputs += [f"z{place}" for place in range(model.after)]
    node = helper.make_node(model.op, names, outputs, domain=model.domain)
    for name, value in model.attrs.items():
        if isinstance(value, np.ndarray):
            value = numpy_helper.from_array(value)
        if isinstance(value, Graph):
            value = parser.parse_graph(f"{name} {value}")
        # The type of an empty list cannot be seen.
        ints = AttributeProto.INTS if value == [] else None
        node.attribute.append(helper.make_attribute(name, value, attr_type=ints))
    return node


def _sequence_maker(model: Model, node: Any) -> Any:
    """Return a node that makes a sequence of the first inputs of `node`, which takes it instead."""
    from onnx import helper

    kind = _type_code(model.x.dtype)
    tensors = node.input[: model.sequence]
    others = node.input[model.sequence :]
    if model.op.startswith("Optional"):
        empty: dict[str, Any] = {}
        if not tensors:
            empty["type"] = helper.make_tensor_type_proto(kind, None)
        maker = helper.make_node("Optional", tensors, ["s"], **empty)
    elif tensors:
        maker = helper.make_node("SequenceConstruct", tensors, ["s"])
    else:
        maker = helper.make_node("SequenceEmpty", [], ["s"], dtype=kind)
    node.input[:] = ["s", *others]
    return maker


def _sequence_reader(model: Model, node: Any) -> Any:
    """Return a node that makes the output of the sequence that `node` gives."""
    from onnx import helper

    node.output[:] = ["t"]
    if model.item != "length":
        return helper.make_node("SequenceAt", ["t", "place"], ["y"])
    counts = "OptionalHasElement" if model.op == "Optional" else "SequenceLength"
    return helper.make_node(counts, ["t"], ["y"])


def _onnxruntime(model: bytes, fed: Mapping[str, Any]) -> Any:
    return _declared_and_returned(model, fed)[1]


def _as_declared(model: bytes, fed: Mapping[str, Any]) -> Any:
    """Return what ONNX Runtime does; raise ValueError if the session declared another shape."""
    declared, got = _declared_and_returned(model, fed)
    if declared != [*got.shape]:
        raise ValueError(f"declared {declared}, returned {[*got.shape]}")
    return got


def _declared_and_returned(model: bytes, fed: Mapping[str, Any]) -> Any:
    import onnxruntime
    from onnx import TensorProto, numpy_helper

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (output,) = session.get_outputs()
    if output.type.startswith(("tensor(bfloat16", "tensor(float8")):  # NumPy has no such types
        given = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x) for name, x in fed.items()}
        (value,) = session.run_with_ort_values(None, given)
        raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
        proto = TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=raw)
        return output.shape, numpy_helper.to_array(proto)
    (got,) = session.run(None, dict(fed))
    return output.shape, got


def _reference(model: bytes, fed: Mapping[str, Any]) -> Any:
    from onnx.reference import ReferenceEvaluator

    (got,) = ReferenceEvaluator(model).run(None, dict(fed))
    return got


def _openvino(model: bytes, fed: Mapping[str, Any], *earlier: Mapping[str, Any]) -> Any:
    import openvino

    def tensor(x: Any) -> Any:
        for name, dtype in _NAMES_OF_OPENVINO.items():
            if x.dtype == dtype:
                bits = x.view(f"u{dtype.itemsize}")
                return openvino.Tensor(bits, x.shape, getattr(openvino.Type, name))
        return x

    core = openvino.Core()
    # On one thread, as opcheck asks it unless told otherwise.
    settings = {"INFERENCE_NUM_THREADS": 1}
    compiled = core.compile_model(core.read_model(model), "CPU", settings)
    for one in (fed, *earlier) if earlier else ():
        compiled({name: tensor(x) for name, x in one.items()})
    given = {name: tensor(x) for name, x in fed.items()}
    # What its memory holds differs from one run to the next.
    for _ in range(1 if earlier else 5):
        got = np.asarray(compiled(given)[0])
    # It hands out the bits of types that NumPy lacks as other numbers.
    return got.view(_NAMES_OF_OPENVINO.get(compiled.output(0).element_type.to_string(), got.dtype))


def _tract(model: bytes, fed: Mapping[str, Any]) -> Any:
    import tract

    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model)
        file.flush()
        runnable = tract.onnx().load(file.name).into_model().into_runnable()
    return runnable.run([*fed.values()])[0].to_numpy()


def _torch(model: bytes, fed: Mapping[str, Any]) -> Any:
    """Return what torch's own function for the model's operator answers."""
    import onnx
    import torch

    def tensor(x: Any) -> Any:
        half = x.dtype == _BF16
        return torch.tensor(x.view(np.uint16)).view(torch.bfloat16) if half else torch.tensor(x)

    (node,) = onnx.load_from_string(model).graph.node
    functions: dict[str, Any] = {
        "Conv": torch.conv1d,
        "Cosh": torch.cosh,
        "Erf": torch.erf,
        "Gelu": torch.nn.functional.gelu,
    }
    got = functions[node.op_type](*map(tensor, fed.values()))
    half = got.dtype == torch.bfloat16
    return got.view(torch.uint16).numpy().view(_BF16) if half else got.numpy()


_RUN = {
    "onnxruntime": _onnxruntime,
    "reference": _reference,
    "openvino": _openvino,
    "tract": _tract,
    "torch": _torch,
}


# ── processors ────────────────────────────────────────────────────────────────────────────────


def processors_of(engine: str) -> Iterator[Processor]:
    """Yield the processors that an engine can be asked on here."""
    native = _native()
    yield Processor(native)
    if "AVX-512" not in native:
        return
    match engine:
        case "reference":
            found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
            wide = [name for name in found if name.startswith(("AVX512", "X86_V4"))]
            limit = {"NPY_DISABLE_CPU_FEATURES": " ".join(wide)}
        # onnxruntime and tract have no switch; OpenVINO dies of ONEDNN_MAX_CPU_ISA=AVX2, because it
        # still computes in bfloat16.
        case _:
            limit = {}
    if limit:
        yield Processor(native, " ".join(f"{name}={to}" for name, to in limit.items()), limit)
    if env := _without_avx512():
        yield Processor("AVX2 (AVX-512 hidden)", "", env)


def _native() -> str:
    """Name the CPU by the widest of its instructions."""
    flags = processor_fields().get("flags", "").split()
    wide = {"avx512f": "AVX-512", "avx512_bf16": "BF16", "amx_tile": "AMX"}
    names = [name for flag, name in wide.items() if flag in flags]
    return "+".join(names) or ("AVX2" if "avx2" in flags else platform.machine())


@cache
def _without_avx512() -> dict[str, str] | None:
    """Return the environment that hides AVX-512, or None where NumPy sees it all the same."""
    library = Path(_folder().name) / "hide_avx512.so"
    source = str(HERE / "hide_avx512.c")
    build = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), source]
    env = {"LD_PRELOAD": str(library)}
    look = "from numpy._core._multiarray_umath import __cpu_features__ as f; print(f['AVX512F'])"
    try:
        subprocess.run(build, check=True, capture_output=True)
        sees = [sys.executable, "-c", look]
        done = subprocess.run(sees, env={**os.environ, **env}, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"AVX-512 cannot be hidden here: {error}", file=sys.stderr)
        return None
    return env if done.stdout.strip() == b"False" else None


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


# ── words ─────────────────────────────────────────────────────────────────────────────────────


def _asked(model: Model) -> str:
    attrs = " ".join(f"{name}={_value(value)}" for name, value in model.attrs.items())
    stored = "" if model.stored == "fed" else f" as a constant in {model.stored}"
    about = attrs or "no attributes"
    if model.stored != "nothing":
        about += f", {model.x.dtype} {_spelt(model.x)}{stored}"
    how = " as a constant" * model.constant
    inputs = len(model.more) - model.around
    more = "".join(
        ", none" if array is None else f", {array.dtype} {_spelt(array)}{how}"
        for array in model.more[:inputs]
    )
    more += "".join(
        f", around it {array.dtype} {_spelt(array)}{how}" for array in model.more[inputs:]
    )
    output = f", output {model.output}" * bool(model.output)
    fed = [f"{array.dtype} {_spelt(array)}" for array in model.earlier if array is not None]
    earlier = f", again after {', '.join(fed)}" * bool(fed)
    return f"{model.op}, opset {model.opset}, {about}{more}{output}{earlier}"


def _value(value: Any) -> str:
    return f"{value.dtype} {_spelt(value)}" if isinstance(value, np.ndarray) else str(value)


def _told(answer: Array | Exception, shows: object) -> str:
    if isinstance(answer, Exception):
        return f"{type(answer).__name__}: {_line(str(answer), shows)}"
    if isinstance(shows, Holds):
        return shows.text if shows.test(answer) else f"not {shows.text}"
    return _spelt(answer)


def _line(text: str, shows: object) -> str:
    """Return the line with the words that are expected, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    words = shows.words if isinstance(shows, Raises | Dies) else ""
    line = next((line for line in lines if words and words in line), lines[-1])
    # Where a library was built is of no interest.
    line = re.sub(r"/\S*/registry/src/[^/\s]+/", "", line)
    if line.find(words) + len(words) > 160:
        line = f"… {line[line.find(words) :]}"
    return line[:160]


def _spelt(values: Any) -> str:
    array = np.asarray(values)
    # NumPy does not know bfloat16 and 8-bit floats to be numbers.
    array = array.astype(np.float32) if array.dtype.kind == "V" else array
    if array.size > 12 and (array == 1).any():
        ones = ", ".join(map(str, np.flatnonzero(array == 1).tolist()))
        return f"of shape {[*array.shape]}, ones at {ones}"
    if array.size > 12:
        nans = ", NaN" * bool(np.isnan(array).any())
        least = np.nanmin(array)
        most = np.nanmax(array)
        return f"of shape {[*array.shape]}, {least:.3g} to {most:.3g}{nans}"
    if array.size == 0:
        return f"of shape {[*array.shape]}"
    text = np.array2string(
        array, 10_000, separator=", ", formatter={"float_kind": lambda value: f"{value:.8g}"}
    )
    return " ".join(text.split())


# ── what is kept ──────────────────────────────────────────────────────────────────────────────


#: What one check has in common on all processors, and what differs from one to the next.
_CHECK = ("version", "defect", "asked", "want", "why", "control")
_ON_ONE = ("processor", "limit", "got", "outcome")


def stored(folder: Path = STORED) -> list[Shown]:
    """Return what is kept, in the order of the engines and of their checks."""
    return [
        Shown(engine=engine, **{name: check[name] for name in _CHECK}, **on_one)
        for engine in _RUN
        if (folder / f"{engine}.json").exists()
        for check in json.loads((folder / f"{engine}.json").read_text("utf-8"))
        for on_one in check["on"]
    ]


def store(everything: Sequence[Shown], folder: Path = STORED) -> None:
    """Write what the engines showed: a file an engine, and each check once."""
    folder.mkdir(exist_ok=True)
    for engine, of_engine in group_by(everything, lambda one: one.engine).items():
        checks = group_by(of_engine, lambda one: tuple(getattr(one, name) for name in _CHECK))
        kept = [
            {
                **dict(zip(_CHECK, check, strict=True)),
                "on": [{name: getattr(one, name) for name in _ON_ONE} for one in those],
            }
            for check, those in checks.items()
        ]
        text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
        (folder / f"{engine}.json").write_text(text, "utf-8")


def joined(kept: Sequence[Shown], found: Sequence[Shown]) -> list[Shown]:
    """Return `found`, what was kept of other engines, and of the same checks on other CPUs."""
    engines = {one.engine for one in found}
    current = {_key(one): (one.processor, one.limit) for one in found}
    here = {(one.engine, one.processor, one.limit) for one in found}
    others = [
        one
        for one in kept
        if one.engine not in engines
        or (_key(one) in current and (one.engine, one.processor, one.limit) not in here)
    ]
    order = [*_RUN]
    return sorted([*others, *found], key=lambda one: (order.index(one.engine), one.defect))


def _key(one: Shown) -> tuple[str, ...]:
    return one.engine, one.version, one.defect, one.asked, one.want


def main(engines: Sequence[str]) -> int:
    """Ask the engines, keep what they answer, and report what is not as expected."""
    found = list(shown(engines or [*_RUN]))
    store(joined(stored(), found))
    for one in found:
        where = f"{one.processor}{one.limit and f', {one.limit}'}"
        print(f"{one.outcome}: {one.engine} {one.version} on {where}: {one.defect}")
        print(f"    {one.asked}\n    want {one.want}: {one.why}\n    got  {one.got}")
        print(f"    control {one.control}")
    seen = {(one.engine, one.defect, one.asked) for one in found if one.outcome == SHOWS}
    about = [check for check in all_checks() if check.engine in {one.engine for one in found}]
    missing = [
        f"{check.engine}: {check.defect}: does not show"
        for check in about
        if (check.engine, check.defect, _asked(check.model)) not in seen and not check.sometimes
    ]
    # Under a limit, an engine may lack what it relies on: a control that fails accuses nobody.
    missing += [
        f"{one.engine} on {one.processor}: {one.defect}: {one.outcome}: {one.got}; {one.control}"
        for one in found
        if one.outcome in (OTHERWISE, CONTROL) and not one.limit
    ]
    print(f"{len(seen)} of {len(about)} shown")
    for line in missing:
        print(f"NOT CONFIRMED: {line}", file=sys.stderr)
    return int(bool(missing))


def _engines(words: Sequence[str]) -> list[str]:
    """Read the engines of a command line; exit with 2 for those that there are not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    known = ", ".join(_RUN)
    parser.add_argument("engine", nargs="*", help=f"of {known}; all of them unless named")
    engines: list[str] = parser.parse_args(words).engine
    if unknown := [engine for engine in engines if engine not in _RUN]:
        parser.error(f"no such engine: {', '.join(unknown)} (there are {known})")
    return engines


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        _answer(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main(_engines(sys.argv[1:])))

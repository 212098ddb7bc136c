"""Random nodes: opcheck's engine next to oracles written apart, by operator.

    python -m benchmarks.random_nodes [OPERATOR ...] [--seed N] [--nodes N] [-v]

Nodes are drawn until so many are decided, 20 unless stated, or a hundred times as many were drawn.
A node is decided where the engine gives an answer to judge others by. The exit code is 1 for a
disagreement, and for an operator of which fewer nodes were decided. Operators without an oracle are
listed at the end, with the reason if one needs none.
"""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from onnx import defs

import benchmarks.oracles
from benchmarks.oracles import ORACLES, Array, Sample
from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import find, judging
from opcheck.errors import InvalidNode, NotSupported, decline
from opcheck.model import OpVersion

#: The domains whose operators are listed.
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training")
#: Draws that are no nodes, or are left open, for each that is wanted.
PATIENCE = 100
#: Why operators need no oracle here, by operator.
NO_ORACLE = {
    **dict.fromkeys(
        "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform"
        " RandomUniformLike".split(),
        "what it gives is drawn at random",
    ),
    **dict.fromkeys(
        "If Loop Scan SequenceMap".split(),
        "it runs a graph, whose operators have oracles of their own",
    ),
    **dict.fromkeys(
        "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt"
        " SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength"
        " SplitToSequence".split(),
        "it takes or gives sequences or optionals, and samples are of tensors",
    ),
    "Constant": "it gives its attribute",
    "ImageDecoder": "its answer depends on the decoder of each format",
}


@dataclass
class Row:
    """What was found of an operator; `differing` has what a disagreement looks like."""

    name: str
    nodes: int = 0
    decided: int = 0
    agreed: int = 0
    differing: list[str] = field(default_factory=list)
    undecided: dict[str, int] = field(default_factory=dict)


def node_of(name: str, sample: Sample) -> Node:
    """The node of a sample, in the version of its operator that its opset has."""
    since = defs.get_schema(name, sample.opset, sample.domain).since_version
    inputs = tuple(None if x is None else np.asarray(x) for x in sample.inputs)
    attrs = {key: tuple(v) if isinstance(v, list) else v for key, v in sample.attrs.items()}
    places = sample.places or tuple(range(len(sample.outputs)))
    op = OpVersion(sample.domain, name, since)
    return Node(op, inputs, attrs, places, opset=sample.opset)


def difference(got: Array, want: Array, sample: Sample) -> str:
    """Say where an output differs from the oracle's, or ""."""
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, want {list(want.shape)}"
    if want.dtype.kind != "f":
        wrong = np.asarray(got != want)
    else:
        with np.errstate(invalid="ignore"):  # Signaling NaN.
            near = got.astype(np.float64)
            allowed = sample.atol + sample.rtol * np.abs(want)
            both = (near == want) | (np.isnan(near) & np.isnan(want))
            wrong = ~(both | (np.abs(near - want) <= allowed))
    if not wrong.any():
        return ""
    place = tuple(int(n) for n in np.argwhere(wrong)[0])
    return f"{list(place)}: {got[place]}, want {want[place]}"


def compared(name: str, sample: Sample) -> str:
    """Say how the engine differs from a sample, or ""; raises NotSupported where it is open."""
    try:
        with judging():
            answers = each_answer(node_of(name, sample))
    except InvalidNode as error:
        return f"refused: {error}"
    decline(len(answers) > 1, f"open: {', '.join(answers[0].chosen)}")
    (answer,) = answers
    assert not isinstance(answer.answer, InvalidNode)
    decline(bool(answer.undefined), "open: elements that no text defines")
    outputs = [rounded(output) for output in answer.answer]
    for n, (got, want) in enumerate(zip(outputs, sample.outputs, strict=True)):
        if want is not None and (text := difference(got, np.asarray(want), sample)):
            return f"output {n} {text}"
    return ""


def row_of(name: str, seed: int, wanted: int) -> Row:
    """Draw nodes of an operator and compare each that is decided."""
    rng, row = np.random.default_rng([seed, crc32(name.encode())]), Row(name)
    for _ in range(PATIENCE * wanted):
        if row.decided >= wanted:
            break
        sample = ORACLES[name](rng)
        if sample is None:
            continue
        row.nodes += 1
        try:
            text = compared(name, sample)
        except NotSupported as error:
            row.undecided[str(error)] = row.undecided.get(str(error), 0) + 1
            continue
        row.decided += 1
        row.agreed += not text
        if text:
            shapes = [None if x is None else list(np.shape(x)) for x in sample.inputs]
            where = f"node {row.nodes}, opset {sample.opset}, {sample.attrs}, inputs {shapes}"
            row.differing.append(f"{where}: {text}")
    return row


def operators() -> Iterator[str]:
    """The operators that the engine has, by name."""
    for domain in DOMAINS:
        names = {schema.name for schema in defs.get_all_schemas() if schema.domain == domain}
        yield from sorted(name for name in names if find(domain, name))


def main() -> int:
    """Print the table in Markdown, and return the exit code."""
    for module in pkgutil.iter_modules(benchmarks.oracles.__path__):
        importlib.import_module(f"benchmarks.oracles.{module.name}")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=20, help="decided nodes for each operator")
    parser.add_argument("-v", "--verbose", action="store_true", help="why nodes are undecided")
    stated = parser.parse_args()
    if unknown := sorted({*stated.operators} - {*ORACLES}):
        parser.error(f"no oracle of {', '.join(unknown)}; there are {', '.join(sorted(ORACLES))}")
    print("| operator | nodes | decided | agreed | disagreed |", "|---|---|---|---|---|", sep="\n")
    rows = []
    for name in sorted(stated.operators or ORACLES):
        row = row_of(name, stated.seed, stated.nodes)
        rows.append(row)
        left = len(row.differing)
        print(f"| {name} | {row.nodes} | {row.decided} | {row.agreed} | {left} |", flush=True)
        for text in row.differing[:3]:
            print(f"    {text}", file=sys.stderr)
        if stated.verbose:
            for reason, count in row.undecided.items():
                print(f"    undecided {count}: {reason}", file=sys.stderr)
    few = [row.name for row in rows if row.decided < stated.nodes]
    wrong = [row.name for row in rows if row.differing]
    decided, agreed = (sum(getattr(row, of) for row in rows) for of in ("decided", "agreed"))
    print(f"\n{len(rows)} operators, {decided} decided nodes, {agreed} agreed")
    if few:
        print(f"fewer than {stated.nodes} decided: {', '.join(few)}")
    if not stated.operators:
        without = [name for name in operators() if name not in ORACLES]
        for reason in sorted({*NO_ORACLE.values()}):
            names = [name for name in without if NO_ORACLE.get(name) == reason]
            print(f"without an oracle, {len(names)}, as {reason}: {', '.join(names)}")
        missing = [name for name in without if name not in NO_ORACLE]
        print(f"without an oracle, {len(missing)}: {', '.join(missing)}")
    return 1 if few or wrong else 0


if __name__ == "__main__":
    sys.exit(main())

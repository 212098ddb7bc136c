"""`opcheck locate` and `opcheck extract`, about whole models."""

import json
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opcheck import interrupt
from opcheck.cli import options
from opcheck.errors import Exit, NodeError, UsageError, few, writing
from opcheck.report.plain_text import one_line, plural

if TYPE_CHECKING:
    from opcheck.execution.locate import Extracted, Network
    from opcheck.model import Case
    from opcheck.model.located import Part


_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(name="locate", cls=options.OutputCommand)
@click.argument("path", type=click.Path(path_type=Path))
@options.one_backend_options
@options.model_options
@options.declared(
    "-o --output folder DIR: Write the node there: a case file, and a script without opcheck.",
    folder={"type": _FOLDER},
)
def locate(
    path: Path, addresses: tuple[str, ...], folder: Path | None, inputs: Path | None, **given: Any
) -> None:
    """Find the first node of a model that a backend computes wrongly.

    PATH is a model, or a folder of ONNX's test data with one. The backend is asked for the model
    with its tensors as outputs, and each node is judged on the backend's own inputs to it, so that
    no earlier error counts against it. If no node is wrong and the answer is, the backend computes
    some nodes together: the first of them is named. Nodes of operators that opcheck does not know
    are left out, and counted.

    \b
    opcheck locate model.onnx -b onnxruntime --dim batch=1
    opcheck locate model.onnx -b mine -o wrong    and write the node as a case
    opcheck locate tests/test_net -b mine         on the inputs of a test-data folder

    Exit codes: 0 no node and no answer is wrong, 1 some is, 2 wrong usage or model, 4 the backend
    could not be used, 5 nothing was judged, or neither the model nor a node that its outputs
    depend on.
    """
    from opcheck.execution.expected import question
    from opcheck.execution.locate import located
    from opcheck.execution.workers import answers
    from opcheck.model import LOSSES
    from opcheck.report import located as report
    from opcheck.session import Session

    if len(addresses) > 1:
        raise UsageError(f"one backend at a time, not {' and '.join(addresses)}")
    (address,) = addresses
    network = _network(path, given.pop("dims"), inputs)
    with Session([address], **given) as session:
        session.connect()
        (backend,) = session.backends
        [found] = answers([(backend, located(network, backend.info))], interrupt.safe_place)
    if (whole := found.whole) and whole.verdict == "bad case":
        what = "sizes of --dim and numbers" if network.case.said else "numbers"
        hint = None if inputs else f"the {what} that are made up may not fit: see also --inputs"
        raise UsageError(f"{path}: {whole.reason}", hint)
    again = ["opcheck", "locate", str(path), "-b", address, *network.case.said]
    if folder and found.wrong and found.wrong.right:
        asked = question(found.wrong.result.case)
        with writing(folder):
            written = report.write(folder, found.wrong, asked.task, asked.inputs, address)
        if not found.right_alone:
            again = ["opcheck", "run", str(written / "case.yaml"), "-b", address, "--no-known"]
    elif folder:
        options.tell(f"nothing is written to {folder}: no node is wrong by itself")
    report.show(options.output(), found, backend.info, again)
    wrong = []
    if found.failing:
        wrong.append(plural(len(found.failing), "wrong node"))
    elif found.wrong:
        wrong.append(f"node {found.wrong.part.place} is off")
    if whole and whole.failure not in (None, "precision"):
        ways = dict.fromkeys(LOSSES, f"the model has no answer: {whole.verdict}")
        ways |= {"raised": "the model is refused"}
        wrong.append(ways.get(whole.failure, "the model's answer is wrong"))
        unnamed = not (found.wrong or found.together)
        if unnamed and any(one.result.verdict == "warn" for one in found.nodes):
            wrong.append("which a node with a warning may explain")
        elif unnamed and found.unjudged:
            some = plural(len(found.unjudged), "node")
            wrong.append(f"and the reason is in {some} that nobody judged, or in several together")
    if wrong or found.together:
        options.end(Exit.NONCONFORMING, ", ".join(wrong))
    is_judged = whole and whole.verdict in ("pass", "warn")
    if not is_judged and all(one.result.beyond for one in found.judged):
        options.end(Exit.NOTHING_JUDGED, "no node was judged")
    if not is_judged and found.unjudged:
        names = few([_named(part) for part, _ in found.unjudged], most=3)
        said = f"no node is wrong that was judged, but an output depends on unjudged {names}"
        options.end(Exit.NOTHING_JUDGED, said)
    said = "; the model as a whole is not judged"
    if whole and is_judged:
        said = "; the model's answer is off, which is a warning" if whole.failure else ""
    options.end(Exit.CONFORMS, f"no node is wrong{said}")


def _named(part: "Part") -> str:
    """A node by its place, its name and its operator."""
    return one_line(f"node {part.place}, {part.name} ({part.op.name})")


def _network(path: Path, dims: Mapping[str, int], folder: Path | None) -> "Network":
    """The model; raises UsageError for a file without one of several nodes that can be fed."""
    from opcheck.execution.locate import Network
    from opcheck.model import GRAPH
    from opcheck.suite import load_all

    case, *others = load_all((path,), dims, inputs=folder)
    if others:
        names = ", ".join(one_line(one.id) for one in (case, *others))
        hint = "name one model, and one of its data sets: MODEL.onnx --inputs DIR"
        raise UsageError(f"{path} has {1 + len(others)} models or data sets: {names:.200}", hint)
    if case.op != GRAPH or not case.model:
        raise UsageError(f"{path} is no model of several nodes", "opcheck run judges one node")
    if case.beyond:
        raise UsageError(f"{path}: {case.beyond}")
    try:
        network = Network(case)
    except ValueError as error:
        raise UsageError(f"{path}: {error}, which opcheck does not read") from None
    if not (network.parts and case.outputs):
        raise UsageError(f"{path} has no nodes, or no outputs")
    return network


@click.command(name="extract", cls=options.OutputCommand)
@click.argument("path", type=click.Path(path_type=Path))
@options.model_options
@options.declared(
    """
    -o --output folder DIR: The folder for the case files, one for each operator.
    --profile FILE: A profile of ONNX Runtime: cases come by their share of the time.
    """,
    folder={"type": _FOLDER, "required": True},
)
def extract(
    path: Path, dims: dict[str, int], inputs: Path | None, folder: Path, profile: Path | None
) -> None:
    """Write the nodes of a model as case files: what a backend needs for this network.

    Nodes that ask the same are one case. Small constants are written out; of large ones and of
    what other nodes compute there is the range, from which numbers are made up.

    \b
    opcheck extract model.onnx --dim batch=1 -o net
    opcheck run net -b mine                       is it right on what the network uses?
    opcheck bench net -b mine -b onnxruntime      and fast?
    opcheck support net -b mine                   by operator, version and type

    Exit codes: 0 written, 2 wrong usage or model, 4 the folder cannot be written, 5 there was
    nothing to write.
    """
    from opcheck.engine.operators import snake
    from opcheck.execution.locate import Extracted, extracted
    from opcheck.grouping import group_by

    if others := sorted(folder.glob("*.yaml")):
        raise UsageError(f"{folder} has case files already, such as {others[0].name}: name another")
    network = _network(path, dims, inputs)
    shares = _shares(profile) if profile else {}
    found, left = extracted(network, shares)
    todo = [(snake(op.name), some) for op, some in group_by(found, lambda x: x.case.op).items()]
    written: list[Extracted] = []
    with writing(folder):
        for stem, some in todo:
            folder.mkdir(parents=True, exist_ok=True)
            notes = [_note(one, with_share=profile is not None) for one in some]
            if not (why := _refusal(folder / f"{stem}.yaml", [one.case for one in some], notes)):
                written += some
            elif len(some) > 1:  # each in a file of its own: others are sound, or too many for one
                todo += ((f"{stem}_{n}", [one]) for n, one in enumerate(some))
            else:
                left += ((name, why) for name in some[0].names)
    names = {part.name for part in network.parts}
    rest = sum(share for name, share in shares.items() if name not in names)
    if round(rest, 2):
        options.tell(f"{rest:.0%} of the time is of nodes of other names: fused?")
    for name, why in left:
        share = f", {shares.get(name, 0.0):.1%} of the time" if profile else ""
        options.tell(f"left out: {one_line(name)}{share}: {one_line(why)}")
    if not written:
        options.end(Exit.NOTHING_JUDGED, "no node can be written as a case")
    nodes = plural(sum(len(one.names) for one in written), "node")
    options.end(Exit.CONFORMS, f"{nodes} in {plural(len(written), 'case')} in {folder}")


def _refusal(file: Path, cases: "Sequence[Case]", notes: Sequence[str]) -> str:
    """Write cases to a file; if opcheck itself does not take it, remove it and return why."""
    from opcheck.execution.expected import node_of, question
    from opcheck.graph.folders import tensor_bytes, write_whole
    from opcheck.report import write_text
    from opcheck.suite import load
    from opcheck.suite.tensors import case_file, made_up

    def contents(spec: Any) -> Mapping[str, Any]:
        if name := (stated := made_up(spec)).get("file"):
            write_whole(file.with_name(name), tensor_bytes(spec.content.values, spec.name))
        return stated

    write_text(file, case_file(cases, contents, notes))
    try:
        for case in load([file]):
            asked = question(case)
            node_of(asked.task, asked.inputs).plain  # noqa: B018  # it raises
    except (UsageError, NodeError, ValueError, MemoryError) as error:
        file.unlink()
        return f"its case would be refused: {error}"
    return ""


def _note(one: "Extracted", *, with_share: bool) -> str:
    names = ", ".join(map(one_line, one.names[:3])) + ", …" * (len(one.names) > 3)
    share = f"{one.share:.1%} of the time, " if with_share else ""
    return f"{share}{plural(len(one.names), 'node')}: {names}"


def _shares(profile: Path) -> dict[str, float]:
    """The parts of the time that nodes take in a profile of ONNX Runtime; raises UsageError."""
    found: dict[str, float] = {}
    try:
        for event in json.loads(profile.read_text(encoding="utf-8")):
            name = str(event.get("name", ""))
            if event.get("cat") == "Node" and name.endswith("_kernel_time"):
                node, time = name.removesuffix("_kernel_time"), float(event["dur"])
                if not 0 <= time < inf:
                    raise ValueError(f"{name!r} takes {time}")
                found[node] = found.get(node, 0.0) + time
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        said = f": {error}" if isinstance(error, OSError | ValueError | RecursionError) else ""
        raise UsageError(f"{profile} is no profile of ONNX Runtime{said}") from None
    if not (total := sum(found.values())):
        raise UsageError(f"{profile} has no times of nodes")
    return {name: time / total for name, time in found.items()}

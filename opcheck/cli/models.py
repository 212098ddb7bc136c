"""`opcheck locate` and `opcheck extract`, about whole models."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opcheck import interrupt
from opcheck.cli import console, options
from opcheck.cli.files import OutputCommand
from opcheck.cli.options import BackendOptions, ModelOptions
from opcheck.errors import Exit, NodeError, UsageError, few, writing
from opcheck.report.plain_text import one_line, plural

if TYPE_CHECKING:
    from opcheck.execution.locate import Extracted, Network
    from opcheck.model import Case
    from opcheck.model.located import Located, Part


_FOLDER = click.Path(file_okay=False, path_type=Path)


@dataclass(frozen=True, kw_only=True)
class LocateOptions:
    """Options of `opcheck locate`."""

    path: Path
    backends: BackendOptions
    model: ModelOptions
    folder: Path | None


@click.command(name="locate", cls=OutputCommand)
@click.argument("path", type=options.PATH)
@options.one_backend_options
@options.model_options
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=_FOLDER,
    help="Write the node there: a case file, and a script that needs no opcheck.",
)
@options.takes(LocateOptions)
def locate(given: LocateOptions) -> None:
    """Find the first node of a model that a backend computes wrongly.

    PATH is a model, or a folder of ONNX's test data with one. The backend runs the model with
    all tensors as outputs, and each node is judged on the backend's own inputs to it, so that no
    earlier error counts against it. If the answer is wrong but no node is, the backend computes
    some nodes together: the first of them is named. Nodes of operators that opcheck's engine lacks
    are left out, and counted.

    \b
    opcheck locate model.onnx -b onnxruntime --dim batch=1
    opcheck locate model.onnx -b mine -o wrong    and write the node as a case
    opcheck locate tests/test_net -b mine         on the inputs of a test-data folder

    Exit codes: 0 no node and no answer is wrong, 1 some is, 2 wrong usage or model, 4 the backend
    could not be used, 5 nothing was judged, or neither the model nor a node that its outputs
    depend on.
    """
    options.use_config(given.backends.config)
    given.model.apply_limits()
    from opcheck.execution.expected import question
    from opcheck.execution.locate import located
    from opcheck.execution.workers import answers
    from opcheck.report import located as report
    from opcheck.session import Session

    path = given.path
    folder = given.folder
    addresses = given.backends.addresses
    if len(addresses) > 1:
        raise UsageError(f"one backend at a time, not {' and '.join(addresses)}")
    (address,) = addresses
    network = _network(path, given.model)
    with Session(
        [address], timeout=given.backends.timeout, memory_limit=given.backends.memory_limit
    ) as session:
        session.connect()
        (backend,) = session.backends
        [found] = answers([(backend, located(network, backend.info))], interrupt.safe_place)
    if found.whole and found.whole.verdict == "bad case":
        raise UsageError(f"{path}: {found.whole.reason}", _hint_at_inputs(network, given.model))
    again = ["opcheck", "locate", str(path), "-b", address, *network.case.said]
    if folder and found.wrong and found.wrong.right:
        asked = question(found.wrong.result.case)
        with writing(folder):
            written = report.write(folder, found.wrong, asked.task, asked.inputs, address)
        if not found.right_alone:
            again = ["opcheck", "run", str(written / "case.yaml"), "-b", address, "--no-known"]
    elif folder:
        console.note(f"nothing is written to {folder}: no node is wrong by itself")
    report.show(console.stdout_console(), found, backend.info, again)
    wrong = [*_wrong_nodes(found), *_wrong_answer(found)]
    if wrong or found.together:
        console.print_and_exit(Exit.NONCONFORMING, ", ".join(wrong))
    whole = found.whole if found.whole and found.whole.verdict in ("pass", "warn") else None
    if not whole and all(node.result.beyond for node in found.judged):
        console.print_and_exit(Exit.NOTHING_JUDGED, "no node was judged")
    if not whole and found.unjudged:
        names = few([_named(part) for part, _ in found.unjudged], most=3)
        message = f"no node is wrong that was judged, but an output depends on unjudged {names}"
        console.print_and_exit(Exit.NOTHING_JUDGED, message)
    if not whole:
        remark = "; the model as a whole is not judged"
    elif whole.failure:
        remark = "; the model's answer is off, which is a warning"
    else:
        remark = ""
    console.print_and_exit(Exit.CONFORMS, f"no node is wrong{remark}")


def _named(part: "Part") -> str:
    """Return a node's place, name and operator, as a message names it."""
    return one_line(f"node {part.place}, {part.name} ({part.op.name})")


def _hint_at_inputs(network: "Network", given: ModelOptions) -> str | None:
    """Return a hint for a model that its generated inputs do not fit, None for given inputs."""
    if given.inputs:
        return None
    what = "sizes of --dim and numbers" if network.case.said else "numbers"
    return f"the {what} that are generated may not fit: see also --inputs"


def _wrong_nodes(found: "Located") -> list[str]:
    """Return in words which nodes are wrong or off; empty if none is."""
    if found.failing:
        return [plural(len(found.failing), "wrong node")]
    if found.wrong:
        return [f"node {found.wrong.part.place} is off"]
    return []


def _wrong_answer(found: "Located") -> list[str]:
    """Return in words what is wrong with the model's answer, and what may explain it."""
    from opcheck.model import LOSSES

    whole = found.whole
    if not whole or whole.failure in (None, "precision"):
        return []
    if whole.failure in LOSSES:
        wrong = f"the model has no answer: {whole.verdict}"
    elif whole.failure == "raised":
        wrong = "the model is refused"
    else:
        wrong = "the model's answer is wrong"
    if found.wrong or found.together:
        return [wrong]
    if any(node.result.verdict == "warn" for node in found.nodes):
        return [wrong, "which a node with a warning may explain"]
    if found.unjudged:
        nodes = plural(len(found.unjudged), "node")
        return [wrong, f"and the reason is in {nodes} that were not judged, or in several together"]
    return [wrong]


def _network(path: Path, given: ModelOptions) -> "Network":
    """The model; raises UsageError for a file without one of several nodes that can be fed."""
    from opcheck.execution.locate import Network
    from opcheck.model import GRAPH
    from opcheck.suite import load_all

    case, *others = load_all((path,), given.dims, inputs=given.inputs)
    if others:
        names = ", ".join(one_line(one.id) for one in (case, *others))
        hint = "name one model, and one of its data sets: MODEL.onnx --inputs DIR"
        raise UsageError(f"{path} has {1 + len(others)} models or data sets: {names:.200}", hint)
    if case.op != GRAPH or not case.model:
        raise UsageError(f"{path} is not a model of several nodes", "opcheck run judges one node")
    if case.beyond:
        raise UsageError(f"{path}: {case.beyond}")
    try:
        network = Network(case)
    except ValueError as error:
        raise UsageError(f"{path}: {error}, which opcheck does not read") from None
    if not (network.parts and case.outputs):
        raise UsageError(f"{path} has no nodes, or no outputs")
    return network


@dataclass(frozen=True, kw_only=True)
class ExtractOptions:
    """Options of `opcheck extract`."""

    path: Path
    model: ModelOptions
    folder: Path
    profile: Path | None


@click.command(name="extract", cls=OutputCommand)
@click.argument("path", type=options.PATH)
@options.model_options
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=_FOLDER,
    required=True,
    help="Folder for the case files, one for each operator.",
)
@click.option(
    "--profile",
    metavar="FILE",
    type=options.PATH,
    help="Profile that ONNX Runtime wrote: cases are sorted by their share of the time.",
)
@options.takes(ExtractOptions)
def extract(given: ExtractOptions) -> None:
    """Write the nodes of a model as case files: what a backend needs for this network.

    Equal nodes are one case. Small constants are written out; of large ones, and of what other
    nodes compute, only the range is written, from which data is generated.

    \b
    opcheck extract model.onnx --dim batch=1 -o net
    opcheck run net -b mine                       is it right on this network's nodes?
    opcheck bench net -b mine -b onnxruntime      and fast?
    opcheck support net -b mine                   by operator, version and type

    Exit codes: 0 written, 2 wrong usage or model, 4 the folder cannot be written, 5 there was
    nothing to write.
    """
    given.model.apply_limits()
    from opcheck.engine.operators import snake
    from opcheck.execution.locate import Extracted, extracted
    from opcheck.grouping import group_by

    folder = given.folder
    if others := sorted(folder.glob("*.yaml")):
        raise UsageError(f"{folder} has case files already, such as {others[0].name}: name another")
    network = _network(given.path, given.model)
    shares = _shares(given.profile) if given.profile else {}
    found, left = extracted(network, shares)
    todo = [(snake(op.name), some) for op, some in group_by(found, lambda x: x.case.op).items()]
    written: list[Extracted] = []
    with writing(folder):
        for stem, some in todo:
            folder.mkdir(parents=True, exist_ok=True)
            notes = [_note(one, with_share=given.profile is not None) for one in some]
            if not (why := _refusal(folder / f"{stem}.yaml", [one.case for one in some], notes)):
                written += some
            elif len(some) > 1:  # each in a file of its own: others are sound, or too many for one
                todo += ((f"{stem}_{n}", [one]) for n, one in enumerate(some))
            else:
                left += ((name, why) for name in some[0].names)
    names = {part.name for part in network.parts}
    rest = sum(share for name, share in shares.items() if name not in names)
    if round(rest, 2):
        console.note(f"{rest:.0%} of the time is of nodes of other names: fused?")
    for name, why in left:
        share = f", {shares.get(name, 0.0):.1%} of the time" if given.profile else ""
        console.note(f"left out: {one_line(name)}{share}: {one_line(why)}")
    if not written:
        console.print_and_exit(Exit.NOTHING_JUDGED, "no node can be written as a case")
    nodes = plural(sum(len(one.names) for one in written), "node")
    console.print_and_exit(Exit.CONFORMS, f"{nodes} in {plural(len(written), 'case')} in {folder}")


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
        raise UsageError(f"{profile} is not a profile of ONNX Runtime{said}") from None
    if not (total := sum(found.values())):
        raise UsageError(f"{profile} has no times of nodes")
    return {name: time / total for name, time in found.items()}

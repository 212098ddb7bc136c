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
from opcheck.grouping import group_by
from opcheck.report.plain_text import one_line, plural

if TYPE_CHECKING:
    from opcheck.execution.locate import Extracted, Network
    from opcheck.model import BackendInfo, Case
    from opcheck.model.located import Located, Part


_FOLDER = click.Path(file_okay=False, path_type=Path)
#: Nodes that the comment on a case names.
_NAMES_SHOWN = 3
#: What ends the name of a node's event in a profile of ONNX Runtime.
_KERNEL_TIME = "_kernel_time"


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
    help="Write the node there: a case file, a script that needs no opcheck, the text of an issue.",
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
    from opcheck.report import located as report

    options.use_config(given.backends.config)
    given.model.apply_limits()
    if len(given.backends.addresses) > 1:
        raise UsageError(f"one backend at a time, not {' and '.join(given.backends.addresses)}")
    (address,) = given.backends.addresses
    network = _network(given.path, given.model)
    located, backend = _locate(network, address, given.backends)
    if located.whole and located.whole.verdict == "bad case":
        message = f"{given.path}: {located.whole.reason}"
        raise UsageError(message, _hint_at_inputs(network, given.model))
    again = ["opcheck", "locate", str(given.path), "-b", address, *network.case.said]
    if given.folder:
        written = _write_wrong_node(given.folder, located, address)
        if written and not located.right_alone:
            again = ["opcheck", "run", str(written / "case.yaml"), "-b", address, "--no-known"]
        if written:
            _write_issue(written, located, again, backend)
    report.show(console.stdout_console(), located, backend, again)
    console.print_and_exit(*_ending(located))


def _locate(
    network: "Network", address: str, backends: BackendOptions
) -> "tuple[Located, BackendInfo]":
    """Judge the nodes of a model on one backend; return the results, and what the backend is."""
    from opcheck.execution.locate import located
    from opcheck.execution.workers import answers
    from opcheck.session import Session

    with Session(
        [address], timeout=backends.timeout, memory_limit=backends.memory_limit
    ) as session:
        session.connect()
        (backend,) = session.backends
        [results] = answers([(backend, located(network, backend.info))], interrupt.safe_place)
    return results, backend.info


def _write_wrong_node(folder: Path, located: "Located", address: str) -> Path | None:
    """Write the first wrong node to a folder; return where, None if no node is wrong by itself."""
    from opcheck.execution.expected import question
    from opcheck.report import located as report

    if not (located.wrong and located.wrong.right):
        console.note(f"nothing is written to {folder}: no node is wrong by itself")
        return None
    asked = question(located.wrong.result.case)
    with writing(folder):
        return report.write(folder, located.wrong, asked.task, asked.inputs, address)


def _write_issue(
    written: Path, located: "Located", again: Sequence[str], backend: "BackendInfo"
) -> None:
    """Write the text of an issue about the first wrong node to its folder, and say so.

    Raises Unwritable.
    """
    from opcheck.execution.workers import environment
    from opcheck.report import located as report

    report.write_issue(written, located, again, backend, environment())
    console.note(f"{written} has the node as a case and as a script, and issue.md to send")


def _ending(located: "Located") -> tuple[Exit, str]:
    """Return the exit code of `opcheck locate`, and what it means."""
    wrong = [*_wrong_nodes(located), *_wrong_answer(located)]
    if wrong or located.together:
        return Exit.NONCONFORMING, ", ".join(wrong)
    if located.whole and located.whole.verdict in ("pass", "warn"):
        is_off = located.whole.failure is not None
        remark = "; the model's answer is off, which is a warning" if is_off else ""
        return Exit.CONFORMS, f"no node is wrong{remark}"
    if all(node.result.beyond for node in located.judged):
        return Exit.NOTHING_JUDGED, "no node was judged"
    if located.unjudged:
        names = few([_named(part) for part, _ in located.unjudged], most=3)
        message = f"no node is wrong that was judged, but an output depends on unjudged {names}"
        return Exit.NOTHING_JUDGED, message
    return Exit.CONFORMS, "no node is wrong; the model as a whole is not judged"


def _named(part: "Part") -> str:
    """Return a node's place, name and operator, as a message names it."""
    return one_line(f"node {part.place}, {part.name} ({part.op.name})")


def _hint_at_inputs(network: "Network", given: ModelOptions) -> str | None:
    """Return a hint for a model that its generated inputs do not fit, None for given inputs."""
    if given.inputs:
        return None
    what = "sizes of --dim and numbers" if network.case.said else "numbers"
    return f"the {what} that are generated may not fit: see also --inputs"


def _wrong_nodes(located: "Located") -> list[str]:
    """Return in words which nodes are wrong or off; empty if none is."""
    if located.failing:
        return [plural(len(located.failing), "wrong node")]
    if located.wrong:
        return [f"node {located.wrong.part.place} is off"]
    return []


def _wrong_answer(located: "Located") -> list[str]:
    """Return in words what is wrong with the model's answer, and what may explain it."""
    from opcheck.model import LOSSES

    whole = located.whole
    if not whole or whole.failure in (None, "precision"):
        return []
    if whole.failure in LOSSES:
        wrong = f"the model has no answer: {whole.verdict}"
    elif whole.failure == "raised":
        wrong = "the model is refused"
    else:
        wrong = "the model's answer is wrong"
    if located.wrong or located.together:
        return [wrong]
    if any(node.result.verdict == "warn" for node in located.nodes):
        return [wrong, "which a node with a warning may explain"]
    if located.unjudged:
        nodes = plural(len(located.unjudged), "node")
        return [wrong, f"and the reason is in {nodes} that were not judged, or in several together"]
    return [wrong]


def _network(path: Path, given: ModelOptions) -> "Network":
    """Read a model; raise UsageError for a file without one of several nodes that can be fed."""
    from opcheck.execution.locate import Network
    from opcheck.model import GRAPH
    from opcheck.suite import load_all

    case, *others = load_all((path,), given.dims, inputs=given.inputs)
    if others:
        names = ", ".join(one_line(each.id) for each in (case, *others))
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
    from opcheck.execution.locate import extracted

    given.model.apply_limits()
    folder = given.folder
    earlier = sorted(folder.glob("*.yaml"))
    if earlier:
        message = f"{folder} has case files already, such as {earlier[0].name}"
        raise UsageError(f"{message}: name another")
    network = _network(given.path, given.model)
    shares = _shares(given.profile) if given.profile else {}
    cases, left_out = extracted(network, shares)
    with writing(folder):
        written, refused = _write_case_files(folder, cases, with_share=bool(shares))
    _note_time_of_others(network, shares)
    for name, reason in (*left_out, *refused):
        share = f", {shares.get(name, 0.0):.1%} of the time" if shares else ""
        console.note(f"left out: {one_line(name)}{share}: {one_line(reason)}")
    if not written:
        console.print_and_exit(Exit.NOTHING_JUDGED, "no node can be written as a case")
    nodes = plural(sum(len(case.names) for case in written), "node")
    console.print_and_exit(Exit.CONFORMS, f"{nodes} in {plural(len(written), 'case')} in {folder}")


def _write_case_files(
    folder: Path, cases: "Sequence[Extracted]", *, with_share: bool
) -> "tuple[list[Extracted], list[tuple[str, str]]]":
    """Write cases to files, one for each operator; `with_share` of the time, as comments.

    A file that opcheck itself would refuse, for one case or because there are too many, is divided:
    each case has a file of its own then.

    Returns:
        The cases that are written, and the names of the nodes that are not, each with the reason.
    """
    from opcheck.engine.operators import snake

    by_operator = group_by(cases, lambda extracted: extracted.case.op)
    files = [(snake(op.name), of_operator) for op, of_operator in by_operator.items()]
    written: list[Extracted] = []
    refused: list[tuple[str, str]] = []
    for stem, in_file in files:
        folder.mkdir(parents=True, exist_ok=True)
        notes = [_note(extracted, with_share=with_share) for extracted in in_file]
        reason = _refusal(folder / f"{stem}.yaml", [extracted.case for extracted in in_file], notes)
        if not reason:
            written += in_file
        elif len(in_file) > 1:
            # Further files of this very loop.
            files += ((f"{stem}_{n}", [extracted]) for n, extracted in enumerate(in_file))
        else:
            refused += ((name, reason) for name in in_file[0].names)
    return written, refused


def _note_time_of_others(network: "Network", shares: Mapping[str, float]) -> None:
    """Print the share of the time that a profile gives to nodes which the model does not have."""
    names = {part.name for part in network.parts}
    of_others = sum(share for name, share in shares.items() if name not in names)
    if round(of_others, 2):
        console.note(f"{of_others:.0%} of the time is of nodes of other names: fused?")


def _refusal(file: Path, cases: "Sequence[Case]", notes: Sequence[str]) -> str:
    """Write cases to a file; if opcheck itself does not take it, remove it and return why."""
    from opcheck.execution.expected import node_of, question
    from opcheck.graph.folders import tensor_bytes, write_whole
    from opcheck.report import write_text
    from opcheck.suite import load
    from opcheck.suite.tensors import case_file, made_up

    def contents(spec: Any) -> Mapping[str, Any]:
        """Return a tensor as a case file states it; write its file, if it has one."""
        stated = made_up(spec)
        if "file" in stated:
            write_whole(
                file.with_name(stated["file"]), tensor_bytes(spec.content.values, spec.name)
            )
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


def _note(extracted: "Extracted", *, with_share: bool) -> str:
    """Return the comment on a case: its nodes, and their share of the time."""
    names = ", ".join(map(one_line, extracted.names[:_NAMES_SHOWN]))
    if len(extracted.names) > _NAMES_SHOWN:
        names += ", …"
    share = f"{extracted.share:.1%} of the time, " if with_share else ""
    return f"{share}{plural(len(extracted.names), 'node')}: {names}"


def _shares(profile: Path) -> dict[str, float]:
    """Return the share of the time that each node takes in a profile of ONNX Runtime.

    Raises UsageError.
    """
    times: dict[str, float] = {}
    try:
        for event in json.loads(profile.read_text(encoding="utf-8")):
            name = str(event.get("name", ""))
            if event.get("cat") != "Node" or not name.endswith(_KERNEL_TIME):
                continue
            node = name.removesuffix(_KERNEL_TIME)
            time = float(event["dur"])
            if not 0 <= time < inf:
                raise ValueError(f"{name!r} takes {time}")
            times[node] = times.get(node, 0.0) + time
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        is_telling = isinstance(error, OSError | ValueError | RecursionError)
        reason = f": {error}" if is_telling else ""
        raise UsageError(f"{profile} is not a profile of ONNX Runtime{reason}") from None
    total = sum(times.values())
    if not total:
        raise UsageError(f"{profile} has no times of nodes")
    return {name: time / total for name, time in times.items()}

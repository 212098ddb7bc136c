"""`saved:DIR`: outputs computed elsewhere, a folder for each case: see `opcheck.graph.folders`."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from opcheck.backends.adapters import About, take
from opcheck.backends.base import Backend, TaskCall, UnusableAnswer, own_part
from opcheck.backends.connect import digest
from opcheck.errors import BackendUnavailable, NotSupported, UsageError
from opcheck.graph import ModelProto, folders, model_of
from opcheck.model import BackendInfo, Task, Tensors

ABOUT = About("outputs computed elsewhere, saved:DIR")


class Refused(Exception):
    """The saved outputs' producer refused the model; the message is its own."""


class UnusableOutputs(UnusableAnswer):
    """Outputs are there that cannot be taken for an answer."""


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the folder, with kind and version of the backend whose outputs it holds, if known."""
    take("saved", options, {})
    if not detail:
        raise UsageError("backend 'saved' needs a folder", "write saved:DIR")
    folder = Path(detail)
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise BackendUnavailable(f"backend 'saved': {detail} {what}")
    try:
        origin = folders.read_origin(folder) or BackendInfo("", "saved", "")
    except ValueError as error:
        raise BackendUnavailable(f"backend 'saved': {detail}: {error}") from None
    address = f"saved:{folder}"
    of = origin.address or None
    holds = {"folder": digest(path for path in folder.rglob("*") if path.is_file())}
    info = replace(origin, address=address, of=of, repeatable=False, made_of=holds)
    return Backend(info, (Refused,), partial(_prepared, folder))


def _prepared(root: Path, task: Task) -> TaskCall:
    """Prepare nothing: the answer depends on the inputs, too."""
    # A model that was refused may have been tried at another opset too.
    folder = root / folders.task_folder_name(task)
    if not folder.is_dir():
        folder = root / folders.folder_name(task.case)
    try:
        with own_part():
            return TaskCall(partial(_answer, folder, task, model_of(task)))
    except NotSupported:
        # Outputs may be there all the same, of a backend that needs no ONNX model.
        if not folder.is_dir():
            raise
        return TaskCall(partial(_answer, folder, task, None))


def _answer(folder: Path, task: Task, model: ModelProto | None, inputs: Tensors) -> Tensors:
    """Return the outputs, if they are there and were computed for this model on these inputs."""
    if not folder.is_dir():
        raise BackendUnavailable(f"nothing was delivered: there is no {folder}")
    with own_part():
        other = folders.other_question(folder, model, task, inputs)
    if other:
        raise BackendUnavailable(f"{folder}: {other}")
    try:
        status = folders.read_status(folder)
    except ValueError as error:
        raise BackendUnavailable(f"{folder}: {error}") from error
    match status:
        case "unsupported", text:
            raise NotSupported(text)
        case "not_run", text:
            raise BackendUnavailable(text)
        case "error", text:
            refusal = folders.read_refusal(text)
            base = Refused if refusal.documented else Exception
            # Under its own name, as the backend's users know it.
            named: type[Exception] = type(refusal.kind, (base,), {}) if refusal.kind else base
            raise named(refusal.detail)
    try:
        return folders.read_outputs(folder / folders.DATA_SET, task.outputs, task.model)
    except folders.NotDelivered as error:
        raise BackendUnavailable(f"nothing was delivered: {folder}: {error}") from error
    except ValueError as error:
        raise UnusableOutputs(str(error)) from error

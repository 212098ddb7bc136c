"""Questions as folders, and answers in them; folders and files that are whole or not there.

A case's folder has the model and its inputs as .pb files, in the layout of ONNX's test data, and
its outputs or a *status* in their place: a file that says why there are none. A marker in the
folder of all says whose answers it holds.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from opcheck import model
from opcheck.backends import parse
from opcheck.compare import verdict
from opcheck.errors import BackendUnavailable, NotSupported, UsageError, few, writing
from opcheck.execution.expected import question
from opcheck.execution.workers import Questions
from opcheck.graph import folders, model_of
from opcheck.grouping import Found
from opcheck.model import Array, BackendInfo, Case, Outcome, Question, Task


def _write_answer(
    folder: Path, task: Task, outcome: Outcome
) -> tuple[folders.FailureKind, str] | None:
    """Write the outputs into `folder`; else return the status that is to be saved in their place.

    A status is its kind, "unsupported", "error" for a refusal, or "not_run", and a text; None for
    written outputs. An outcome without a usable answer, such as a crash, is "not_run", and so are
    outputs that no file can hold. Raises OSError if a file cannot be written.
    """
    match outcome:
        case model.Declined(reason):
            return "unsupported", reason
        case model.Raised(stage="prepare" | "run", unusable=False):
            return "error", folders.refusal_text(outcome)
        case model.NotRun(reason):
            return "not_run", reason
        case model.Produced(outputs, unstable=None):
            reason = _write_outputs(folder, task, outputs)
            if reason:
                return "not_run", f"its answer cannot be saved: {reason}"
            return None
        case _:
            judgement = verdict.judge_without_expected("must", outcome)
            return "not_run", f"{judgement.verdict}: {judgement.reason}"


def _write_outputs(folder: Path, task: Task, outputs: Sequence[Array | model.Foreign]) -> str:
    """Write the outputs; return why they cannot be saved as they are, "" if they are saved.

    Files are `output_0.pb` and so on. Their number must be the task's, and each an array or a
    sequence of arrays that a file can hold. Outputs before one that cannot be saved stay written.
    Raises OSError if a file cannot be written.
    """
    if len(outputs) != len(task.outputs):
        return f"{len(outputs)} outputs where {len(task.outputs)} are expected"
    for number, (spec, output) in enumerate(zip(task.outputs, outputs, strict=True)):
        if isinstance(output, model.Foreign) and not isinstance(output, model.Items):
            return f"output {number} is no array but {output.description}"
        try:
            folders.write_output(folder / f"output_{number}.pb", output, task, spec.name)
        except ValueError as error:
            return f"output {number}: {error}"
    return ""


def begin(folder: Path, backend: BackendInfo | None) -> None:
    """Make a folder, or empty it of what an earlier run saved, and mark it as that of `backend`.

    `backend` is None for a folder of questions. Raises UsageError if it holds anything else, or
    cannot be made or read: then nothing is removed. Raises Unwritable if it cannot be emptied or
    marked.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = error.strerror or str(error)
        raise UsageError(f"nothing can be saved in {folder}: {message}") from None
    with writing(folder):
        for case in earlier_cases(folder):
            shutil.rmtree(case)
        folders.write_origin(folder, backend)


def earlier_cases(folder: Path) -> list[Path]:
    """Return the folders of cases that an earlier run saved in `folder`, none in an empty one.

    Raises UsageError if it holds anything that no run of opcheck saved, is no folder or cannot be
    read, and if its marker no longer says what it is.
    """
    if is_free(folder):
        return []
    if not (folder / folders.MARKER).exists():
        message = f"{folder} is not empty, and no earlier run has saved outputs there"
        raise UsageError(message, "choose a new folder, or empty it")
    try:
        answered = folders.read_origin(folder) is not None
    except ValueError as error:
        raise UsageError(f"{folder}: {error}", "choose a new folder, or empty it") from None
    files = folders.ANSWER_FILE if answered else folders.QUESTION_FILE
    check_foreign(folder, files.fullmatch)
    return [path for path in folder.iterdir() if path.is_dir()]


@dataclass(frozen=True)
class Recording:
    """Answers of the only one of `backends`, saved in `folder` as they come.

    To make one makes the folder, or empties it of an earlier run: see `__post_init__`.
    """

    backends: Sequence[BackendInfo]
    folder: Path

    def __post_init__(self) -> None:
        """Make the folder, or empty it of an earlier run.

        Raises UsageError unless there is one backend, if it reads its answers from this folder
        (`saved:`), or if the folder holds anything else or cannot be made; Unwritable if it cannot
        be emptied.
        """
        if len(self.backends) != 1:
            named = ", ".join(info.address for info in self.backends)
            message = f"the outputs of one backend can be saved, not of {len(self.backends)}"
            raise UsageError(f"{message}: {named}", "name it with -b")
        (info,) = self.backends
        if info.address.startswith("saved:"):
            source = Path(str(parse(info.address).detail))
            if source.exists() and self.folder.exists() and source.samefile(self.folder):
                message = f"outputs cannot be read from {self.folder} and saved there at once"
                raise UsageError(message)
        begin(self.folder, info)

    def observe(self, questions: Questions[Found]) -> Questions[Found]:
        """Pass on questions and save the replies; a generator of the same questions and result.

        Of each case only the first reply at each opset is saved: later questions are on other data,
        or repeat it. Raises what `save` raises, such as BackendUnavailable if a file cannot be
        written, and what `questions` raise.
        """
        #: The opsets at which each case was asked, its own first.
        opsets: dict[str, list[int]] = {}
        try:
            question = next(questions)
            while True:
                reply = yield question
                task = question.task
                known = opsets.setdefault(task.case, [])
                if task.opset not in known:
                    self.save(question, reply.outcome, at_its_opset=not known)
                    known.append(task.opset)
                question = questions.send(reply)
        except StopIteration as end:
            return cast(Found, end.value)

    def save(self, question: Question, outcome: Outcome, *, at_its_opset: bool = True) -> None:
        """Save the model and its inputs with the outputs, or with a status in their place.

        Refusals, missing support, and outcomes without an answer that can be saved have a status.
        The folder has the name of the case or, unless `at_its_opset`, of the case at the task's
        opset; an earlier one is replaced. There is no model if ONNX cannot state the task, or
        DirectML's page leaves open how. Raises BackendUnavailable if a file cannot be written,
        UsageError if a file of a model's weights has changed, and ValueError for an input that no
        file can hold.
        """
        task = question.task
        name = folders.folder_name(task.case) if at_its_opset else folders.task_folder_name(task)
        folder = self.folder / name
        try:
            if folder.exists():
                shutil.rmtree(folder)
            try:
                proto = model_of(task)
            except NotSupported:
                proto = None
            folders.write_question(folder, proto, task, question.inputs)
            status = _write_answer(folder / folders.DATA_SET, task, outcome)
            if status:
                # Outputs before one that cannot be saved would contradict the status.
                for output in (folder / folders.DATA_SET).glob("output_*"):
                    output.unlink()
                folders.write_status(folder, *status)
        except OSError as error:
            message = f"outputs cannot be saved in {self.folder}: {error.strerror or error}"
            raise BackendUnavailable(message) from error


def write_questions(folder: Path, cases: Iterable[Case]) -> int:
    """Write each case's model and inputs, and those of its legal twin; return how many folders.

    Models that ONNX cannot state, or DirectML's page leaves open, are left out. Raises UsageError
    if `folder` holds anything but questions written before, for a case whose data cannot be made,
    and if a file of a model's weights has changed; Unwritable if the folder cannot be emptied, or a
    file cannot be written; ValueError for an input that no file can hold.
    """
    begin(folder, None)
    count = 0
    for case in cases:
        try:
            asked = question(case)
        except ValueError as error:
            raise UsageError(f"{case.id}: {error}") from None
        for to_write in filter(None, (asked, asked.twin)):
            with suppress(NotSupported), writing(folder):
                place = folder / folders.folder_name(to_write.task.case)
                folders.write_question(
                    place, model_of(to_write.task), to_write.task, to_write.inputs
                )
                count += 1
    return count


@contextmanager
def staged(folder: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Make a temporary folder; the context is this, and a function that moves it to `folder`.

    The function replaces what is at `folder`, or leaves it if anything goes wrong, Ctrl-C included.
    If it is not called, the temporary folder, which lies next to that place, is removed. Raises
    Unwritable if a file cannot be written, in the block too.
    """
    place = folder.resolve()

    def put() -> None:
        """Rename the temporary folder to `folder`, after what was there is moved away."""
        old = beside / "old"
        try:
            if place.exists():
                place.rename(old)
            stage.rename(place)
        except BaseException:  # also Ctrl-C: the old folder comes back
            if old.exists() and not place.exists():
                old.rename(place)
            raise

    with writing(folder):
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(".part", f".{place.name}.", place.parent, True) as name:
            beside = Path(name)
            stage = beside / "new"
            stage.mkdir()
            yield stage, put


def is_free(folder: Path) -> bool:
    """Return True if nothing is at `folder`, or it is an empty folder.

    Raises UsageError for a file, a dead link, and a folder that cannot be read.
    """
    try:
        if not folder.exists() and not folder.is_symlink():
            return True
        if not folder.is_dir():
            raise UsageError(f"-o {folder}: this is no folder")
        return not any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"-o {folder}: {error.strerror}") from None


def check_foreign(folder: Path, known: Callable[[str], object]) -> None:
    """Raise UsageError for links below `folder`, and for files that opcheck did not write.

    `known` returns a true value for the path of one that it wrote, relative to `folder` and with
    slashes. Raises UsageError for a folder that cannot be read, too.
    """
    foreign = []
    try:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink() or not (path.is_dir() or known(name)):
                foreign.append(name)
    except OSError as error:
        raise UsageError(f"-o {folder}: {error.strerror}") from None
    if foreign:
        message = f"{folder} holds what opcheck did not write: {few(foreign, 3)}"
        raise UsageError(message, "nothing is removed: move it away, or choose a new folder")

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto

from opcheck.backends import attempt
from opcheck.backends.adapters.cmd import Tail, how_it_died, last_lines
from opcheck.backends.base import Backend, Defect, ProcessDied
from opcheck.backends.connect import connect
from opcheck.errors import BackendUnavailable
from opcheck.graph import model_of
from opcheck.model import Crashed, Declined, NotRun, Outcome, Produced, Question, Raised, Task
from tests.asking import task_of, wait_until
from tests.backends.runners.programs import SAME, X, persistent
from tests.expecting import error_of, of_type
from tests.wording import Wording

pytestmark = pytest.mark.usefixtures("scratch")
RUN = "message if request['do'] == 'prepare' else "


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    """A function that starts a program; all are ended after the test."""
    found: list[Backend] = []

    def start(text: str) -> Backend:
        backend = connect(f"cmd:{persistent(tmp_path / str(len(found)), text)}")
        found.append(backend)
        return backend

    yield start
    for backend in found:
        backend.prepare.__self__.close()


def asked(backend: Backend, task: Task = SAME, x: Any = X) -> Outcome:
    return attempt(backend, Question(task, (x,), (x[::-1].copy(),), second_is_legal=True))


def output_of(outcome: Outcome) -> Any:
    assert isinstance(outcome, Produced), outcome
    assert outcome.unstable is None
    return outcome.outputs[0]


def serving(change: str) -> str:
    """A program whose replies are what this expression makes of `request` and `message`."""
    return f"hello()\nserve(lambda request, message: {change})"


def test_it_is_started_once_and_asked_any_number_of_times(started: Any) -> None:
    backend = started("hello(); say('started'); serve()")
    assert (backend.info.kind, backend.info.version) == ("cmd", "tiny 0.1")
    assert backend.info.repeatable
    for _ in range(2):
        outcome = asked(backend)
        assert not isinstance(outcome, Produced) or not outcome.once
        assert output_of(outcome).tobytes() == X.tobytes()


def test_its_standard_error_goes_where_ours_goes(started, capfd):
    backend = started("hello(); say('started'); serve()")
    output_of(asked(backend))
    backend.prepare.__self__.close()
    assert capfd.readouterr().err == "started\n"


def test_bfloat16_goes_in_and_comes_out_bit_for_bit(started: Any) -> None:
    x = np.array([0x0001, 0x8000, 0x7F80, 0x3F81], np.uint16).view(ml_dtypes.bfloat16)
    found = output_of(asked(started("hello(); serve()"), task_of("Identity", 13, {}, x), x))
    assert (found.dtype, found.tobytes()) == (x.dtype, x.tobytes())


def test_it_is_told_the_model_as_a_file_and_as_bytes(
    started: Any, tmp_path: Path, wording: Wording
) -> None:
    log = tmp_path / "log"
    text = f"""
        import base64
        hello()
        for line in sys.stdin:
            request = json.loads(line)
            if request["do"] == "prepare":
                data = open(request["model"], "rb").read()
                assert data == base64.b64decode(request.pop("bytes"))
                open({str(log)!r}, "wb").write(data)
                del request["model"]
                say(json.dumps(request))
                reply(id=request["id"], error=json.dumps(request))
    """
    assert of_type(Raised, asked(started(text))).detail == (wording)
    assert ModelProto.FromString(log.read_bytes()) == model_of(SAME)


def test_it_has_one_model_at_a_time_and_each_is_given_again_when_it_is_run(started: Any) -> None:
    text = """
        hello()
        for line in sys.stdin:
            request = json.loads(line)
            if request["do"] == "prepare":
                op = request["op"]
                assert len(os.listdir(os.path.dirname(request["model"]))) == 1
                reply(id=request["id"], ready=True)
            else:
                message = answers(request)
                reply(id=request["id"], **(
                    {"outputs": message["outputs"]} if op == "Identity" else {"unsupported": op}
                ))
    """
    backend = started(text)
    one = backend.prepare(SAME)
    backend.prepare(task_of("Softmax", 13, {}, X))
    (found,) = one.run([X])
    assert found.tobytes() == X.tobytes()


def test_a_new_program_is_given_the_model_that_its_predecessor_had(started, tmp_path):
    flag = str(tmp_path / "flag")
    backend = started(
        f"""
        hello()
        op = None
        for line in sys.stdin:
            request = json.loads(line)
            op = request.get("op", op)
            if request["do"] == "run" and not os.path.exists({flag!r}):
                open({flag!r}, "w").close()
                os._exit(1)
            reply(**answers(request) if op else {{"id": request["id"], "error": "no model"}})
        """
    )
    prepared = backend.prepare(SAME)
    with pytest.raises(ProcessDied):
        prepared.run([X])
    (found,) = prepared.run([X])
    assert found.tobytes() == X.tobytes()


def test_a_bug_in_building_the_model_is_no_refusal(started, monkeypatch):
    backend = started("hello(); serve()")
    monkeypatch.setattr("opcheck.backends.adapters.cmd.model_of", lambda _: [][0])
    with pytest.raises(Defect, match="IndexError"):
        asked(backend)


@pytest.mark.parametrize("do", ["prepare", "run"])
@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("unsupported", Declined("no kernel")),
        ("unavailable", NotRun("no kernel")),
        ("error", Raised("", "CommandFailed", "no kernel", True)),
    ],
)
def test_it_may_say_so_at_either_request_and_goes_on(started, do, kind, outcome):
    message = f"{{'id': request['id'], {kind!r}: ' no kernel '}}"
    backend = started(serving(f"{message} if request['do'] == {do!r} else message"))
    if isinstance(outcome, Raised):
        outcome = Raised(do, outcome.kind, outcome.detail, outcome.documented)
    first = backend.prepare.__self__.close
    assert asked(backend) == outcome
    assert asked(backend) == outcome
    assert first.alive


def test_a_kind_without_words_is_named(started: Any) -> None:
    backend = started(serving("{'id': request['id'], 'unsupported': ''}"))
    assert asked(backend) == Declined("unsupported, without a reason")


@pytest.mark.parametrize(
    "change",
    [
        "print('banner') or message",
        "{**message, 'id': request['id'] - 1}",
        "{'id': request['id'], 'ready': 1}",
        "{'id': request['id'], 'ready': True, 'outputs': []}",
    ],
)
def test_a_reply_that_is_none_is_told(started: Any, change: str, wording: Wording) -> None:
    outcome = of_type(Raised, asked(started(serving(change))))
    assert (outcome.stage, outcome.kind, outcome.documented) == ("prepare", "BrokenProtocol", False)
    assert outcome.detail == wording


@pytest.mark.parametrize(
    "outputs",
    [
        "None",
        "[1]",
        "[{**message['outputs'][0], 'dtype': 'f32'}]",
        "[{**message['outputs'][0], 'name': 'z'}]",
    ],
)
def test_outputs_that_are_none_are_told(started: Any, outputs: str, wording: Wording) -> None:
    outcome = asked(started(serving(f"{RUN}{{'id': request['id'], 'outputs': {outputs}}}")))
    assert isinstance(outcome, Raised)
    assert (outcome.stage, outcome.kind) == ("run", "BrokenProtocol")
    assert outcome.detail == wording


def test_a_wrong_number_of_outputs_is_for_the_judge(started: Any) -> None:
    backend = started(serving(f"{RUN}{{'id': request['id'], 'outputs': message['outputs'] * 2}}"))
    assert len(of_type(Produced, asked(backend)).outputs) == 2


def test_who_has_lost_the_thread_is_ended_and_started_anew(
    started: Any, tmp_path: Path, wording: Wording
) -> None:
    # One reply too many is no answer to the next question.
    flag = str(tmp_path / "flag")
    backend = started(
        f"""
        hello()
        def twice(request, message):
            if not os.path.exists({flag!r}):
                open({flag!r}, "w").close()
                reply(**message)
            return message
        serve(twice)
        """
    )
    first = backend.prepare.__self__.close
    assert of_type(Raised, asked(backend)).detail == wording
    assert output_of(asked(backend)).tobytes() == X.tobytes()
    assert not first.alive


DIES = """
    hello()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "run":
            {}
        reply(**answers(request))
"""


@pytest.mark.parametrize(
    ("act", "how"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("os._exit(139)", "killed by SIGSEGV, says exit status 139"),
        ("sys.exit(0)", "exited with status 0"),
        ("sys.exit(77)", "exited with status 77"),
    ],
)
def test_a_program_that_dies_has_crashed_and_the_next_case_finds_a_new_one(started, act, how):
    backend = started(DIES.format(act))
    for _ in range(2):
        assert asked(backend) == Crashed(how)


def test_half_a_line_is_the_end_of_it(started: Any) -> None:
    act = "print('{\"id\"', end='', flush=True); os._exit(3)"
    assert "no JSON object: '{\"id\"'" in of_type(Raised, asked(started(DIES.format(act)))).detail


def test_a_program_that_closes_its_output_has_not_answered(started, monkeypatch):
    monkeypatch.setattr("opcheck.backends.adapters.cmd._PATIENCE", 0.1)
    backend = started(DIES.format("os.close(1); time.sleep(600)"))
    assert asked(backend) == Crashed("it closed its standard input or output, and runs on")


def pid_of(backend: Backend) -> int:
    return backend.prepare.__self__._process.pid


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_ends_when_its_input_does_and_its_files_go(started: Any, scratch: Path) -> None:
    backend = started("hello(); serve()")
    output_of(asked(backend))
    pid = pid_of(backend)
    assert [*scratch.iterdir()]
    backend.prepare.__self__.close()
    assert gone(pid)
    assert not [*scratch.iterdir()]


def test_one_that_does_not_listen_is_killed(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opcheck.backends.adapters.cmd._PATIENCE", 0.1)
    backend = started("hello()\nwhile True: time.sleep(600)")
    pid = pid_of(backend)
    backend.prepare.__self__.close()
    assert gone(pid)


def test_nothing_is_left_when_nobody_needs_it(started: Any, tmp_path: Path, scratch: Path) -> None:
    backend = connect(f"cmd:{persistent(tmp_path / 'p', 'hello(); serve()')}")
    pid = pid_of(backend)
    del backend
    wait_until(lambda: gone(pid), 10)
    assert not [*scratch.iterdir()]


@pytest.mark.parametrize(
    "text",
    [
        "print('usage: program [options]')",
        "sys.exit(2)",
        "os.abort()",
        "hello(opcheck=2)",
    ],
)
def test_a_program_that_says_no_hello_cannot_be_used(tmp_path, scratch, text, wording):
    error = error_of(BackendUnavailable, connect, f"cmd:{persistent(tmp_path, text)}")
    assert "says no hello: " in error.message
    assert error.message == wording
    assert "{model}" in str(error.hint)
    assert not [*scratch.iterdir()]


def test_one_that_cannot_be_started_again_was_not_run(
    started: Any, tmp_path: Path, wording: Wording
) -> None:
    flag = str(tmp_path / "flag")
    backend = started(
        f"if os.path.exists({flag!r}): sys.exit('the device is gone')\n"
        f"open({flag!r}, 'w').close()\nhello()\nos._exit(1)"
    )
    assert asked(backend) == Crashed("exited with status 1")
    assert of_type(NotRun, asked(backend)).reason == wording
    Path(flag).unlink()


@pytest.mark.parametrize("status", [0, 1, 2, 77, 99, 126, 127, 128, 160, 255])
def test_a_program_that_chose_its_status_ended_by_itself(status: int) -> None:
    assert how_it_died(status) is None


@pytest.mark.parametrize(
    "status",
    [
        -11,
        -6,
        139,
        134,
        -200,
    ],
)
def test_a_program_that_was_killed_did_not(status: int, wording: Wording) -> None:
    assert how_it_died(status) == wording


def tail_of(data: bytes) -> str:
    read, write = os.pipe()
    tail = Tail(os.fdopen(read, "rb", buffering=0))
    with os.fdopen(write, "wb") as file:
        file.write(data)
    return tail.text()


def test_what_is_printed_is_read_to_its_end_and_its_end_is_kept() -> None:
    assert tail_of(b"") == ""
    assert tail_of(b"\xff one\n two \n") == "\ufffd one\n two"
    found = tail_of(b"x" * 300_000 + b"the end")
    assert found.endswith("xthe end")
    assert len(found) == 8192


def test_colours_are_no_words() -> None:
    assert tail_of(b"\x1b[0;93mwarning\x1b[m: no") == "warning: no"


def test_nobody_waits_for_a_pipe_that_a_child_keeps_open() -> None:
    read, write = os.pipe()
    tail = Tail(os.fdopen(read, "rb", buffering=0))
    os.write(write, b"my last words")
    begun = monotonic()
    assert tail.text() == "my last words"
    assert monotonic() - begun < 10
    os.close(write)


def test_a_reason_is_the_last_lines(wording: Wording) -> None:
    assert last_lines("one\ntwo") == "one\ntwo"
    assert last_lines("\n".join("abcdefgh")) == wording
    assert last_lines("x" * 5000) == "…" + "x" * 1000

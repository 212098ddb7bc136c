"""What is seen of a backend: plain copies and plain words, and nothing compared yet."""

import numpy as np
import pytest

from opcheck.backends.base import Defect, own_part
from opcheck.backends.execute import MAX_DETAIL, execute, message_of
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Declared, Foreign, Question
from tests.asking import task_of
from tests.miniatures import Fake, answering, in_turn, refusing

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
ASKED = Question(task_of("Hardmax", 13, {"axis": -1}, X), (X,), (-X,), second_is_legal=True)


class Odd(BaseException):
    pass


class Mute(Exception):
    def __init__(self, error):
        self.error = error

    def __str__(self):
        raise self.error


class Endless(str):
    def strip(self, *_):
        return self

    def __len__(self):
        raise KeyboardInterrupt


class Evasive(Exception):
    def __str__(self):
        return Endless("x")


class Own(np.ndarray):
    pass


ERRORS = [KeyboardInterrupt("!"), SystemExit(0), GeneratorExit(), Odd(), RecursionError()]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_in_a_process_of_its_own_no_exception_of_a_backend_is_anybody_elses(error):
    backends = {
        "prepare": refusing(error),
        "run": refusing(error, "run"),
        "second run": in_turn([X], error),
        "third run": in_turn([X], [X], error),
    }
    for stage, backend in backends.items():
        seen = execute(backend, ASKED, alone=True)
        assert seen.stage == stage
        signal = "SystemExit" if isinstance(error, SystemExit) else "BaseException"
        assert (seen.exit.signal, seen.exit.kind) == (signal, type(error).__name__)


def test_elsewhere_an_interrupt_is_the_users():
    with pytest.raises(KeyboardInterrupt):
        execute(refusing(KeyboardInterrupt()), ASKED)


@pytest.mark.parametrize("error", [*ERRORS, ValueError(), MemoryError()], ids=repr)
def test_an_exception_that_cannot_be_read_is_told_all_the_same(error, wording):
    assert message_of(Mute(error)) == wording
    assert execute(refusing(Mute(error)), ASKED, alone=True).exit.kind == "Mute"
    speechless = type("Speechless", (Exception,), {"__str__": lambda _: 3})()
    assert message_of(speechless) == wording


def test_a_message_becomes_plain_text():
    assert message_of(Evasive()) == "x"
    assert type(message_of(Evasive())) is str


def test_a_long_message_is_cut():
    text = message_of(ValueError("  " + "x" * 1_000_000))
    assert text == "x" * MAX_DETAIL + " … (1000000 characters)"
    assert message_of(ValueError("y" * MAX_DETAIL)) == "y" * MAX_DETAIL


def test_what_is_seen_is_a_copy_made_at_once():
    kept = X.copy()

    def run(inputs):
        kept[...] += 1
        return [kept]

    seen = execute(answering(run), ASKED)
    for copies, more in [(seen.first, 1), (seen.between, 2), (seen.kept, 2), (seen.again, 3)]:
        [copy] = copies
        assert np.array_equal(copy, X + more)
        assert not np.shares_memory(copy, kept)


@pytest.mark.parametrize(
    "value",
    [
        *(X.T, X[:, ::2], X[:, ::-1], X.view(Own), X[0, 0], X[0, 0, ...]),
        *(np.broadcast_to(np.float32(1), (2, 3)), X.astype(">f4"), np.zeros((0, 3), np.float32)),
    ],
)
def test_an_array_is_copied_as_a_plain_one_in_order(value):
    # An array alone is one output.
    for answer in ([value], value):
        [copy] = execute(answering(lambda _, answer=answer: answer), ASKED).first
        assert type(copy) is np.ndarray
        assert copy.flags.c_contiguous
        assert (copy.dtype, copy.shape) == (value.dtype, value.shape)
        assert np.array_equal(copy, np.asarray(value))
        assert not np.shares_memory(copy, value)


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (None, ["builtins.NoneType"]),
        (X.tolist(), ["builtins.list", "builtins.list"]),
        ({"output": X}, ["builtins.dict"]),
        ([X.astype(object)], ["array of Python objects"]),
        ([np.ma.masked_array(X)], ["numpy.ma.MaskedArray"]),
        ([1.5, "x"], ["builtins.float", "builtins.str"]),
        ([None], ["builtins.NoneType"]),
        ("text", ["builtins.str"]),
        ([], []),
        ([0] * 1_000_000, ["list of 1,000,000 values"]),
        ([type("x" * 5000, (), {"__module__": "m"})()], [f"m.{'x' * (MAX_DETAIL - 2)}"]),
    ],
)
def test_what_is_no_array_is_told_by_what_it_is(answer, seen):
    assert execute(answering(lambda _: answer), ASKED).first == tuple(map(Foreign, seen))


def test_inputs_are_seen_as_each_run_left_them():
    def run(inputs):
        inputs[0][0, 0] += 100
        return [X]

    assert [array[0, 0] for (array,) in execute(answering(run), ASKED).fed] == [101, 99, 101]
    assert X[0, 0] == 1


class Declares:
    """A prepared task that answers `X`, and declares anything of it."""

    def __init__(self, said):
        self.said = said

    def run(self, inputs):
        return [X]

    def declared(self):
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def declaring(said):
    class Backend(Fake):
        def prepare(self, task):
            return Declares(said)

    return execute(Backend(lambda _: None), ASKED)


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ([("float32", (2, 3))], [Declared("float32", (2, 3))]),
        ([(None, [2, 3]), (None, None)], [Declared(None, (2, 3)), Declared(None, None)]),
        (
            (["bfloat16", ["N", None, -1, 2.0, True, 0]],),
            [Declared("bfloat16", (None,) * 5 + (0,))],
        ),
        ([], []),
    ],
)
def test_what_is_declared_of_outputs_is_seen(said, seen):
    assert declaring(said).declared == tuple(seen)
    assert declaring(said).exit is None


@pytest.mark.parametrize(
    "said",
    [None, 7, [7], ["f"], [("f32", (2, 3))], [(np.float32, (2, 3))], [(None, 7)], [(None, "23")]],
)
def test_a_declaration_that_makes_no_sense_is_an_answer_that_cannot_be_used(said, wording):
    exit = declaring(said).exit
    assert (exit.signal, exit.kind) == ("UnusableAnswer", "UnusableAnswer")
    assert exit.detail == wording


def test_what_goes_wrong_in_declaring_is_the_backends():
    assert declaring(ValueError("no")).exit.kind == "ValueError"


@pytest.mark.parametrize("error", [AssertionError(), ImportError(), ValueError("bad"), KeyError(1)])
def test_whatever_fails_in_our_own_part_is_a_defect(error: Exception) -> None:
    with pytest.raises(Defect, match=f"^{type(error).__name__}: ") as caught, own_part():
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [InvalidNode("axis 7"), NotSupported("no kernel")])
def test_what_is_said_about_the_node_is_none(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, own_part():
        raise error
    assert caught.value is error


def test_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt), own_part():
        raise KeyboardInterrupt

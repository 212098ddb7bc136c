"""Questions and answers go over the wire bit by bit, and what makes no sense is found out."""

import json
import os
import socket
import struct
import tempfile
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection

import ml_dtypes
import numpy as np
import pytest

from opcheck.backends.execute import CallFailure, Observed
from opcheck.backends.isolation import wire
from opcheck.dtypes import DTYPES
from opcheck.model import Declared, Foreign, Items, Question
from opcheck.model.question import Ready
from tests.asking import task_of
from tests.expecting import error_of

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
ARRAYS = [
    X,
    X.T,
    X[:, ::-2],
    X[0, 0, ...],
    np.zeros((0, 3), np.float16),
    np.array([np.nan, -0.0, np.inf]),
    np.array([True, False]),
    np.array([2**63], np.uint64),
    X.astype(ml_dtypes.bfloat16),
    X.astype(ml_dtypes.bfloat16)[:0],
]


def question_of(*arrays) -> Question:
    task = task_of("Hardmax", 13, {"axis": -1}, X)
    task = replace(task, initializers={"shape": np.array([1, 2]), "ratio": np.float16(0.5)[...]})
    second = tuple(array.copy() for array in arrays)
    return Question(task, arrays, second, second_is_legal=False, timeout=1.5)


def received(parts):
    return [bytearray(memoryview(part).cast("B")) for part in parts]


def same(one, other) -> bool:
    """Bit for bit; dtype and shape too."""
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_a_question_arrives_as_it_was():
    twin = question_of(X)  # which is asked by itself
    asked = replace(question_of(*ARRAYS), twin=twin)
    got = wire.read_question(received(wire.question_parts(asked)))
    assert replace(got.task, initializers={}) != got.task
    assert {**vars(got.task), "initializers": 0} == {**vars(asked.task), "initializers": 0}
    # Element types are compared by identity here and there.
    assert got.task.inputs[0].dtype is DTYPES["float32"]
    assert (got.second_is_legal, got.timeout, got.twin) == (False, 1.5, None)
    for pair in zip(got.inputs + got.second, asked.inputs + asked.second, strict=True):
        assert same(*pair)
    assert got.task.initializers.keys() == asked.task.initializers.keys()
    for name, array in got.task.initializers.items():
        assert same(array, asked.task.initializers[name])


def test_a_backend_may_do_with_its_data_what_it_likes():
    got = wire.read_question(received(wire.question_parts(question_of(*ARRAYS))))
    for array in (*got.inputs, *got.second, *got.task.initializers.values()):
        assert array.flags.writeable
        assert array.flags.aligned
        assert array.flags.c_contiguous


def answer_of(*arrays, **changes) -> Observed:
    copies = tuple(array.copy() for array in arrays)
    seen = Observed("third run", None, 0.25, arrays, copies[::-1], copies, copies, (copies,) * 3)
    return replace(seen, printed="printed \ud800 \x00 ü", peak=7, **changes)


def returned(answer: Observed, asked: Question) -> Observed:
    given = (*asked.inputs, *asked.second)
    found = wire.read_answer(Observed, received(wire.answer_parts(answer, given)), given)
    assert isinstance(found, Observed)
    return found


def test_an_answer_arrives_as_it_was():
    told = answer_of(*ARRAYS)
    got = returned(told, question_of(*ARRAYS))
    assert (got.printed, got.peak) == (told.printed, told.peak)
    assert (got.stage, got.exit, got.seconds) == ("third run", None, 0.25)
    for name in ("first", "between", "kept", "again"):
        for pair in zip(getattr(got, name), getattr(told, name), strict=True):
            assert same(*pair)
    for run, original in zip(got.fed, told.fed, strict=True):
        assert all(same(*pair) for pair in zip(run, original, strict=True))


@pytest.mark.parametrize(
    ("one", "other"), [(X, X + 1), (X, X.view("i4")), (np.arange(900), np.r_[:899, 0])]
)
def test_what_changed_arrives_changed(one, other):
    declared = (Declared("float32", (2, None)), Declared(None, None))
    changed = {"kept": (other,), "again": (one[:1],), "fed": ((other,),), "declared": declared}
    got = returned(answer_of(one, **changed), question_of(one))
    assert got.declared == declared
    assert same(got.first[0], one)
    assert same(got.kept[0], other)
    assert same(got.again[0], one[:1])
    assert same(got.fed[0][0], other)


@pytest.mark.parametrize(
    "value",
    [
        np.array(["text"]),
        np.array(["2020-01-01"], "M8[ns]"),
        np.zeros(3, [("re", "f4"), ("im", "f4")]).view("V8"),
        np.zeros(2, "V0"),
        X.astype(">f4"),
        X.astype(np.complex64),
        X.astype(ml_dtypes.float8_e4m3fn),
        X.astype(ml_dtypes.int4),
        np.array([1.5], np.longdouble),
    ],
)
def test_elements_of_types_that_no_operator_has_arrive_too(value):
    got = returned(answer_of(value), question_of(value))
    assert same(got.first[0], value)
    assert same(got.again[0], value)


def test_outputs_may_differ_in_number_and_in_what_they_are():
    more = (X, Foreign("a list"), X[0])
    got = returned(answer_of(X, between=(), kept=more, again=more), question_of(X))
    assert (len(got.first), got.between, got.kept[1]) == (1, (), Foreign("a list"))
    assert same(got.again[2], X[0])


def test_a_list_of_arrays_arrives_with_what_it_is():
    value = Items("list of 2 arrays", (X, X + 1))
    [got] = returned(answer_of(X, first=(value,)), question_of(X)).first
    assert got.description == value.description
    assert all(same(*pair) for pair in zip(got.values, value.values, strict=True))


def test_what_came_before_is_sent_once():
    asked, large = question_of(X), np.arange(9000)
    told = answer_of(large, fed=((X,), (X,), (X,)))
    parts = wire.answer_parts(told, (*asked.inputs, *asked.second))
    assert [memoryview(part).nbytes for part in parts[1:]] == [large.nbytes]


def test_a_failure_arrives_with_its_stage():
    failure = CallFailure("MemoryError", "MemoryError", "no room \ud800", documented=True)
    got = returned(Observed("feed", failure), question_of(X))
    assert (got.stage, got.exit, got.first) == ("feed", failure, None)


RECORD = {
    "stage": "third run",
    "exit": None,
    "seconds": 0.0,
    "first": [{"@": ["<f4", [2, 3], 1]}],
    "between": None,
    "kept": [{"@": 0}],
    "again": [{"@": 0}],
    "fed": [],
    "declared": [],
}


def read(record) -> Observed:
    return wire.read_answer(Observed, received([json.dumps(record).encode(), X.tobytes()]))


def test_a_record_by_hand_is_read():
    assert same(read(RECORD).kept[0], X)


@pytest.mark.parametrize(
    "change",
    [
        {"kept": [{"@": 5}]},
        {"again": 5},
        {"fed": [[None]]},
        {"fed": [[{"@": "a list"}]]},
        {"stage": "another"},
        {"seconds": "soon"},
        {"seconds": -1.0},
        {"minutes": 1.0},
        {"exit": {"kind": "X"}},
        {"exit": 3},
        {"first": [{"@": ["<f4", [2, 4], 1]}]},
        {"first": [{"@": ["<f4", [-2, -3], 1]}]},
        {"first": [{"@": ["<f4", "ab", 1]}]},
        {"first": [{"@": ["O", [3], 1]}]},
        {"first": [{"@": ["finfo", [3], 1]}]},
        {"first": [{"@": ["<f4", [2, 3], 2]}]},
        {"first": [{"@": [["a", 3], [2]]}]},
        {"first": [{}]},
        {"first": [None]},
        {"declared": None},
        {"declared": [{"dtype": None, "shape": "23"}]},
    ],
)
def test_a_record_that_makes_no_sense_is_damaged(change):
    said = str(error_of(wire.Damaged, read, {**RECORD, **change}))
    # It is the reason of a verdict: one line, which names no library.
    assert len(said.splitlines()) == 1
    assert "pydantic" not in said


@pytest.mark.parametrize("text", [b"", b"\xff", b"[" * 100_000, b"3", b"[]", b'"bug"'])
def test_what_is_no_record_is_damaged(text):
    error_of(wire.Damaged, wire.read_answer, Observed, [bytearray(text)])


def test_a_failure_of_the_worker_itself_arrives_in_place_of_any_answer():
    failure = wire.Failure("Traceback of it", "look there", usage=True)
    assert wire.read_answer(Ready, received(wire.answer_parts(failure))) == failure


SIZES = [0, 1, wire.INLINE - 8, wire.INLINE - 7, wire.INLINE, 3 << 20]


@pytest.fixture
def ends():
    """Both ends of a channel, and the socket of the second."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 200_000))
    with tempfile.TemporaryFile() as file:
        parent = wire.Channel(Connection(ours.detach()), file.fileno(), at_worker=False)
        worker = wire.Channel(Connection(os.dup(theirs.fileno())), file.fileno(), at_worker=True)
        yield parent, worker, theirs
        theirs.close()
        for end in (parent, worker):
            end.connection.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_message_of_any_size_arrives_as_it_was(ends, size):
    parent, worker, _ = ends
    blob = os.urandom(size)
    for number, parts in enumerate([[blob], [], [b"", blob, b"x"], [b"\0"] * 1000]):
        parent.send(number, parts)
        assert worker.receive() == (number, parts)
        worker.send(number, [blob, b"back"])
        assert parent.receive()[1] == [blob, b"back"]


def test_small_messages_do_not_wait_for_their_reader(ends):
    parent, worker, _ = ends
    for number in range(4):
        parent.send(number, [bytes([number]) * (wire.INLINE - 8)])
    for number in range(4):
        assert worker.receive()[1] == [bytes([number]) * (wire.INLINE - 8)]


@pytest.mark.parametrize("size", range(wire.INLINE - 40, wire.INLINE + 9, 8))
def test_it_is_known_before_what_goes_through_the_file(ends, size):
    parent, worker, _ = ends
    parts = [b"x" * (size - 2), b"y", b"z"]
    # A large message would lie in the file when another is sent.
    parent.send(1, parts)
    parent.send(2, [b"z" * (wire.INLINE + 1)])
    if wire.is_large(parts):
        assert size > wire.INLINE - 24
    else:
        assert worker.receive() == (1, parts)


def test_what_was_not_read_is_not_written_over(ends):
    parent, worker, _ = ends
    worker.send(1, [b"1" * 100_000])
    thread = threading.Thread(target=worker.send, args=(2, [b"2" * 90_000]))
    thread.start()
    time.sleep(0.1)
    assert thread.is_alive()
    assert parent.receive()[1] == [b"1" * 100_000]
    assert parent.receive()[1] == [b"2" * 90_000]
    thread.join()


def test_what_a_worker_is_at_work_on_is_noted_beside_the_messages(ends):
    parent, worker, _ = ends
    assert parent.at_work() == 0
    parent.send(7, [b"x" * 100_000])
    parent.send(8, [b"y"])
    assert worker.receive()[0] == 7
    worker.send(7, [b"x" * 100_000])
    assert parent.at_work() == 7
    assert parent.receive()[1] == [b"x" * 100_000]
    assert parent.at_work() == 7


def test_a_message_that_does_not_fit_is_left_and_the_next_one_comes(ends):
    parent, worker, _ = ends
    worker.send(1, [b"1" * 100_000])
    with pytest.raises(MemoryError, match="100,008 bytes"):
        parent.receive(lambda size: size < 100_000)
    worker.send(2, [b"2" * 90_000])
    assert parent.receive(lambda size: size < 100_000)[1] == [b"2" * 90_000]


def head(count: int, inline: bool, number: int = 0) -> bytes:
    return struct.pack("<qq?", number, count, inline)


def sizes(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"what is this?",
        head(1, inline=True),
        head(-1, inline=True),
        head(1 << 62, inline=True),
        head(1, inline=True) + sizes(5) + b"four",
        head(1, inline=True) + sizes(-1),
        head(2, inline=True) + sizes(1 << 62, 1 << 62),
        head(1, inline=False),
        head(1 << 62, inline=False),
        b"x" * (2 * wire.INLINE),
    ],
)
def test_garbage_is_damaged(ends, garbage):
    parent, worker, _ = ends
    worker.connection.send_bytes(garbage)
    error_of(wire.Damaged, parent.receive)


@pytest.mark.parametrize("told", [(1 << 62, 0), (-1, 0), (1 << 20, 0), (16, 1 << 40)])
def test_garbage_in_the_file_takes_no_memory(ends, told):
    parent, worker, _ = ends
    worker.send(1, [b"x" * 100_000, b"y"])
    os.pwrite(worker._file, sizes(*told), 16)
    error_of(wire.Damaged, parent.receive)


def test_a_file_that_is_cut_short_is_damaged_and_kills_nobody(ends):
    parent, worker, _ = ends
    worker.send(1, [b"x" * 100_000])
    os.ftruncate(worker._file, 50_000)
    error_of(wire.Damaged, parent.receive)


@pytest.mark.parametrize("part", [b"\0", b"\0\0\1\0", b"\0\0\1\0 only the beginning"])
def test_nobody_waits_for_the_rest_of_a_message(ends, part):
    parent, _, socket = ends
    socket.send(part)
    error_of(wire.Damaged, parent.receive)


def test_the_end_of_the_other_side_is_no_damage(ends):
    parent, worker, socket = ends
    worker.send(1, [b"the last"])
    parent.send(2, [b"which nobody reads"])
    worker.connection.close()
    socket.close()
    assert parent.receive()[1] == [b"the last"]
    for _ in range(2):
        # Linux says so once that something was not read.
        with pytest.raises((EOFError, ConnectionError)):
            parent.receive()
    for size in (1, 100_000):
        with pytest.raises(ConnectionError):
            parent.send(3, [bytes(size)])

"""Messages between parent and worker: whole, in order, or none."""

import os
import socket
import struct
import tempfile
import threading
import time
from multiprocessing.connection import Connection

import pytest

from opcheck.backends.isolation.wire import INLINE, Channel, Damaged

SIZES = [0, 1, INLINE - 8, INLINE - 7, INLINE, 3 << 20]


@pytest.fixture
def ends():
    """Both ends of a channel, and the socket of the second."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 200_000))
    with tempfile.TemporaryFile() as file:
        parent = Channel(Connection(ours.detach()), file.fileno(), at_worker=False)
        worker = Channel(Connection(os.dup(theirs.fileno())), file.fileno(), at_worker=True)
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
        parent.send(number, [bytes([number]) * (INLINE - 8)])
    for number in range(4):
        assert worker.receive()[1] == [bytes([number]) * (INLINE - 8)]


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
        b"x" * (2 * INLINE),
    ],
)
def test_garbage_is_damaged(ends, garbage):
    parent, worker, _ = ends
    worker.connection.send_bytes(garbage)
    with pytest.raises(Damaged):
        parent.receive()


@pytest.mark.parametrize("told", [(1 << 62, 0), (-1, 0), (1 << 20, 0), (16, 1 << 40)])
def test_garbage_in_the_file_takes_no_memory(ends, told):
    parent, worker, _ = ends
    worker.send(1, [b"x" * 100_000, b"y"])
    os.pwrite(worker._file, sizes(*told), 16)
    with pytest.raises(Damaged):
        parent.receive()


def test_a_file_that_is_cut_short_is_damaged_and_kills_nobody(ends):
    parent, worker, _ = ends
    worker.send(1, [b"x" * 100_000])
    os.ftruncate(worker._file, 50_000)
    with pytest.raises(Damaged):
        parent.receive()


@pytest.mark.parametrize("part", [b"\0", b"\0\0\1\0", b"\0\0\1\0 only the beginning"])
def test_nobody_waits_for_the_rest_of_a_message(ends, part):
    parent, _, socket = ends
    socket.send(part)
    with pytest.raises(Damaged):
        parent.receive()


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

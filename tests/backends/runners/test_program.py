import os
from time import monotonic

import pytest

from opcheck.backends.runners.one_shot import Tail, how_it_died, last_lines


@pytest.mark.parametrize("status", [0, 1, 2, 77, 99, 126, 127, 128, 160, 255])
def test_a_program_that_chose_its_status_ended_by_itself(status: int) -> None:
    assert how_it_died(status) is None


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (-11, "killed by SIGSEGV"),
        (-6, "killed by SIGABRT"),
        (139, "killed by SIGSEGV, says exit status 139"),
        (134, "killed by SIGABRT, says exit status 134"),
        (-200, "killed by signal 200"),
        (0xC0000005, "ended by Windows with 0xC0000005"),
    ],
)
def test_a_program_that_was_killed_did_not(status: int, told: str) -> None:
    assert how_it_died(status) == told


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


def test_a_reason_is_the_last_lines() -> None:
    assert last_lines("one\ntwo") == "one\ntwo"
    assert last_lines("\n".join("abcdefgh")) == "d\ne\nf\ng\nh"
    assert last_lines("x" * 5000) == "…" + "x" * 1000

"""Programs behind workers of their own: nothing of them is left, whatever they do."""

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.model import Case, Verdict
from tests.asking import cases_in
from tests.backends.runners.programs import one_shot, persistent
from tests.inline import judge_all

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")

THREE = """
    op: Identity
    opset: 13
    dtype: float32
    cases:
    - {name: before, inputs: {input: [1, 2]}, expect: {output: [1, 2]}, tolerance: {ulp: 0}}
    - {name: fatal, inputs: {input: [1, 2, 3]}, expect: {output: [1, 2, 3]}, tolerance: {ulp: 0}}
    - {name: after, inputs: {input: [3, 4]}, expect: {output: [3, 4]}, tolerance: {ulp: 0}}
"""

#: Leaves its number, so that it can be seen whether it is still there.
HANGS = "open({folder!r} + '/' + str(os.getpid()), 'w').close(); time.sleep(600)"


@pytest.fixture
def cases(tmp_path: Path) -> tuple[Case, ...]:
    return cases_in(tmp_path, THREE)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "hung").mkdir()
    return {"scratch": tmp_path / "scratch", "timeout": 3.0}


def verdicts(address: str, cases: tuple[Case, ...], settings: dict[str, Any]) -> list[Verdict]:
    pool = Pool(BackendSettings(f"cmd:{address}", **settings))
    try:
        pool.connected()
        return [result.verdict for result in judge_all(cases, [pool])]
    finally:
        pool.close()


def left(folder: Path) -> Iterator[int]:
    """The programs that are still there a moment later."""
    until = monotonic() + 10
    for file in (folder / "hung").iterdir():
        while _is_alive(int(file.name)):
            if monotonic() > until:
                yield int(file.name)
                break
            sleep(0.01)


def _is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.gate
def test_a_program_that_hangs_is_ended_with_its_files_and_the_others_go_on(
    tmp_path: Path, cases: tuple[Case, ...], settings: dict[str, Any]
) -> None:
    hangs = HANGS.format(folder=str(tmp_path / "hung"))
    # A message begins with its first size.
    text = f"if (inputs / 'input_0.pb').read_bytes()[1] == 3: {hangs}\nidentity()"
    found = verdicts(one_shot(tmp_path, text), cases, settings)
    assert found == [Verdict.PASS, Verdict.TIMEOUT, Verdict.PASS]
    assert not [*left(tmp_path)]
    assert not [*(tmp_path / "scratch").iterdir()]


def test_temporary_folders_are_where_the_worker_s_parent_removes_them(tmp_path, cases, settings):
    text = f"Path({str(tmp_path / 'seen')!r}).write_text(str(model)); identity()"
    assert verdicts(one_shot(tmp_path, text), cases[:1], settings) == [Verdict.PASS]
    assert Path((tmp_path / "seen").read_text()).is_relative_to(settings["scratch"])


@pytest.mark.gate
@pytest.mark.parametrize("act", ["hangs", "os._exit(0)"])
def test_a_program_asked_in_lines_is_replaced_where_it_hangs_or_ends(
    tmp_path: Path, cases: tuple[Case, ...], settings: dict[str, Any], act: str
) -> None:
    hangs = HANGS.format(folder=str(tmp_path / "hung"))
    text = f"""
        hello()
        for line in sys.stdin:
            request = json.loads(line)
            if request["do"] == "run" and request["inputs"][0]["shape"] == [3]:
                {hangs if act == "hangs" else act}
            reply(**answers(request))
    """
    found = verdicts(persistent(tmp_path, text), cases, settings)
    ended = Verdict.TIMEOUT if act == "hangs" else Verdict.CRASH
    assert found == [Verdict.PASS, ended, Verdict.PASS]
    assert not [*left(tmp_path)]
    assert not [*(tmp_path / "scratch").iterdir()]

"""The folder of a run, and the process that looks after it; see also `test_ends`."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from opcheck.backends.isolation import cleanup
from opcheck.backends.isolation.cleanup import SCRATCH
from opcheck.errors import BackendUnavailable
from tests.asking import wait_until


def guards():
    return [p for p in psutil.Process().children() if cleanup.__file__ in p.cmdline()]


def test_the_folder_and_its_guard_end_with_the_run(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with cleanup.guarded_folder() as folder:
        (folder / "left").write_text("behind")
        assert folder.parent == tmp_path
        wait_until(guards)  # a process has its own words only once it has begun
        assert len(guards()) == 1
    assert not list(tmp_path.iterdir())
    assert not guards()


def test_a_guard_without_its_process_ends_what_bears_its_mark_and_nothing_else(tmp_path):
    folder, other = tmp_path / "ours", tmp_path / "others"
    (folder / "worker").mkdir(parents=True)
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    marks = [str(folder / "worker"), str(other / "worker"), str(folder) + "more/worker"]
    sleepers = [subprocess.Popen(sleep, env={**os.environ, SCRATCH: mark}) for mark in marks]
    try:
        command = [sys.executable, "-I", "-S", cleanup.__file__, str(folder), *sys.path]
        watch = subprocess.Popen(command, stdin=subprocess.PIPE)
        time.sleep(0.3)
        assert [sleeper.poll() for sleeper in sleepers] == [None] * 3
        watch.communicate(timeout=30)
        assert sleepers[0].wait(timeout=30) == -9
        assert [sleeper.poll() for sleeper in sleepers[1:]] == [None] * 2
        assert list(tmp_path.iterdir()) == []
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()


def test_a_system_without_room_is_told(monkeypatch, tmp_path, wording):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(BackendUnavailable) as raised, cleanup.guarded_folder():
        pass
    # What stands behind it is of the system, with a folder of its own.
    assert str(raised.value).partition(": [Errno")[0] == wording

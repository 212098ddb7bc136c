"""A worker whose backend is not the run's backend is told apart from one whose backend is."""

from dataclasses import replace

import pytest

from opcheck.cluster import difference
from opcheck.model import BackendInfo

FIRST = BackendInfo("py:acme", "py", "1.2", made_of={"acme.py": "aaaa", "kernel.so": "bbbb"})


def test_the_same_backend_has_no_difference() -> None:
    assert difference(FIRST, replace(FIRST)) == ""


@pytest.mark.parametrize("file", ["acme.py", "kernel.so"])
def test_a_backend_with_another_file_differs_by_that_file(file: str) -> None:
    other = replace(FIRST, made_of={**FIRST.made_of, file: "cccc"})
    assert file in difference(FIRST, other)


def test_a_backend_of_another_version_differs() -> None:
    assert "1.3" in difference(FIRST, replace(FIRST, version="1.3"))


def test_a_file_that_only_one_of_them_names_is_no_difference() -> None:
    assert difference(FIRST, replace(FIRST, made_of={"acme.py": "aaaa"})) == ""

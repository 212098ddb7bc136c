import json

import jsonschema
import pytest


def test_the_schema_is_one_and_printed_as_ascii(run):
    found = run("schema", code=0)
    assert found.stdout.isascii()
    jsonschema.Draft202012Validator.check_schema(json.loads(found.stdout))


@pytest.mark.parametrize(
    ("op", "fields", "fits"),
    [
        ("Hardmax", {"inputs": {"input": [1]}}, True),
        ("Hardmax", {"inptus": {"input": [1]}}, False),
        ("Gemm", {"expect": {"oracle": "reference"}}, True),
        ("Gemm", {"expect": {"oracle": ""}}, False),
        ("Gemm", {"expect": {"oracle": "a", "agree": True}}, False),
        ("Gemm", {"expect": {"agree": True}}, True),
        ("Gemm", {"expect": {"agree": False}}, False),
    ],
)
def test_it_knows_the_keys_of_a_case_and_of_an_answer(run, op, fields, fits):
    schema = json.loads(run("schema").stdout)
    file = {"op": op, "cases": [{"name": "a", **fields}]}
    assert jsonschema.Draft202012Validator(schema).is_valid(file) is fits

import json

import jsonschema
import pytest


def test_the_schema_is_one_and_printed_as_ascii(run):
    found = run("schema", code=0)
    assert found.stdout.isascii()
    jsonschema.Draft202012Validator.check_schema(json.loads(found.stdout))


@pytest.mark.parametrize(("key", "fits"), [("inputs", True), ("inptus", False)])
def test_it_knows_the_keys_of_a_case(run, key, fits):
    schema = json.loads(run("schema").stdout)
    file = {"op": "Hardmax", "cases": [{"name": "a", key: {"input": [1]}}]}
    assert jsonschema.Draft202012Validator(schema).is_valid(file) is fits


@pytest.mark.parametrize(
    ("expect", "fits"),
    [
        ({"oracle": "reference"}, True),
        ({"oracle": ""}, False),
        ({"oracle": "a", "agree": True}, False),
        ({"agree": True}, True),
        ({"agree": False}, False),
    ],
)
def test_it_knows_answers_that_are_a_backend_s(run, expect, fits):
    schema = json.loads(run("schema").stdout)
    file = {"op": "Gemm", "cases": [{"name": "a", "expect": expect}]}
    assert jsonschema.Draft202012Validator(schema).is_valid(file) is fits

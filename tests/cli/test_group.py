import json
import re

import jsonschema
import pytest

import opcheck
from opcheck.cli.group import COMMANDS, program
from opcheck.cli.list import SCHEMAS
from opcheck.errors import Exit


def test_help_names_every_command_with_its_line(run):
    found = run("--help", code=0)
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in found.stdout
        assert line in found.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_s_line_is_how_its_own_help_begins(run, name):
    assert program.get_command(None, name).name == name
    line = run(name, "-h", code=0).stdout.splitlines()[2].strip()
    assert line.startswith(COMMANDS[name][1].rstrip(".").split(",")[0])


def test_every_exit_code_is_in_the_help(run):
    for words, others in ((["--help"], set()), (["run", "--help"], {Exit.SLOWER})):
        manual = " ".join(run(*words).stdout.split())
        codes = manual[manual.index("Exit codes:") :]
        for code in {*Exit} - others:
            assert f"{int(code)} " in codes


def test_the_version_is_the_package_s(run):
    assert run("--version").stdout == f"opcheck, version {opcheck.__version__}\n"


def test_no_command_is_greeted_with_commands_that_exist_and_is_no_success(run):
    found = run(code=2)
    named = {*re.findall(r"opcheck ([a-z]+) ", found.stdout)} - {"tests"}
    assert {"run", "new", "locate", "doctor"} <= named <= {*COMMANDS}


@pytest.mark.parametrize("words", [[], *([name] for name in SCHEMAS)])
def test_every_schema_is_one_and_printed_as_ascii(run, words):
    found = run("schema", *words, code=0)
    assert found.stdout.isascii()
    jsonschema.Draft202012Validator.check_schema(json.loads(found.stdout))


def test_an_unknown_format_has_no_schema(run):
    assert "'ledger'" in run("schema", "ledgers", code=2).stderr


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
    file = {"op": op, "cases": [{"name": "a", **fields}]}
    assert jsonschema.Draft202012Validator(json.loads(run("schema").stdout)).is_valid(file) is fits

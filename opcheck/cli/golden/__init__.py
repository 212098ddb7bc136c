"""`opcheck golden`, a group of commands."""

from __future__ import annotations

import click

from opcheck.cli.lazy import LazyGroup

#: Each is a module here with a function `command`.
COMMANDS = {
    "write": "Write cases with their right answers, as ONNX's test data.",
    "import": "Make a case file of tests in the layout of ONNX's test data.",
    "check": "Check such a folder: every file, every model, every answer.",
}


@click.group(name="golden", cls=LazyGroup, package="opcheck.cli.golden", lines=COMMANDS)
def command() -> None:
    """Write test data with the right answers in it, and check such files.

    \b
    opcheck golden write -o golden        the shipped suites, in the layout of ONNX's test data
    opcheck golden write my.yaml -o mine  my cases
    opcheck golden import node/test_gemm_alpha -o gemm.yaml      and the other way round
    opcheck golden check golden           is every file as it was written, and every answer right?
    """

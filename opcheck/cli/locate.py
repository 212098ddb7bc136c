"""`opcheck locate`."""

from pathlib import Path
from typing import Any

import click

from opcheck.cli import options
from opcheck.cli.options import OutputPath, declared, end, output
from opcheck.errors import Exit, UsageError


@click.command(name="locate")
@click.argument("path", type=click.Path(path_type=Path))
@options.backend_options
@options.dim_option
@declared(
    "-o --output folder DIR: Write the node there: a case file, and a script without opcheck.",
    folder={"type": OutputPath()},
)
def command(
    path: Path,
    addresses: tuple[str, ...],
    dims: dict[str, int],
    folder: Path | None,
    timeout: float | None,
    memory_limit: str | None,
) -> None:
    """Find the first node of a model that a backend computes wrongly.

    PATH is a model, or a folder of ONNX's test data with one. The backend is asked for the model
    with its tensors as outputs, and each node is judged on the backend's own inputs to it, so that
    no earlier error counts against it. If no node is wrong and the answer is, the backend computes
    some nodes together: the first of them is named. Nodes of operators that opcheck does not know
    are left out, and counted.

    \b
    opcheck locate model.onnx -b onnxruntime --dim batch=1
    opcheck locate model.onnx -b mine -o wrong    and write the node as a case
    opcheck locate tests/test_net -b mine         on the inputs of a test-data folder

    Exit codes: 0 no node and no answer is wrong, 1 some is, 2 wrong usage or model, 4 the backend
    could not be used, 5 nothing was judged.
    """
    from opcheck.execution.locate import Network, located
    from opcheck.execution.workers import Driver
    from opcheck.model import GRAPH
    from opcheck.report import located as report
    from opcheck.session import Session
    from opcheck.suite import load_all

    if len(addresses) != 1:
        raise UsageError(f"{len(addresses)} backends are named; locate takes one, as -b ADDRESS")
    case = load_all((path,), dims)[0]
    if case.op != GRAPH or not case.model:
        raise UsageError(f"{path} is no model of several nodes", "opcheck run judges one node")
    if case.beyond:
        raise UsageError(f"{path}: {case.beyond}")
    found: Any = None
    with Session(addresses, timeout=timeout, memory_limit=memory_limit) as session:
        session.connect()
        (backend,) = session.backends
        driver: Driver[int, Any] = Driver()
        driver.start(backend, located(Network(case), backend.info), 0)
        while driver.is_busy:
            found = next((one for _, one in driver.collect()), found)
    if found.wrong and folder is not None and found.wrong.node:
        report.write(folder, found.wrong, addresses[0])
    report.show(output(), found, backend.info, folder)
    if found.wrong or found.together or (found.whole and found.whole.failure):
        end(Exit.NONCONFORMING, "a node is wrong" if found.wrong else "the model's answer is wrong")
    if not found.judged:
        end(Exit.NOTHING_JUDGED, "no node was judged")
    end(Exit.CONFORMS, "no node is wrong")

"""`opcheck run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from opcheck.cli import interrupt
from opcheck.cli.options import chosen_cases, leave, selection_options
from opcheck.errors import OpcheckError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opcheck.backends import Backend
    from opcheck.model import Result


@click.command(name="run")
@selection_options
@click.option("-b", "--backend", "addresses", multiple=True, metavar="ADDRESS", help="Repeatable.")
@click.option("--strict", is_flag=True, help="A warning is a failure.")
@click.option("--no-known", is_flag=True, help="Judge the known defects of public backends too.")
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first failure.")
@click.option("--max-fail", type=click.IntRange(min=1), metavar="N", help="Stop after N failures.")
@click.option("-q", "--quiet", is_flag=True, help="No table for each failure, only the summary.")
@click.option("-v", "--verbose", is_flag=True, help="Warnings and known failures in full too.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["pretty", "json"]),
    default="pretty",
    help="json: a header, a line a result as it happens, a footer.",
)
def command(
    addresses: tuple[str, ...],
    strict: bool,
    no_known: bool,
    exitfirst: bool,
    max_fail: int | None,
    quiet: bool,
    verbose: bool,
    form: str,
    **selection: Any,
) -> None:
    """Judge backends by case files: every case on every backend.

    PATH is a case file or a folder of them; the shipped suites if there is none. ADDRESS is
    numpy (the built-in engine), reference (onnx.reference), onnxruntime, or
    onnxruntime:PROVIDER; without -b, the first three.

    \b
    opcheck run                                   the shipped suites on the default backends
    opcheck run --op Hardmax -b numpy             one operator, one backend
    opcheck run my.yaml -k 'ties and not nan' -x  some of my cases, until one fails
    opcheck run --format json > run.jsonl         a stream of JSON lines

    Ctrl-C ends the run after the case at hand; a second one ends it at once.

    Exit codes: 0 conforms, 1 something failed, 2 wrong usage or case file, 4 a backend or the
    output could not be used, 5 nothing was judged, 130 interrupted.
    """
    from opcheck.cli.output import JsonOutput, PrettyOutput, is_failure
    from opcheck.known import shipped_ledgers
    from opcheck.model import Header
    from opcheck.run import conduct, environment
    from opcheck.run.status import status

    cases, said = chosen_cases(**selection)
    backends = _connect(addresses)
    ledgers = () if no_known else shipped_ledgers()
    infos = tuple(backend.info for backend in backends)
    header = Header(environment(), infos, said, len(cases), not no_known, strict)
    output = JsonOutput(header) if form == "json" else PrettyOutput(header, quiet, verbose)
    most = 1 if exitfirst else max_fail
    results: list[Result] = []
    failures = 0
    stopped = False
    try:
        with output:
            for result in conduct(cases, backends, ledgers):
                results.append(result)
                output.add(result)
                failures += is_failure(result, strict=strict)
                stopped = interrupt.asked()
                if stopped or (most is not None and failures >= most):
                    break
    except KeyboardInterrupt:
        stopped = True
    complete = len(results) == len(cases) * len(backends)
    code, meaning = status(
        results,
        infos,
        strict=strict,
        interrupted=stopped and not complete,
        named=bool(addresses),
    )
    output.finish(results, complete, code, meaning)
    leave(code)


def _connect(addresses: Sequence[str]) -> list[Backend]:
    """The backends; every one that cannot be used is reported, and then none is."""
    from opcheck.backends import DEFAULT, connect

    addresses = addresses or DEFAULT
    found: list[Backend] = []
    spelt: dict[str, str] = {}
    failures: list[OpcheckError] = []
    for address in addresses:
        try:
            if addresses.count(address) > 1:
                raise UsageError(f"backend {address!r} is named twice")
            backend = connect(address)
            other = spelt.setdefault(backend.info.address, address)
            if other != address:
                raise UsageError(f"{other!r} and {address!r} name the same backend")
            found.append(backend)
            interrupt.safe_place()
        except OpcheckError as error:
            failures.append(error)
    if failures:
        # A wrong command line comes before a backend that is missing.
        worst = next((e for e in failures if isinstance(e, UsageError)), failures[0])
        lines = dict.fromkeys(line for error in failures for line in error.lines())
        raise type(worst)("\n".join(lines))
    return found

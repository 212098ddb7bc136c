"""The backends that cases name as their oracles: their processes, and who may be one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opcheck.cli.workers import chosen_backends, connect, raise_all, started
from opcheck.errors import OpcheckError, UsageError

if TYPE_CHECKING:
    from opcheck.backends.isolation.pool import Pool
    from opcheck.backends.isolation.slot import Settings
    from opcheck.model import Case


@contextmanager
def consulted(
    cases: Sequence[Case],
    given: Sequence[str],
    folder: Path,
    timeout: float | None,
    memory_limit: str | None,
    workers: int = 1,
) -> Iterator[dict[str, Pool]]:
    """The oracles of `cases`, connected, by the names that cases have for them.

    `given` are the backends that the command line names, which may be oracles whatever they are.
    """
    settings = _settings(cases, given, folder, timeout, memory_limit)
    with started([*settings.values()], workers) as pools:
        failures: list[OpcheckError] = []
        for address, pool in zip(settings, pools, strict=True):
            try:
                connect([pool])
            except OpcheckError as error:
                told = "\n".join([f"oracle {address!r}: {error.message}", *error.lines()[1:]])
                failures.append(type(error)(told))
        raise_all(failures)
        yield dict(zip(settings, pools, strict=True))


def check_company(cases: Sequence[Case], backends: int) -> None:
    """Raise UsageError where backends are to be compared with each other, and there is only one."""
    from opcheck.model import Agreement

    alone = [case for case in cases if isinstance(case.expect, Agreement)]
    if alone and backends < 2:
        more = f" and {len(alone) - 1:,} more" if len(alone) > 1 else ""
        raise UsageError(
            f"{alone[0].source}: {alone[0].id}{more}: expect.agree compares backends with each"
            " other, and there is only one",
            "name several, with -b each",
        )


def _settings(
    cases: Sequence[Case],
    given: Sequence[str],
    folder: Path,
    timeout: float | None,
    memory_limit: str | None,
) -> dict[str, Settings]:
    """How the oracles are treated; raises UsageError for every one that cannot be meant."""
    from opcheck.run.oracle import oracles_of

    found: dict[str, Settings] = {}
    failures: list[OpcheckError] = []
    for address, case in oracles_of(cases).items():
        try:
            (found[address],) = chosen_backends([address], folder, timeout, memory_limit)
            _check_trusted(found[address], address, given)
        except UsageError as error:
            failures.append(
                UsageError(f"{case.source}: expect.oracle: {error.message}", error.hint)
            )
    raise_all(failures)
    return found


def _check_trusted(settings: Settings, address: str, given: Sequence[str]) -> None:
    from opcheck.backends.address import CODE, parse

    is_profile = settings.name is not None
    if address not in given and not is_profile and parse(settings.address).kind in CODE:
        raise UsageError(
            f"{address!r} is code, which no case file may have run",
            "name it with -b too, or give it a name in opcheck.toml and state that",
        )

"""The backends of a run: their processes, started early and ended whatever happens."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from opcheck.backends.address import CODE, DEFAULT, memory, parse, profiles, resolve
from opcheck.backends.connect import IN_PROCESS
from opcheck.backends.isolation import pool
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.errors import OpcheckError, UsageError
from opcheck.known.checking import Facts
from opcheck.model import BackendInfo, Case, OpVersion

Item = TypeVar("Item")
Made = TypeVar("Made")

#: How many seconds a backend has for a case, where nobody says otherwise.
TIMEOUT = 30.0


@dataclass(frozen=True)
class Limits:
    """Limits of each process of a backend: seconds per case, memory such as "2GiB".

    None stands for what the backend's profile says, or else for 30 s and any memory.
    """

    timeout: float | None = None
    memory: str | None = None


def chosen_backends(
    addresses: Sequence[str], folder: Path, limits: Limits
) -> list[BackendSettings]:
    """Return the settings of the backends at `addresses`, or of the default ones.

    Raises UsageError for every address that names nothing, all at once.
    """
    limit = None if limits.memory is None else memory(limits.memory)
    known = profiles(Path.cwd())

    def settings(text: str) -> BackendSettings:
        if addresses.count(text) > 1:
            raise UsageError(f"backend {text!r} is named twice")
        profile = resolve(text, known)
        return BackendSettings(
            str(profile.address),
            folder,
            profile.environment,
            limits.timeout or profile.timeout or TIMEOUT,
            limit or profile.memory_limit,
            name=profile.name if profile.name in known else None,
        )

    return each(settings, addresses or DEFAULT)


@contextmanager
def started(settings: Sequence[BackendSettings], workers: int) -> Iterator[list[Pool]]:
    """The backends, being started."""
    pools: list[Pool] = []
    try:
        for one in settings:
            pools.append(pool.Pool(one, workers))
        yield pools
    finally:
        for begun in pools:
            begun.close()


def connect(pools: Sequence[Pool], meanwhile: Callable[[], None]) -> None:
    """Wait for all backends; every one that cannot be used is reported, and then none is.

    `meanwhile` is called now and then, and may raise to end the wait.
    """
    spelt: dict[str, Pool] = {}

    def connected(pool: Pool) -> None:
        info = pool.connected(meanwhile)
        other = spelt.setdefault(info.address, pool)
        if other is not pool:
            names = " and ".join(dict.fromkeys(repr(p.address) for p in (other, pool)))
            raise UsageError(f"{names} name the same backend, {info.address!r}")
        meanwhile()

    each(connected, pools)


def each(function: Callable[[Item], Made], items: Iterable[Item]) -> list[Made]:
    """Call a function on every item; raise what went wrong with any of them as one error."""
    made: list[Made] = []
    failures: list[OpcheckError] = []
    for item in items:
        try:
            made.append(function(item))
        except OpcheckError as error:
            failures.append(error)
    if failures:
        # A wrong command line comes before a backend that is missing.
        worst = next((e for e in failures if isinstance(e, UsageError)), failures[0])
        lines = dict.fromkeys(line for error in failures for line in error.lines())
        raise type(worst)("\n".join(lines))
    return made


@contextmanager
def consulted(
    cases: Sequence[Case],
    given: Sequence[str],
    folder: Path,
    limits: Limits,
    meanwhile: Callable[[], None],
    workers: int = 1,
) -> Iterator[dict[str, Pool]]:
    """The oracles of `cases`, connected, by the names that cases have for them.

    `given` are the backends that the user names, which may be oracles whatever they are.
    Raises UsageError for every oracle that cannot be meant.
    """
    from opcheck.execution.expected import oracles_of

    oracles = oracles_of(cases)

    def settings(address: str) -> BackendSettings:
        try:
            (one,) = chosen_backends([address], folder, limits)
            is_trusted = address in given or one.name is not None
            if not is_trusted and parse(one.address).kind in CODE:
                raise UsageError(
                    f"{address!r} is code, which no case file may have run",
                    "name it with -b too, or give it a name in opcheck.toml and state that",
                )
        except UsageError as error:
            message = f"{oracles[address].source}: expect.oracle: {error.message}"
            raise UsageError(message, error.hint) from None
        return one

    with started(each(settings, oracles), workers) as pools:
        by_address = dict(zip(oracles, pools, strict=True))

        def connected(address: str) -> None:
            try:
                connect([by_address[address]], meanwhile)
            except OpcheckError as error:
                message = "\n".join([f"oracle {address!r}: {error.message}", *error.lines()[1:]])
                raise type(error)(message) from None

        each(connected, oracles)
        yield by_address


def check_company(cases: Sequence[Case], backends: int) -> None:
    """Raise UsageError where backends are to be compared with each other, and there is only one."""
    alone = [case for case in cases if case.expect.compares_backends]
    if alone and backends < 2:
        more = f" and {len(alone) - 1:,} more" if len(alone) > 1 else ""
        raise UsageError(
            f"{alone[0].source}: {alone[0].id}{more}: expect.agree compares backends with each"
            " other, and there is only one",
            "name several, with -b each",
        )


def facts_of(backends: Sequence[BackendInfo], cases: Sequence[Case]) -> Facts:
    """Facts that users' ledgers are checked against; `cases` are all that were read."""
    from opcheck.suite import load

    known = profiles(Path.cwd())

    def why_none(address: str) -> str | None:
        if address.partition(":")[0] == IN_PROCESS:
            return None
        try:
            resolve(address, known)
        except UsageError as error:
            return "; ".join(line.strip() for line in error.lines())
        return None

    def looks(op: OpVersion) -> set[str]:
        from opcheck.diagnose import names_of

        return names_of(op)

    return Facts(backends, cases, load, why_none, looks)

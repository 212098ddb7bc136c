"""The operators that a backend has, proposed for its profile in `opcheck.toml`."""

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from opcheck.cli import console
from opcheck.errors import OpcheckError
from opcheck.report.plain_text import one_line

if TYPE_CHECKING:
    from opcheck.backends.address import Address
    from opcheck.model import OpVersion

#: The name of a profile that a TOML key, a shell and a workflow take without quotes.
PROFILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
#: The name of one whose address gives none.
ANY_NAME = "mine"
#: A scope is proposed to a backend that has at most this share of so many operators or more.
_PARTIAL, _MANY_OPERATORS = 0.5, 20
#: The most characters of a line of operators.
_WIDTH = 98


def profile_name(address: "Address") -> str:
    """Return a name for the profile of an address: that of its module or program, else `mine`."""
    from pathlib import Path

    from opcheck.backends.address import built_in

    detail = address.detail or ""
    name = ""
    if address.kind == "py":
        name = detail.partition(":")[0].rpartition(".")[2]
    if address.kind == "cmd":
        words = detail.split(maxsplit=1)
        name = Path(words[0]).stem if words else ""
    is_usable = PROFILE_NAME.fullmatch(name) and name not in built_in()
    return name if is_usable else ANY_NAME


@dataclass(frozen=True)
class TriedOperators:
    """The versions of each operator that a backend was asked, and those that it has."""

    asked: Mapping[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    had: Mapping[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def add(self, op: "OpVersion", *, is_had: bool) -> None:
        """Add what one case of an operator shows."""
        self.asked[op.name].add(op.since)
        if is_had:
            self.had[op.name].add(op.since)

    @property
    def are_few(self) -> bool:
        """Return True if the backend has some of the operators, and lacks most of many."""
        total = len(self.asked)
        return 0 < len(self.had) <= _PARTIAL * total and total >= _MANY_OPERATORS

    def names(self) -> Iterable[str]:
        """Yield the operators that the backend has."""
        yield from sorted(self.had)

    def parts(self) -> Iterable[str]:
        """Yield the operators, as `Conv@11+` where the backend lacks all of the earlier versions.

        Later versions are included also where it lacks some of them.
        """
        for name in self.names():
            first = min(self.had[name])
            yield name if first == min(self.asked[name]) else f"{name}@{first}+"


def propose(
    address: str, tried: TriedOperators, operators: Iterable[str], *, is_of_smoke: bool = False
) -> None:
    """Print the lines of a profile that leave out the operators which a backend lacks.

    An address that is the name of a profile has one already. If `is_of_smoke`, the few cases of
    that level were asked, which a backend may lack though it has the operator.
    """
    counts = f"{one_line(address)} has {len(tried.had)} of {len(tried.asked)} operators"
    console.note(f"{counts}; this leaves the others out, in opcheck.toml:")
    if ":" in address:
        click.echo(f"  [backends.{_name_of(address)}]", err=True)
        click.echo(f"  address = {json.dumps(address, ensure_ascii=False)}", err=True)
    for line in _lines([*operators]):
        click.echo(f"  {line}", err=True)
    if is_of_smoke:
        command = one_line(shlex.join(["opcheck", "support", "-b", address]))
        console.note(f"the cases of smoke may miss one that it has; this tries each: {command}")


def _name_of(address: str) -> str:
    from opcheck.backends.address import parse

    try:
        return profile_name(parse(address))
    except OpcheckError:  # an object of the user's, say
        return ANY_NAME


def _lines(operators: list[str]) -> Iterable[str]:
    """Yield an array of TOML, in several lines if it is long."""
    whole = f"operators = {json.dumps(operators)}"
    if len(whole) <= _WIDTH:
        yield whole
        return
    yield "operators = ["
    line = ""
    for operator in operators:
        item = f'"{operator}",'
        if line and len(line) + len(item) >= _WIDTH:
            yield line
            line = ""
        line = f"{line} {item}" if line else f"  {item}"
    yield line
    yield "]"

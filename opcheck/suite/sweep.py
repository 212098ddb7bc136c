"""A sweep that a command asks for: chosen cases, each in the sizes that are named."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from opcheck.errors import UsageError
from opcheck.reading import Node, Problems, quoted, read_text
from opcheck.suite.expand import Concrete, spell
from opcheck.suite.overlay import PATHS_ARE, Path, parse_path, put


@dataclass(frozen=True)
class Sweep:
    """A path into a case, and the values to be put there."""

    path: Path
    values: tuple[Node, ...]

    def of(self, concrete: Concrete, ids: Collection[str]) -> Iterator[Concrete]:
        """The case with each of the values, if it is one of those with these `ids`."""
        if concrete.id not in ids:
            return
        for value in self.values:
            node = put(concrete.node, self.path, value)
            if node is None:
                where = quoted(".".join(self.path))
                raise UsageError(f"--sweep: {where} leads into a literal of {concrete.id}")
            front, row, end = concrete.id.partition("#")
            joint = "," if "@" in front else "@"
            id = f"{front}{joint}{'.'.join(self.path)}={spell(value)}{row}{end}"
            yield replace(concrete, id=id, node=node, sweep=concrete.id)


def parse_sweep(text: str) -> Sweep:
    """What `path=[value, value, …]` spells; raises UsageError where it spells nothing."""
    written, _, values = text.partition("=")
    path, problems = parse_path(written.strip()), Problems()
    if path is None:
        raise UsageError(f"--sweep {quoted(text)}: {quoted(written)} is no path", PATHS_ARE)
    node = read_text(values, "--sweep", problems)
    problems.raise_if_any()
    if node is None or not isinstance(node.value, tuple) or len(node.value) < 2:
        hint = "such as --sweep 'inputs.input.shape=[[1, 1000], [16, 1000]]'"
        raise UsageError(f"--sweep {quoted(text)}: two values or more are needed, in a list", hint)
    return Sweep(path, node.value)

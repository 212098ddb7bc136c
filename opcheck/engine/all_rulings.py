"""All rulings of the engine, wherever they stand."""

import sys
from collections.abc import Iterator
from types import ModuleType

from opcheck.engine import operators, rulings
from opcheck.engine.readings import Ruling


def all_rulings() -> tuple[Ruling, ...]:
    """Return every ruling once, those that operators share first; imports all operators' files."""
    list(operators.every())
    modules = [rulings, *(m for name, m in sorted(sys.modules.items()) if _is_of_engine(name))]
    return tuple(dict.fromkeys(ruling for module in modules for ruling in _rulings_of(module)))


def _rulings_of(module: ModuleType) -> Iterator[Ruling]:
    """Yield the rulings that stand in a module, or in tuples there, in the module's order."""
    for value in vars(module).values():
        members = value if isinstance(value, tuple) else (value,)
        for member in members:
            if isinstance(member, Ruling):
                yield member


def _is_of_engine(name: str) -> bool:
    return name.startswith("opcheck.engine.")

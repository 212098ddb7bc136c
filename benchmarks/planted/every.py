"""All planted bugs, by the list that they are of."""

from collections.abc import Mapping

from benchmarks.planted import (
    Bug,
    first_places,
    first_values,
    first_windows,
    fourth_lot,
    held_out,
    second_lot,
    third_lot,
    working,
)

#: The bugs of each list, by name.
LISTS: Mapping[str, Mapping[str, Bug]] = {
    "first": {
        **first_windows.BUGS.bugs,
        **first_places.BUGS.bugs,
        **first_values.BUGS.bugs,
    },
    "working": working.BUGS.bugs,
    "held_out": held_out.BUGS.bugs,
    "second": second_lot.BUGS.bugs,
    "third": third_lot.BUGS.bugs,
    "fourth": fourth_lot.BUGS.bugs,
}


def bug_named(name: str) -> Bug:
    """Return the bug of this name. Raises ValueError if there is none."""
    for bugs in LISTS.values():
        if name in bugs:
            return bugs[name]
    raise ValueError(f"no planted bug is called {name}")

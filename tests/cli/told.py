"""What a report of a failure says, whatever failed before it."""

from collections.abc import Iterable


def without_diagnoses(lines: Iterable[str]) -> list[str]:
    """`lines` without what the failure looks like, which is better known after other failures."""
    return [line for line in lines if not line.startswith(("  looks", "  or ", " " * 10 + "…"))]

"""The command line: each command parses, calls, prints and exits; logic lives elsewhere."""

from opcheck.cli.group import main

__all__ = ["main"]

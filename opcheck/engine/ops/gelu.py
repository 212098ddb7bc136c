"""Gelu (20), by the function body that the specification has."""

from opcheck.engine.operators import composite

OP = composite("Gelu")

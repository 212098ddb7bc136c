"""Case files in, concrete cases out: read, validate, expand, select, fill with data."""

from opcheck.suite.fill import materialize, unrounded
from opcheck.suite.load import load, load_bench
from opcheck.suite.select import Selection, select

__all__ = ["Selection", "load", "load_bench", "materialize", "select", "unrounded"]

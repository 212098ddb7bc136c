"""Hardmax, versions 1, 11 and 13: 1 at the first maximum of every row, 0 elsewhere."""

from opcheck.precise.first_maximum import first_maximum
from opcheck.precise.registry import Operator
from opcheck.precise.rows import versions

OPERATOR = Operator(domain="", name="Hardmax", versions=versions(first_maximum))

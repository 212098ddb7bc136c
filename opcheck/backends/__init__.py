"""Backends: the built-in engine and every external implementation, behind one protocol."""

from opcheck.backends.address import DEFAULT, parse
from opcheck.backends.base import Backend, Prepared
from opcheck.backends.connect import connect
from opcheck.backends.execute import as_outputs, attempt, same_answers, second_data

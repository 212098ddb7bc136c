"""What is asked: the built-in engine and every external implementation, behind one protocol."""

from opcheck.backends.address import DEFAULT, parse
from opcheck.backends.attempt import attempt, same_answers, second_data
from opcheck.backends.base import Backend, Prepared
from opcheck.backends.connect import connect
from opcheck.backends.observe import as_outputs

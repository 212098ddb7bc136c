"""What is asked: the built-in engine and every external implementation, behind one protocol."""

from opcheck.backends.address import DEFAULT, connect
from opcheck.backends.attempt import attempt, same_answers, second_data
from opcheck.backends.base import Backend, Prepared

__all__ = ["DEFAULT", "Backend", "Prepared", "attempt", "connect", "same_answers", "second_data"]

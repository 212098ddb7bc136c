"""Cases on backends: a stream of results. No printing."""

from opcheck.execution.conduct import Conductor, conduct
from opcheck.execution.machine import environment

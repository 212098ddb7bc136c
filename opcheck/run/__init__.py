"""Cases on backends: a stream of results. No printing."""

from opcheck.run.conduct import Conductor, conduct
from opcheck.run.machine import environment

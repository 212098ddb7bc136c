"""LogSoftmax as its function body has it, (x − max) − ln s: shares that vanish do no harm."""

from opcheck.engine.axes import by_rows
from opcheck.engine.ops.softmax import logarithms

FORMULAS = {"LogSoftmax": by_rows(logarithms)}

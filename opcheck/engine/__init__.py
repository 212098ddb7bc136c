"""The engine: every operator as a formula over kinds of numbers, one file a kind of them.

Arrays and attributes go in, arrays come out: it knows no files and no models, and of onnx no more
than `opcheck.opset` tells of an operator's schema.
"""

from opcheck.engine import evaluate
from opcheck.engine.graphs import Subgraph
from opcheck.engine.node import Node, any_order, dtype_of, dtypes_of, leading, operator_of
from opcheck.engine.outputs import Drawn, Expected, Room, rounded
from opcheck.engine.tiers import Tier

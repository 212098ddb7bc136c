"""DML_ACTIVATION_HARDMAX1: one at the first maximum over several axes jointly."""

from __future__ import annotations

from opcheck.engine.ops.dml_activation_hardmax1.kernels import hardmax1
from opcheck.engine.ops.dml_activation_hardmax1.modes import exact, native
from opcheck.engine.registry import Kernel, Operator
from opcheck.opset.directml import DOMAIN

OPERATOR = Operator(
    domain=DOMAIN,
    name="DML_ACTIVATION_HARDMAX1",
    kernels={1: Kernel(hardmax1, ("float16", "float32"))},
    exact=exact,
    native=native,
    low=0.0,
    high=1.0,
)

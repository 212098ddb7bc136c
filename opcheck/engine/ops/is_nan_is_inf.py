"""IsNaN and IsInf, all versions."""

from opcheck import numbers as xp
from opcheck.engine.operators import family, operator
from opcheck.engine.rulings import flag
from opcheck.numbers import Array

NAMES = """IsInf IsNaN"""


family({"IsNaN": xp.isnan}, exact=True)
#: Types without infinities, of which the output is false everywhere.
WITHOUT_INFINITIES = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2fnuz")
IS_INF = operator("IsInf", exact=True, constant=WITHOUT_INFINITIES)


@IS_INF.formula(10, 20)
def is_inf(X: Array, *, detect_negative: int, detect_positive: int) -> Array:
    """Map infinities to true: "detect_negative - (Optional) … Default is 1".

    Those below 0 are true if detect_negative is set, others if detect_positive is; NaN is false. A
    flag other than 0 and 1 is taken for one of them, or raises InvalidNode: FLAG_OF_ANOTHER_NUMBER.
    """
    detects_negative = flag("detect_negative", detect_negative)
    detects_positive = flag("detect_positive", detect_positive)
    is_infinite = xp.isinf(X)
    is_negative = xp.less(X, 0)
    is_wanted = detects_negative & is_negative | detects_positive & ~is_negative
    return is_infinite & is_wanted

"""Growth of seconds with the size of the input."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opcheck.model import Array


@dataclass(frozen=True)
class Scaling:
    """Seconds as a fixed cost and a power of the size: `fixed` + factor · size ** `exponent`.

    `low` and `high` bound the exponent with 95 %; two sizes alone leave it boundless. Up to the
    size `flat`, or 0 for none, the fixed cost is at least half of the time.
    """

    exponent: float
    low: float
    high: float
    fixed: float = 0.0
    flat: float = 0.0


def scaling(sizes: Sequence[float], seconds: Sequence[float]) -> Scaling | None:
    """Fit a curve to these points on logarithmic scales; None for fewer than two sizes.

    It finds an exponent of 1.00 where a call takes 2 or 20 µs and an element 1 ns, with eight sizes
    from 256 to 4 million, where a straight line finds 0.81 ± 0.13; its interval covers 1 in 91–98 %
    of simulated sweeps. Without a fixed cost, or with few sizes, it is the line. What is no power
    makes the interval wide or gets an exponent between two: n log n looks like 1.1.
    """
    points = sorted(zip(sizes, seconds, strict=True))
    if len({size for size, _ in points}) < 2:
        return None
    import numpy as np

    ordered, taken = np.array(points, float).T
    # Less growth is fixed cost: any exponent would fit the rest.
    if taken.max() < 2 * taken.min():
        line = _line(ordered, taken)
        return replace(line, fixed=float(np.median(taken)), flat=float(ordered[-1]))
    return _curve(ordered, taken) or _line(ordered, taken)


def _line(sizes: Array, seconds: Array) -> Scaling:
    import numpy as np
    from scipy import stats

    x, y = np.log(sizes), np.log(seconds)
    found = stats.linregress(x, y)
    half = float(stats.t.ppf(0.975, len(x) - 2) * found.stderr) if len(x) > 2 else math.inf
    slope = float(found.slope)
    return Scaling(slope, slope - half, slope + half)


def _curve(sizes: Array, seconds: Array) -> Scaling | None:
    """Fit a curve with a fixed cost; None where it cannot be estimated."""
    import numpy as np
    from scipy import optimize, stats

    # A curve of three parameters needs four for an estimate of its error.
    if len(np.unique(sizes)) < 4:
        return None
    x, y = np.log(sizes), np.log(seconds)
    middle = float(x.mean())

    def curve(x: Array, cost: float, factor: float, exponent: float) -> Array:
        return np.logaddexp(cost, factor + exponent * (x - middle))

    larger = stats.linregress(x[len(x) // 2 :] - middle, y[len(x) // 2 :])
    start = (float(y.min()), float(larger.intercept), float(larger.slope))
    with warnings.catch_warnings():
        # The logarithm of a cost of 0 is infinite, and has no uncertainty.
        warnings.simplefilter("ignore", optimize.OptimizeWarning)
        try:
            fitted, covariance = optimize.curve_fit(curve, x, y, start)
        except RuntimeError:  # it does not converge
            return None
    cost, factor, exponent = map(float, fitted)
    half = float(stats.t.ppf(0.975, len(x) - 3) * math.sqrt(covariance[2, 2]))
    share = math.exp(cost - float(curve(x, cost, factor, exponent)[0]))
    # A smaller share of the time of the smallest size cannot be distinguished from none.
    if share < 0.1 or exponent <= 0 or not math.isfinite(half):
        return None
    flat = float(sizes[factor + exponent * (x - middle) <= cost].max(initial=0.0))
    return Scaling(exponent, exponent - half, exponent + half, math.exp(cost), flat)

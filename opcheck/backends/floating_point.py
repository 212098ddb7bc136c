"""The mode in which this thread's processor computes: rounding, and what becomes of subnormals.

Code in opcheck's own process may change it and not change it back: `torch.set_flush_denormal`, a
library compiled by `-ffast-math`, `fesetround`. All that is computed later is then wrong, the
expected answers and error bounds too.
"""

import ctypes
import sys
from contextlib import suppress

#: float64: the least subnormal number, the least normal one, half the distance from 1 to the next
#: number, and 1. By name, lest the compiler computes with them.
_LEAST = 2.0**-1074
_NORMAL = 2.0**-1022
_HALF_ULP = 2.0**-53
_ONE = 1.0
#: Where C's functions are, besides in this process.
_LIBRARIES = (None, "libm.so.6", "libm.so", "libSystem.dylib")
#: No system has a larger fenv_t, in bytes.
_SIZE = 256
#: FE_DFL_ENV of glibc and musl, on x86-64 and aarch64.
_LINUX_DEFAULT = ctypes.c_void_p(-1)


def deviations() -> list[str]:
    """Return how this thread computes otherwise than IEEE 754's default, in words; [] if it does.

    Only float64 is tried; processors have one switch for float32 and float64.
    """
    changes = []
    if _LEAST * _ONE != _LEAST or _NORMAL * (_ONE / 2) == 0:
        changes.append("subnormal numbers are flushed to zero")
    # A tie goes to the even number; three quarters of a step go to the nearer one.
    is_nearest = _ONE + _HALF_ULP == _ONE and -_ONE - _HALF_ULP == -_ONE
    if not (is_nearest and _ONE + 1.5 * _HALF_ULP > _ONE):
        changes.append("results are not rounded to nearest")
    return changes


def _library() -> ctypes.CDLL | None:
    """Return a library with C's functions for the mode; None where there is none."""
    for name in _LIBRARIES:
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(name)
            library.fegetenv, library.fesetenv  # noqa: B018  # raises if they are missing
            return library
    return None


_C = _library()
#: The mode that was found here at first, if it is the default.
_saved = ctypes.create_string_buffer(_SIZE)
_is_saved = _C is not None and not deviations() and _C.fegetenv(_saved) == 0


def reset() -> list[str]:
    """Set the default mode if this thread has another; return deviations that are left."""
    if _C is None or not deviations():
        return deviations()
    if _is_saved:
        _C.fesetenv(_saved)
    elif sys.platform == "linux":
        _C.fesetenv(_LINUX_DEFAULT)
    return deviations()

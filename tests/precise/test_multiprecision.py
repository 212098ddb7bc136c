from __future__ import annotations

import threading
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.precise.multiprecision import DISTRUST, integers, precision


def test_one_thread_at_a_time_has_a_precision() -> None:
    seen: list[int] = []

    def other() -> None:
        with precision(70) as mp:
            seen.append(mp.prec)

    with precision(50) as mp:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.2)
        assert (seen, mp.prec) == ([], 50)
    thread.join()
    assert seen == [70]


def test_it_is_free_again_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), precision(50) as mp:
        mp.mpf(1) / 0
    with precision(60) as mp:
        assert integers(mp.mpf(3)) == (3, 0)


@pytest.mark.parametrize("bits", [80, 120, 300])
@given(x=st.floats(1e-300, 1e300), n=st.integers(2, 2000), small=st.floats(-700, 700))
def test_mpmath_errs_by_much_less_than_it_is_distrusted(
    bits: int, x: float, n: int, small: float
) -> None:
    """Against decimals of 150 digits: within 2 units, where 2^8 are allowed for."""
    with precision(bits) as mp:
        got = [
            integers(value)
            for value in (mp.exp(mp.mpf(small)), abs(mp.log(mp.mpf(x))), mp.mpf(x) ** n)
        ]
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 150, 10**7, -(10**7)
        want = Decimal(small).exp(), abs(Decimal(x).ln()), Decimal(x) ** n
        for (m, e), value in zip(got, want, strict=True):
            if value:
                assert abs(m * Decimal(2) ** e / value - 1) <= Decimal(2) ** (2 - bits)
    assert 2 ** (DISTRUST - bits) > 100 * 2 ** (2 - bits)

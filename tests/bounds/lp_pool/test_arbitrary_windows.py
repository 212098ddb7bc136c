"""Sound on whatever windows there are: what `test_honest` says, as a property."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, target
from hypothesis import strategies as st

from tests.bounds.arithmetic import BFLOAT16, Array
from tests.bounds.lp_pool.batches import DTYPES
from tests.bounds.lp_pool.implementations import HONEST
from tests.bounds.lp_pool.judging import ask
from tests.bounds.lp_pool.test_honest import OUT_OF_RANGE, answer
from tests.bounds.lp_pool.windows import Wanted, in_range

POWERS = (1, 2, 3, 4, 5, 7, 10, 64, 1.5, 2.5, 3.7)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Array, float]:
    """Some windows, and p: ordinary numbers, numbers with powers all over the range, and any."""
    dtype = draw(st.sampled_from(DTYPES))
    p = draw(st.sampled_from([p for p in POWERS if p == int(p) or dtype != BFLOAT16]))
    # A node's attribute is a binary32 number.
    p = float(np.float32(p))
    n, size = draw(st.integers(1, 4)), draw(st.integers(1, 40))
    want = Wanted((n, size), p, dtype)
    bits = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(bits)
    ordinary = draw(st.lists(st.floats(-4, 4), min_size=1, max_size=6))
    exponents = draw(
        st.lists(st.floats(want.range.least - 2, want.range.most), min_size=1, max_size=6)
    )
    any_ = draw(st.lists(st.floats(-want.largest, want.largest), min_size=1, max_size=3))
    pools = [ordinary, list(want.with_powers(np.array(exponents))), any_, [*ordinary, *any_, 0.0]]
    pool = np.clip(pools[draw(st.integers(0, 3))], -want.largest, want.largest)
    with np.errstate(under="ignore"):
        return rng.choice(pool, want.shape).astype(dtype), p


@settings(max_examples=40, deadline=None)
@given(questions())
def test_no_honest_implementation_is_accused(question: tuple[Array, float]) -> None:
    x, p = question
    held = in_range(x, p)
    most = 0.0
    if held.any():
        owed = ask(x[held], p)
        for name, implementation in HONEST.items():
            found = owed.judge(answer(implementation, owed.x, p))
            assert (found.problem, found.remark) == (None, ""), name
            most = max(most, found.used)
    if not held.all():
        lost = ask(x[~held], p)
        for name, implementation in HONEST.items():
            found = lost.judge(answer(implementation, lost.x, p))
            warned = found.problem == "precision" and found.remark.startswith(OUT_OF_RANGE)
            assert found.problem is None or warned, name
    target(most)

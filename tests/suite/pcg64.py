"""PCG64 as NumPy seeds it, in Python's integers: the stream that fills are made of.

From the published algorithms: O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically
Good Algorithms for Random Number Generation (XSL RR 128/64), and NumPy's SeedSequence.
"""

from collections.abc import Iterator
from itertools import cycle, islice

M32, M64, M128 = 2**32 - 1, 2**64 - 1, 2**128 - 1
POOL = 4


def stream(seed: int, n: int) -> list[int]:
    """The first `n` raw 64-bit words."""
    high, low, inc_high, inc_low = _seed_words(seed)
    increment = ((inc_high << 64 | inc_low) << 1 | 1) & M128
    state = _step((_step(0, increment) + (high << 64 | low)) & M128, increment)
    words = []
    for _ in range(n):
        state = _step(state, increment)
        mixed, turn = (state >> 64 ^ state) & M64, state >> 122
        words.append((mixed >> turn | mixed << (-turn & 63)) & M64)
    return words


def uniform(seed: int, n: int) -> list[float]:
    """The first `n` numbers in [0, 1): the upper 53 bits of each word."""
    return [(word >> 11) / 2**53 for word in stream(seed, n)]


def _step(state: int, increment: int) -> int:
    return (state * 0x2360ED051FC65DA44385DF649FCCF645 + increment) & M128


def _seed_words(seed: int) -> list[int]:
    entropy = [seed >> shift & M32 for shift in range(0, max(seed.bit_length(), 1), 32)]
    constants = _constants(0x43B0D7E5, 0x931E8875)
    pool = [_hashed(word, constants) for word in [*entropy, 0, 0, 0, 0][:POOL]]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                pool[target] = _mixed(pool[target], _hashed(pool[source], constants))
    for word in entropy[POOL:]:
        for target in range(POOL):
            pool[target] = _mixed(pool[target], _hashed(word, constants))
    constants = _constants(0x8B51F9DD, 0x58F38DED)
    halves = [_hashed(word, constants) for word in islice(cycle(pool), 8)]
    return [low | high << 32 for low, high in zip(halves[::2], halves[1::2], strict=True)]


def _constants(start: int, factor: int) -> Iterator[tuple[int, int]]:
    """Pairs of a constant and its successor."""
    while True:
        after = start * factor & M32
        yield start, after
        start = after


def _hashed(word: int, constants: Iterator[tuple[int, int]]) -> int:
    constant, after = next(constants)
    word = (word ^ constant) * after & M32
    return word ^ word >> 16


def _mixed(one: int, other: int) -> int:
    value = 0xCA01F9DD * one - 0x4973F715 * other & M32
    return value ^ value >> 16

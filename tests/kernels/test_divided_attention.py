"""Which causal tiles of attention on Hopper are divided, and how their steps are found again."""

import math

import pytest

from roofscope.kernels.shared.wgmma_attention import CONSUMERS, KEYS, divides_causal, steps_of_causal

MULTIPROCESSORS = 132


@pytest.mark.parametrize(
    ("heads", "seq", "dim", "divides"),
    [
        (1, 12400, 64, True),  # 65 tiles, of which the longest takes four times its share
        (2, 8703, 64, True),
        (1, 3889, 64, True),
        (1, 16290, 192, True),
        (1, 16290, 256, False),  # no kernel
        (1, 512, 64, False),  # too short to be worth it
        (4, 16384, 64, False),  # several tiles a block
        (64, 2048, 128, False),
        (32, 4096, 64, False),
    ],
)
def test_divides_causal_tiles_where_the_longest_would_keep_one_block(
    heads: int, seq: int, dim: int, divides: bool
) -> None:
    assert divides_causal(heads, seq, dim, MULTIPROCESSORS) == divides


@pytest.mark.parametrize("dim", [64, 96, 128, 192])
def test_steps_in_front_of_a_causal_tile_are_counted_without_a_loop(dim: int) -> None:
    """As wgmma_attention_pieces.cuh counts them, and where it begins to look for a step's tile."""
    queries, keys = CONSUMERS[dim] * 64, KEYS[dim]
    period = next(count for count in (1, 2, 3) if count * queries % keys == 0)
    steps = steps_of_causal(400 * queries, dim)[::-1]
    for number in range(400):
        apart = [(number + period - first) // period for first in range(1, period + 1)]
        found = sum(
            count * (count - 1) // 2 * (period * queries // keys) + count * -(-first * queries // keys)
            for first, count in enumerate(apart, start=1)
        )
        assert found == sum(steps[:number])
        assert number <= math.sqrt(2 * keys / queries * found)

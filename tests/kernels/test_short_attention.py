"""Gradients of attention over short sequences: which way is taken, and what a block has."""

import pytest

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared.short_attention_backward import COSTS, short_bytes, short_plan
from roofscope.kernels.shared.wgmma_attention_backward import heads_within

MULTIPROCESSORS = 132
HOPPER_BYTES = 232_448  # shared memory a block may have


@pytest.mark.parametrize("dim", [64, 128])
def test_gradients_of_short_sequences_fit_hopper(dim: int) -> None:
    for costs in COSTS[dim]:
        short = costs.short
        blocks = len(costs.step)
        assert blocks * (short_bytes(dim, short) + 1024) <= HOPPER_BYTES + 1024, (
            short
        )  # a KB each for the driver


@pytest.mark.parametrize(
    ("heads", "seq", "dim", "causal", "kernel"),
    [
        (4, 300, 128, False, "short_128"),
        (4, 37, 64, False, "short_64"),
        (336, 182, 64, False, "short_crowded_64"),  # more blocks than two a multiprocessor
        (16, 1024, 128, True, "short_wide_128"),
        (64, 8192, 128, False, None),  # five products
        (64, 8192, 64, True, None),
        (32, 16384, 128, True, None),
        (64, 2048, 128, False, None),
    ],
)
def test_short_sequences_are_taken_by_blocks_of_their_own(
    heads: int, seq: int, dim: int, causal: bool, kernel: str | None
) -> None:
    short = short_plan(heads, seq, dim, MULTIPROCESSORS, causal=causal)
    assert (short and short.kernel) == kernel


def test_few_blocks_share_the_steps_of_a_tile() -> None:
    short = short_plan(2, 1000, 128, MULTIPROCESSORS, causal=False)
    assert short is not None
    assert short.parts == 2
    short = short_plan(2, 300, 128, MULTIPROCESSORS, causal=False)  # not worth it
    assert short is not None
    assert short.parts == 1


@pytest.mark.parametrize(
    ("heads", "seq", "within"),
    [(64, 512, 0), (64, 1024, 25), (64, 8192, 61), (16, 777, 0)],  # of short heads tiles would wait
)
def test_heads_are_prepared_meanwhile_where_blocks_work_long_enough(
    heads: int, seq: int, within: int
) -> None:
    tiles = -(-seq // 128)
    assert heads_within(heads, tiles, MULTIPROCESSORS, 1, seq) == within

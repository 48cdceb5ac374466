"""The referee's clock beside the times that a candidate's process claims."""

from roofscope.profiling.results.outcome import Method
from roofscope.profiling.worker.job.second_clock import BlockSeen, contradiction, is_unjudged


def test_a_tenth_of_the_time_is_contradicted_with_both_figures() -> None:
    blocks = [BlockSeen(claimed_s=1e-3, lead_s=4e-4, wall_s=0.0109)] * 8
    assert contradiction(blocks) == (
        "its blocks are said to take 1 ms, and took 10.9 ms by the referee's clock"
    )


def test_launching_and_waking_up_contradict_nothing() -> None:
    """As read on an H200: blocks of 10.14 ms whose answers came after 10.5 to 11.2 ms."""
    assert not contradiction([BlockSeen(0.01014, 3e-4, wall_s) for wall_s in (0.0105, 0.0109, 0.0112)])
    assert not contradiction([])


def test_a_busy_moment_contradicts_nothing() -> None:
    blocks = [BlockSeen(0.010, 0.0, 0.0105)] * 5 + [BlockSeen(0.010, 0.0, 0.5)] * 4
    assert not contradiction(blocks)


def test_a_claimed_wait_does_not_explain_everything() -> None:
    """Who says that a block waited for ten seconds before it began explains any time."""
    assert contradiction([BlockSeen(claimed_s=1e-3, lead_s=10.0, wall_s=0.5)])


def test_a_graph_is_held_back_for_milliseconds_at_most() -> None:
    """Who calls four fifths of a block a wait before it began claims a fifth of the time."""
    blocks = [BlockSeen(2e-3, lead_s=8e-3, wall_s=0.0104, method=Method.CUDA_GRAPH)] * 5
    assert contradiction([*blocks, *[BlockSeen(2e-3, 0.05, 0.0524, method=Method.CUDA_GRAPH)] * 6])
    assert not contradiction([BlockSeen(0.010, 3e-4, 0.0107, method=Method.CUDA_GRAPH)] * 5)


def test_slices_that_are_mostly_left_out_leave_a_time_unjudged() -> None:
    blocks = [BlockSeen(2e-3, lead_s=8e-3, wall_s=0.0102, method=Method.WALL_CLOCK)] * 5
    assert not contradiction(blocks)
    assert is_unjudged(blocks)
    assert not is_unjudged([BlockSeen(0.010, 2e-3, 0.0124, method=Method.WALL_CLOCK)] * 5)


def test_blocks_that_waited_for_a_core_prove_nothing_and_that_is_known() -> None:
    """As read on two cores with other work: an honest block, and an answer that came late."""
    waiting = [BlockSeen(0.0106, 0.1, 0.164, waited_s=0.12)] * 5
    assert not contradiction(waiting)
    assert is_unjudged(waiting)


def test_the_calm_blocks_decide() -> None:
    waiting = [BlockSeen(0.0106, 0.1, 0.164, waited_s=0.12)] * 5
    assert contradiction([*waiting, *[BlockSeen(1e-3, 0.0, 0.0109)] * 3])
    honest = [*waiting, *[BlockSeen(0.0106, 0.0, 0.0110)] * 3]
    assert not contradiction(honest)
    assert not is_unjudged(honest)


def test_one_block_alone_decides_if_there_is_no_other() -> None:
    assert contradiction([BlockSeen(1e-3, 0.0, 0.0109)])
    assert not is_unjudged([])

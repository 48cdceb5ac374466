"""Whether comparisons call equals equal and find a difference of 1 %: many, each with fresh timers."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.analysis.selftest_limits import PLANTED, judge_same, judge_slowdown
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.analysis.stop_rules import EXACT_STOP, QUICK_WARM_UP, StopRule
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.timing.rounds import measure, warm_up
from roofscope.profiling.worker.timing.turn import Turn

COMPARISONS = 100
_WITH_OWN_OUTPUTS = 20
# Elements of a call: on a GPU 60 us on the fastest memory of today, far more than its caches hold; on a CPU,
# where caches are not controlled, the same time within them. Powers of two would compete for the same lines.
_GPU_COUNT = 33_000_000
_CPU_COUNT = 130_000


class _Length(NamedTuple):
    """Length of a comparison under the exact rule, such that two hundred take a minute and a half."""

    block_s: float  # half of the engine's usual block, and less
    cap_s: float  # for one of the two, if the rule asks for more rounds


_GPU_LENGTH = _Length(0.005, 0.2)
_CPU_LENGTH = _Length(0.001, 0.04)


def prove_same(rig: Rig) -> Proof:
    """The same callable as two implementations.

    As in a job, both write to the same memory. Comparisons with separate outputs, for information, show that
    the addresses alone make a real difference.
    """
    sets = _sets(rig, _element_count(rig))
    pair = (torch.neg, sets), (torch.neg, sets)
    comparisons = _compare_often(rig, pair, COMPARISONS)
    own_outputs = _compare_often(rig, pair, _WITH_OWN_OUTPUTS, own_outputs=True)
    return judge_same(comparisons, [("each with its own outputs", own_outputs)])


def prove_slowdown(rig: Rig) -> Proof:
    """The same callable over 1 % more elements of the same memory."""
    count = _element_count(rig)
    sets = _sets(rig, round(count * (1 + PLANTED)))
    fewer = [(x[:count],) for (x,) in sets]
    return judge_slowdown(_compare_often(rig, ((torch.neg, sets), (torch.neg, fewer)), COMPARISONS))


def _element_count(rig: Rig) -> int:
    return _GPU_COUNT if rig.is_cuda else _CPU_COUNT


def _sets(rig: Rig, count: int) -> list[InputSet]:
    return rig.sets(lambda: (rig.noise(count),), 2 * 4 * count)


def _compare_often(
    rig: Rig, pair: Sequence[tuple[Call, Sequence[InputSet]]], times: int, *, own_outputs: bool = False
) -> list[Comparison]:
    """Compare with new timers each time, so on a GPU with new graphs and new outputs, as in a new run.

    With ``own_outputs`` each of the two has outputs of its own.
    """
    read_state = rig.instruments.read_state
    length = _GPU_LENGTH if rig.is_cuda else _CPU_LENGTH
    rule = StopRule(EXACT_STOP.half_width, length.cap_s, EXACT_STOP.first_checkpoint)

    def make_turns() -> list[Turn]:
        pool = None if own_outputs else rig.instruments.output_pool()
        timers = [rig.instruments.timer(call, sets, pool, length.block_s) for call, sets in pair]
        return [Turn(timer) for timer in timers]

    warm_up(make_turns(), QUICK_WARM_UP, read_state)
    comparisons: list[Comparison] = []
    for _ in range(times):
        turns = make_turns()
        measure(turns, rule, read_state, rig.check_cancelled)
        comparisons.append(_compared(*turns))
        del turns
        if rig.is_cuda:
            torch.cuda.empty_cache()  # frees the graphs' memory, or a hundred of them fill the device
    return comparisons


def _compared(a: Turn, b: Turn) -> Comparison:
    return compare(a.stats, b.stats, in_turn=True)[0]

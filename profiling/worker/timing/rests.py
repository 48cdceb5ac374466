"""How long implementations rest before each block, so that all find the clock of a fresh device."""

from bisect import bisect_left
from collections.abc import Sequence

from roofscope.profiling.analysis.statistics import median_of_known
from roofscope.profiling.worker.timing.block import BlockReading
from roofscope.profiling.worker.timing.turn import ReadState, Turn

_LONG_BLOCK_S = 0.2  # warms the device up in one go
_FULL_CLOCK = 0.985  # of the highest clock: clocks come in steps of nearly 1 %
_AS_HIGH = 0.99
_RESTS_S = (0.0, 0.005, 0.02, 0.04, 0.08)
# Where a rest undoes what the block in front has heated fewer will do, and two where the one in front of them
# had rested as long.
_TRIALS, _RESTED_TRIALS, _SAME_TRIALS = 4, 3, 2
_RESTED_S = 0.02
_SAG = 0.975  # of the clock that a turn found when it chose its rest
_HIGHER = 1.01
_POWER_CAP = "power cap"
_STEPS_IN_VAIN = 2


def is_long(turn: Turn, reading: BlockReading) -> bool:
    """Whether one such block leaves the device as warm as many would."""
    return reading.seconds * turn.timer.calls_per_block > _LONG_BLOCK_S


def find_rest(
    turn: Turn, full_clock_hz: float, read_state: ReadState, least_s: float = 0.0
) -> list[BlockReading]:
    """The shortest rest from ``least_s`` on after which blocks find the highest clock they can.

    A burst is what the device does at the clock it holds when fresh. Large matrix products reach the power
    cap within a few blocks and lose 15 % of the clock; how much depends on what ran before. Some kernels hold
    a lower clock however rested the device is; they need no rest. A long block has the clock that it ends
    with for nearly all of its time, and no rest that is tried is long beside it.

    Returns the blocks after rests of ``least_s``, which have warmed the device up.
    """
    turn.rest_s = least_s
    longer_s = [rest_s for rest_s in _RESTS_S if rest_s > least_s]
    if not longer_s:
        return []
    first = turn.warm_block(read_state)
    if is_long(turn, first):
        turn.fresh_hz = first.clock_hz
        return [first]
    trials = _SAME_TRIALS if least_s >= _RESTED_S else _TRIALS
    readings = [first, *(turn.warm_block(read_state) for _ in range(trials - 1))]
    turn.fresh_hz = clock_hz = _clock_of(readings)
    if clock_hz is None or clock_hz >= _FULL_CLOCK * full_clock_hz:
        return readings
    # Try the longest rest next: if the clock stays low, shorter ones cannot help.
    *between_s, longest_s = longer_s
    turn.fresh_hz = max(clock_hz, _clock_of(_after_rests(turn, longest_s, read_state)) or 0.0)
    wanted_hz = _AS_HIGH * turn.fresh_hz
    if clock_hz >= wanted_hz:
        turn.rest_s = least_s
        return readings

    def is_enough(rest_s: float) -> bool:
        return (_clock_of(_after_rests(turn, rest_s, read_state)) or 0.0) >= wanted_hz

    turn.rest_s = longer_s[bisect_left(between_s, True, key=is_enough)]
    return readings


def _after_rests(turn: Turn, rest_s: float, read_state: ReadState) -> list[BlockReading]:
    """Some blocks, each after such a rest."""
    turn.rest_s = rest_s
    return [turn.warm_block(read_state) for _ in range(_RESTED_TRIALS if rest_s >= _RESTED_S else _TRIALS)]


def _clock_of(readings: Sequence[BlockReading]) -> float | None:
    """Of the last two, where the first ones ran on a device that was cooler or slower."""
    return median_of_known([reading.clock_hz for reading in readings[-2:]])


def has_sagged(turn: Turn) -> bool:
    """Whether the power cap holds the clock lower than it was found, and longer rests may help.

    A driver that gives no reasons (WSL2, a vGPU) may hide a power cap.

    The latest blocks decide, because the cap comes half a second into the load. No rest helps a clock that
    two longer ones did not raise; the first may have been compared with a clock that was still falling.
    """
    latest_hz = _latest_hz(turn)
    if latest_hz is None or turn.fresh_hz is None:
        return False
    told = [block.state.event_reasons for block in turn.kept]
    is_capped = any(reasons is None or _POWER_CAP in reasons for reasons in told)
    is_in_vain = len(turn.held_hz) >= _STEPS_IN_VAIN and latest_hz <= _HIGHER * min(turn.held_hz)
    return is_capped and latest_hz < _SAG * turn.fresh_hz and not is_in_vain


def _latest_hz(turn: Turn) -> float | None:
    return median_of_known(turn.clocks_hz[-max(len(turn.clocks_hz) // 3, 3) :])


def rest_longer(turns: Sequence[Turn]) -> bool:
    """If the clock of one has sagged and there is a longer rest, give it to all. Returns whether it did."""
    longer_s = next((rest_s for rest_s in _RESTS_S if rest_s > turns[0].rest_s), None)
    if longer_s is None or not any(has_sagged(turn) for turn in turns):
        return False
    for turn in turns:
        latest_hz = _latest_hz(turn)
        if has_sagged(turn) and latest_hz is not None:
            turn.held_hz.append(latest_hz)
        turn.begin_again(longer_s)
    return True

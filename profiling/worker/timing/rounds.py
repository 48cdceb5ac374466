"""Chooses the next block: implementations take turns, round by round, in random order."""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from msgspec.structs import replace

from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.analysis.stop_rules import (
    EXACT_STOP,
    EXACT_WARM_UP,
    QUICK_STOP,
    QUICK_WARM_UP,
    Progress,
    StopRule,
    WarmUpRule,
)
from roofscope.profiling.planning.plan import Quality, Regime
from roofscope.profiling.results.time_stats import LEAST_BLOCKS
from roofscope.profiling.worker.timing.block import BlockReading
from roofscope.profiling.worker.timing.rests import find_rest, is_long, rest_longer
from roofscope.profiling.worker.timing.turn import ReadState, Turn

STOP_RULES = {Quality.QUICK: QUICK_STOP, Quality.EXACT: EXACT_STOP}
# Before each block of the sustained regime, as before a sustained ceiling: the power cap follows a load by up
# to half a second, and a block behind another that draws less would find that one's clock.
LEAD_IN_S = 1.0
_MOST_ROUNDS = 2000
_LEAST_BLOCKS = 3  # for calls so long that the cap would stop earlier
_MORE_FOR_INTERVAL = 2.0  # caps that an implementation may spend until it has the blocks of an interval


def warm_up_rule(quality: Quality, regime: Regime) -> WarmUpRule:
    """When the device is warm: once it is steady, and for the sustained regime after at least 3 s of work."""
    if regime is Regime.SUSTAINED:
        return WarmUpRule(least_s=3.0, most_s=6.0)
    return QUICK_WARM_UP if quality is Quality.QUICK else EXACT_WARM_UP


def stop_rule(quality: Quality, regime: Regime) -> StopRule:
    """When to stop: the cap of a sustained run has room for the lead-ins of its first look."""
    rule = STOP_RULES[quality]
    if regime is Regime.BURST:
        return rule
    return replace(rule, cap_s=rule.cap_s + rule.first_checkpoint * LEAD_IN_S)


def warm_up(
    turns: Sequence[Turn], rule: WarmUpRule, read_state: ReadState, full_clock_hz: float | None = None
) -> None:
    """Run blocks in turn, unrecorded, until neither block times nor clocks drift.

    With ``full_clock_hz``, the burst regime: each implementation first finds the rest it needs, and all take
    the longest of these. One that rests less would run hotter than the others, and heat them too. Where they
    rest one block is enough, as the search has run where it ended with that rest: before each block the
    device is as cool as it will be. Where none rests, the blocks that showed it are the first rounds.
    """
    started = time.monotonic()
    found: list[list[BlockReading]] = [[] for _ in turns]
    if full_clock_hz is not None:
        found = _find_rests(turns, read_state, full_clock_hz)
    if turns[0].rest_s:
        for turn, readings in zip(turns, found, strict=True):
            if not readings:
                turn.warm_block(read_state)
    else:
        _run_until_steady(turns, found, rule, read_state, started)
    for turn in turns:
        turn.spent_s = 0.0


def _find_rests(
    turns: Sequence[Turn], read_state: ReadState, full_clock_hz: float
) -> list[list[BlockReading]]:
    """Give all the longest rest that one needs. Returns of each the blocks that count as its warm-up.

    Those that ran with the rest that all take count, and long blocks always, because no rest changes them.
    """
    longest_s = 0.0
    found: list[list[BlockReading]] = []
    for turn in turns:
        found.append(find_rest(turn, full_clock_hz, read_state, longest_s))
        longest_s = turn.rest_s
    own_s = [turn.rest_s for turn in turns]
    for turn in turns:
        turn.rest_s = longest_s
    return [
        readings if rest_s == longest_s else [one for one in readings if is_long(turn, one)]
        for turn, readings, rest_s in zip(turns, found, own_s, strict=True)
    ]


def _run_until_steady(
    turns: Sequence[Turn],
    found: Sequence[Sequence[BlockReading]],
    rule: WarmUpRule,
    read_state: ReadState,
    started: float,
) -> None:
    """Run blocks in turn behind those that were found. A long block warms its turn up in one go."""
    blocks_s = [[reading.seconds for reading in readings] for readings in found]
    clocks_hz = [reading.clock_hz for reading in found[0] if reading.clock_hz]
    long_enough = [any(is_long(turn, one) for one in found[index]) for index, turn in enumerate(turns)]
    while (elapsed := time.monotonic() - started) < rule.most_s and not rule.is_met(
        elapsed, blocks_s, clocks_hz
    ):
        if all(long_enough) and elapsed >= rule.least_s:
            break
        for index, turn in enumerate(turns):
            if long_enough[index] and not all(long_enough):
                continue
            reading = turn.warm_block(read_state)
            blocks_s[index].append(reading.seconds)
            long_enough[index] = is_long(turn, reading)
            if index == 0 and reading.clock_hz:
                clocks_hz.append(reading.clock_hz)


def measure(
    turns: Sequence[Turn],
    rule: StopRule,
    read_state: ReadState,
    between_rounds: Callable[[], None],
    *,
    before_longer_rests: Callable[[], None] | None = None,
) -> None:
    """Add rounds of blocks to the turns until the stop rule is met, or each has spent its cap.

    Those that meet it at a checkpoint sit out the rounds up to the next one, while others go on. All are
    asked at each, so one takes part again where a comparison with another has become too wide: in the end
    the rule is met by all at once, unless those that go on spend their cap.

    With ``before_longer_rests``, the burst regime, all rest longer and begin again, after that call, where
    the power cap has pulled a clock down, which happens half a second into the load, in the warm-up or after.
    The order within a round is random: in a fixed one each would always follow the same neighbour's heat.
    """
    number, going = 0, list(turns)
    while number < _MOST_ROUNDS and (active := [turn for turn in going if _goes_on(turn, rule)]):
        between_rounds()
        random.shuffle(active)
        for turn in active:
            turn.take_block(number, read_state)
        number += 1
        if not rule.is_checkpoint(number):
            continue
        if before_longer_rests and rest_longer(turns):
            before_longer_rests()
            number, going = 0, list(turns)
        else:
            going = _unmet(turns, rule)


def _unmet(turns: Sequence[Turn], rule: StopRule) -> list[Turn]:
    """Those that have time left and go on."""
    open_to_more = [turn for turn in turns if _goes_on(turn, rule)]
    pairs = _compared(open_to_more, _at_once(turns))
    places = rule.unmet([turn.progress for turn in open_to_more], pairs)
    return [open_to_more[place] for place in sorted(places)]


def _at_once(turns: Sequence[Turn]) -> int:
    """Comparisons with one baseline; that of a runner-up with its winner is one by itself."""
    return max(sum(turn.beside is None for turn in turns) - 1, 1)


def _compared(turns: Sequence[Turn], at_once: int) -> Iterator[tuple[int, int, Progress]]:
    """The places of each two that are compared, and how far their comparison has come."""
    stats = [(place, turn, turn.stats) for place, turn in enumerate(turns) if turn.samples_s]
    for (place, one, its_time), (its_place, other, its_others) in combinations(stats, 2):
        is_apart = one.beside is not None or other.beside is not None
        if is_apart and one.beside is not other and other.beside is not one:
            continue
        count = 1 if is_apart else at_once
        comparison, rounds = compare(its_time, its_others, in_turn=True, comparisons=count)
        difference = abs(math.log(comparison.ratio))
        spent_s = _spent_together_s(one, other)
        yield place, its_place, Progress(comparison.relative_half_width, rounds, spent_s, difference)


def _spent_together_s(one: Turn, other: Turn) -> float:
    """By the slower of the two, in rounds that both took part in: what their comparison has cost so far."""
    together = len({block.round for block in one.blocks} & {block.round for block in other.blocks})
    return max(turn.spent_s * together / len(turn.blocks) for turn in (one, other))


def _goes_on(turn: Turn, rule: StopRule) -> bool:
    """Until the cap; beyond it for an interval, unless calls are so long that three blocks have to do."""
    blocks = len(turn.blocks)
    return (
        turn.spent_s < rule.cap_s
        or blocks < _LEAST_BLOCKS
        or (blocks < LEAST_BLOCKS and turn.spent_s < _MORE_FOR_INTERVAL * rule.cap_s)
    )

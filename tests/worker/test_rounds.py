"""Which block next, with timers that return what the test says: no clock is read."""

from collections.abc import Callable, Iterator
from itertools import cycle, pairwise

import pytest
import torch

from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.analysis.stop_rules import QUICK_STOP, WarmUpRule
from roofscope.profiling.devices.device import DeviceState
from roofscope.profiling.planning.plan import Quality, Regime
from roofscope.profiling.results.outcome import Discard, Method
from roofscope.profiling.worker.timing import rounds
from roofscope.profiling.worker.timing import turn as turn_module
from roofscope.profiling.worker.timing.block import BlockReading, WhileBusy
from roofscope.profiling.worker.timing.rests import find_rest
from roofscope.profiling.worker.timing.rounds import (
    LEAD_IN_S,
    _compared,  # pyright: ignore[reportPrivateUsage]
    _unmet,  # pyright: ignore[reportPrivateUsage]
    measure,
    stop_rule,
    warm_up,
)
from roofscope.profiling.worker.timing.turn import Turn


class ScriptedTimer:
    """Gives the readings of a script, over and over."""

    method = Method.WALL_CLOCK
    reason = ""

    def __init__(self, readings: list[BlockReading], calls: int, log: list[str], name: str) -> None:
        self._readings = cycle(readings)
        self.calls_per_block = calls
        self._log = log
        self._name = name

    def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
        if meanwhile:
            meanwhile()
        self._log.append(self._name)
        return next(self._readings)

    def keep_busy(self, seconds: float) -> None:
        self._log.append(f"{self._name} for {seconds} s")

    def call_on_first_set(self) -> tuple[torch.Tensor, ...]:
        raise AssertionError("nothing is verified here")


def turn(log: list[str], name: str, seconds: float = 1e-5, calls: int = 1000) -> Turn:
    timer = ScriptedTimer([BlockReading(seconds, None)], calls, log, name)
    return Turn(timer)


def calm() -> DeviceState:
    return DeviceState()


def states(*sequence: DeviceState) -> Callable[[], DeviceState]:
    source: Iterator[DeviceState] = cycle(sequence)
    return lambda: next(source)


def test_every_round_gives_each_implementation_one_block_in_random_order() -> None:
    log: list[str] = []
    turns = [turn(log, name) for name in "abcd"]
    measure(turns, QUICK_STOP, calm, lambda: None)
    per_round = [log[at : at + 4] for at in range(0, len(log), 4)]
    assert all(sorted(names) == list("abcd") for names in per_round)
    assert len({tuple(names) for names in per_round}) > 1
    assert all(each.rounds == list(range(len(per_round))) for each in turns)


def test_a_sustained_block_follows_the_same_calls() -> None:
    """Behind one that draws less power it would find that one's clock."""
    log: list[str] = []
    turns = [turn(log, name) for name in "ab"]
    for each in turns:
        each.lead_in_s = LEAD_IN_S
    measure(turns, stop_rule(Quality.QUICK, Regime.SUSTAINED), calm, lambda: None)
    assert all(busy == f"{block} for 1.0 s" for busy, block in zip(log[::2], log[1::2], strict=True))
    assert len(log) == 2 * 2 * QUICK_STOP.first_checkpoint


def test_the_cap_of_a_sustained_run_has_room_for_its_lead_ins() -> None:
    assert stop_rule(Quality.QUICK, Regime.BURST) == QUICK_STOP
    assert stop_rule(Quality.QUICK, Regime.SUSTAINED).cap_s == QUICK_STOP.cap_s + 8 * LEAD_IN_S


def test_quiet_blocks_stop_at_the_first_checkpoint() -> None:
    log: list[str] = []
    measure([turn(log, "a")], QUICK_STOP, calm, lambda: None)
    assert len(log) == QUICK_STOP.first_checkpoint


def test_a_comparison_that_would_hide_one_per_cent_takes_more_rounds() -> None:
    log: list[str] = []
    noise = [BlockReading(1e-5 * (1 + 0.004 * part), None) for part in (0, 1, -1, 0.5, -0.5, 1, 0, -1)]
    one, other = (
        Turn(ScriptedTimer(readings, 1000, log, "a")) for readings in (noise, [*noise[3:], *noise[:3]])
    )
    alone = Turn(ScriptedTimer(noise, 1000, log, "a"))
    measure([alone], QUICK_STOP, calm, lambda: None)
    measure([one, other], QUICK_STOP, calm, lambda: None)
    assert len(alone.samples_s) == QUICK_STOP.first_checkpoint < len(one.samples_s)
    found, _ = compare(one.stats, other.stats, in_turn=True)
    assert found.relative_half_width <= QUICK_STOP.resolution
    assert one.spent_s < QUICK_STOP.cap_s / 2


def test_a_slow_implementation_spends_its_own_cap_and_not_its_rivals() -> None:
    log: list[str] = []
    noisy = ScriptedTimer([BlockReading(s, None) for s in (1e-5, 1.05e-5, 1.12e-5)], 1000, log, "fast")
    fast, slow = Turn(noisy), turn(log, "slow", seconds=1.5, calls=1)
    measure([fast, slow], QUICK_STOP, calm, lambda: None)
    assert len(slow.samples_s) == 3
    assert len(fast.samples_s) > 50  # its noise keeps it going until its own 2 s are spent
    assert fast.spent_s == pytest.approx(QUICK_STOP.cap_s, rel=0.05)


def test_one_that_is_beyond_hope_is_given_up_beside_calm_rivals() -> None:
    log: list[str] = []
    noisy = ScriptedTimer([BlockReading(s, None) for s in (1e-5, 2e-5, 4e-5)], 1000, log, "noisy")
    wild, calm_one = Turn(noisy), turn(log, "calm")
    measure([wild, calm_one], QUICK_STOP, calm, lambda: None)
    assert QUICK_STOP.cap_s / 4 <= wild.spent_s < QUICK_STOP.cap_s / 2
    assert wild.unstable_because


NOISE = (0, 1, -1, 0.5, -0.5, 1, 0, -1)


def uneasy(log: list[str], name: str, noise: float, seconds: float = 1e-5) -> Turn:
    readings = [BlockReading(seconds * (1 + noise * part), None) for part in NOISE]
    return Turn(ScriptedTimer(readings, 1000, log, name))


def is_met_by_all(turns: list[Turn]) -> bool:
    return not _unmet(turns, QUICK_STOP)


def test_who_is_known_well_sits_out_while_others_go_on() -> None:
    """The noisy one is ten times as slow, so that its comparisons are known before its own time is."""
    log: list[str] = []
    calm_ones = [turn(log, "a"), turn(log, "b", seconds=2e-5)]
    noisy = uneasy(log, "noisy", 0.02, seconds=1e-4)
    measure([*calm_ones, noisy], QUICK_STOP, calm, lambda: None)
    first = QUICK_STOP.first_checkpoint
    assert [each.rounds for each in calm_ones] == [list(range(first))] * 2
    assert noisy.rounds == list(range(len(noisy.samples_s)))
    assert len(noisy.samples_s) > first
    assert is_met_by_all([*calm_ones, noisy])


def test_both_of_a_comparison_go_on_until_it_is_known() -> None:
    log: list[str] = []
    alike = [uneasy(log, name, noise) for name, noise in (("a", 0.004), ("b", -0.004))]
    far = turn(log, "far", seconds=3e-5)
    measure([*alike, far], QUICK_STOP, calm, lambda: None)
    assert len(far.samples_s) == QUICK_STOP.first_checkpoint
    assert alike[0].rounds == alike[1].rounds
    assert len(alike[0].samples_s) > QUICK_STOP.first_checkpoint
    assert is_met_by_all([*alike, far])


def test_who_sat_out_takes_part_again_where_a_comparison_has_become_too_wide() -> None:
    """The other drifts away from where they were compared, so the ratio of the medians is another one."""
    log: list[str] = []
    steps = [*[1.006, 0.994] * 4, *[1.106, 1.094] * 200]
    drifts = [BlockReading(1.2e-5 * step, None) for step in steps]
    resting, drifting = turn(log, "resting"), Turn(ScriptedTimer(drifts, 1000, log, "drifting"))
    measure([resting, drifting], QUICK_STOP, calm, lambda: None)
    gaps = [b - a for a, b in pairwise(resting.rounds)]
    assert max(gaps) > 1, "it never sat out"
    assert resting.rounds[-1] > QUICK_STOP.first_checkpoint


def test_what_a_comparison_has_cost_is_the_rounds_of_both() -> None:
    """Else one that sat out would be given up for what the other spent without it."""
    one, other = turn([], "a"), turn([], "b")
    for number in range(40):
        other.take_block(number, calm)
        if number < 10:
            one.take_block(number, calm)
    [(_, _, pair)] = _compared([one, other], 1)
    assert (pair.blocks, pair.spent_s) == (10, pytest.approx(0.1, rel=0.01))


def test_all_take_part_again_where_one_has_to_rest_longer(slept: list[float]) -> None:
    log: list[str] = []
    calm_one, sagging = turn(log, "calm"), uneasy(log, "sagging", 0.02, seconds=1e-4)
    calm_one.fresh_hz = sagging.fresh_hz = 1980e6
    begun_at: list[int] = []
    clocks = iter([1980e6] * 9 + [1700e6] * 1000)
    read = lambda: DeviceState(clock_hz=next(clocks), event_reasons=("power cap",))  # noqa: E731
    measure(
        [calm_one, sagging],
        QUICK_STOP,
        read,
        lambda: None,
        before_longer_rests=lambda: begun_at.append(len(log)),
    )
    assert begun_at
    after = log[begun_at[-1] :]
    assert after.count("calm") >= QUICK_STOP.first_checkpoint


def test_rests_are_spent_time_too() -> None:
    one = turn([], "a")
    one.rest_s = 0.05
    one.take_block(0, calm)
    assert one.spent_s >= 0.05


HOT = DeviceState(event_reasons=("thermal slowdown (software)",))
SLOWED = DeviceState(event_reasons=("hardware slowdown",))


def test_few_slowed_blocks_are_discarded_for_their_cause() -> None:
    log: list[str] = []
    capped = DeviceState(event_reasons=("power cap",))
    one = turn(log, "a")
    measure([one], QUICK_STOP, states(capped, HOT, *[capped] * 6), lambda: None)
    [discard] = one.discards
    assert discard.cause == "thermal slowdown (software)"
    assert discard.blocks + len(one.samples_s) == len(log)
    assert one.evidence.event_reasons == ("power cap",)
    assert one.evidence.held_by == ("power cap",)


def beside_other_work(*readings: BlockReading) -> Turn:
    one = Turn(ScriptedTimer(list(readings), 1000, [], "a"))
    measure([one], QUICK_STOP, calm, lambda: None)
    return one


CALM = BlockReading(1e-5, None, 0.1)
HELD_UP = BlockReading(3e-5, None, 1.0)


def test_blocks_that_other_work_held_up_throughout_are_discarded_for_that_cause() -> None:
    one = beside_other_work(CALM, CALM, CALM, HELD_UP)
    [discard] = one.discards
    assert discard.cause == "preempted by other work"
    assert set(one.samples_s) == {1e-5}
    assert one.is_preempted  # 0.325 of the slices: the reader must know
    assert one.evidence.preempted == pytest.approx(0.325, abs=0.05)


def test_few_blocks_alone_count_more_than_many_beside_other_work() -> None:
    one = beside_other_work(*[HELD_UP] * 30, CALM)
    assert 1 <= len(one.samples_s) < 5
    assert set(one.samples_s) == {1e-5}
    assert one.unstable_because
    assert one.is_preempted


def test_a_little_other_work_is_no_condition() -> None:
    one = beside_other_work(CALM)
    assert not one.is_preempted
    assert one.discards == ()


def test_where_other_work_never_pauses_the_times_are_kept_and_labelled() -> None:
    one = beside_other_work(HELD_UP)
    assert set(one.samples_s) == {3e-5}
    assert len(one.samples_s) == len(one.rounds) > 5
    assert one.discards == ()
    assert one.is_preempted


@pytest.mark.parametrize(
    "told", [pytest.param([HOT], id="always"), pytest.param([*[HOT] * 9, DeviceState()], id="90 %")]
)
def test_heat_that_stays_is_a_condition_of_the_run(told: list[DeviceState]) -> None:
    log: list[str] = []
    one = turn(log, "a")
    measure([one], QUICK_STOP, states(*told), lambda: None)
    assert one.discards == ()
    assert len(one.samples_s) == len(log) == QUICK_STOP.first_checkpoint
    assert one.evidence.held_by == ("thermal slowdown (software)",)
    assert one.unstable_because is None


def test_hardware_that_slows_down_for_long_leaves_an_unstable_result() -> None:
    one = turn([], "a")
    measure([one], QUICK_STOP, states(SLOWED), lambda: None)
    assert len(one.samples_s) == QUICK_STOP.first_checkpoint
    assert one.unstable_because == "More than a quarter of the blocks ran under hardware slowdown."


def test_no_interval_rests_on_fewer_than_five_blocks() -> None:
    one = turn([], "a")
    for number in range(4):
        one.take_block(number, calm)
    assert (one.stats.low_s, one.stats.high_s, one.stats.bounds_s) == (None, None, None)
    assert one.unstable_because == "Only 4 blocks were kept, and an interval needs 5."
    one.take_block(4, calm)
    assert one.stats.bounds_s == pytest.approx((1e-5, 1e-5))


def test_long_calls_get_the_blocks_of_an_interval_within_two_caps() -> None:
    within, beyond = turn([], "a", seconds=0.79, calls=1), turn([], "b", seconds=1.5, calls=1)
    measure([within, beyond], QUICK_STOP, calm, lambda: None)
    assert (len(within.samples_s), len(beyond.samples_s)) == (5, 3)


def test_reasons_that_the_driver_does_not_give_are_not_nothing() -> None:
    unknown, nothing = turn([], "a"), turn([], "b")
    unknown.take_block(0, DeviceState)
    nothing.take_block(0, lambda: DeviceState(event_reasons=()))
    assert unknown.evidence.event_reasons is None
    assert nothing.evidence.event_reasons == ()


def test_a_clock_that_sags_for_no_reason_leaves_the_time_at_the_fresh_one_in_the_interval() -> None:
    fallen = ScriptedTimer([BlockReading(1e-5, 1700e6)], 1000, [], "fallen")
    one = Turn(fallen, fresh_hz=1980e6)
    measure([one], QUICK_STOP, states(DeviceState(event_reasons=())), lambda: None)
    assert one.stats.median_s == 1e-5
    assert one.stats.reference_hz == pytest.approx(1700e6)
    assert one.stats.bounds_s == pytest.approx((1e-5 * 1700 / 1980, 1e-5))
    told = Turn(fallen, fresh_hz=1980e6)
    measure([told], QUICK_STOP, states(HOT), lambda: None)
    assert told.stats.bounds_s == pytest.approx((1e-5, 1e-5))


def test_a_sag_that_no_driver_explains_is_answered_by_rests_as_a_power_cap_is(slept: list[float]) -> None:
    one = Turn(CappedTimer(slept, unless_it_rests(0.005)))
    find_rest(one, 1980e6, calm)
    measure([one], QUICK_STOP, calm, lambda: None, before_longer_rests=lambda: None)
    assert one.rest_s == 0.005
    assert set(one.samples_s) == {1e-5}


def test_the_state_is_read_while_the_device_works() -> None:
    log: list[str] = []

    class Working(ScriptedTimer):
        def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
            log.append("begin")
            reading = super().block(meanwhile)
            log.append("end")
            return reading

    def read() -> DeviceState:
        log.append("read")
        return HOT

    one = Turn(Working([BlockReading(1e-5, None)], 1000, [], "a"))
    one.take_block(0, read)
    assert log == ["begin", "read", "end"]
    assert one.blocks[0].state is HOT


def test_cancelling_ends_it_between_rounds() -> None:
    log: list[str] = []

    def stop_after_three() -> None:
        if len(log) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        measure([turn(log, "a")], QUICK_STOP, calm, stop_after_three)
    assert len(log) == 3


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(turn_module.time, "sleep", found.append)
    return found


class SaggingTimer(ScriptedTimer):
    """Its clock depends on the rest before the block, as the test says."""

    def __init__(self, clocks_mhz: dict[float, float], slept: list[float]) -> None:
        super().__init__([BlockReading(1e-5, None)], 1000, [], "sagging")
        self._clocks_mhz = clocks_mhz
        self._slept = slept

    def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
        if meanwhile:
            meanwhile()
        return BlockReading(1e-5, self._clocks_mhz[self._slept[-1]] * 1e6)


@pytest.mark.parametrize(
    ("clocks_mhz", "rest_s"),
    [
        ({0.0: 1400, 0.005: 1610, 0.02: 1615, 0.08: 1620}, 0.005),
        ({0.0: 1400, 0.005: 1450, 0.02: 1615, 0.08: 1620}, 0.02),  # longer rests help no more
        ({0.0: 1400, 0.02: 1500, 0.04: 1965, 0.08: 1975}, 0.04),
        ({0.0: 1400, 0.02: 1500, 0.04: 1700, 0.08: 1975}, 0.08),
        ({0.0: 1800, 0.005: 1805, 0.02: 1800, 0.08: 1802}, 0.0),  # however rested: a low clock
        ({0.0: 1975}, 0.0),  # the full clock at once
    ],
)
def test_a_burst_rests_as_long_as_that_raises_the_clock(
    slept: list[float], clocks_mhz: dict[float, float], rest_s: float
) -> None:
    one = Turn(SaggingTimer(clocks_mhz, slept))
    find_rest(one, 1980e6, calm)
    assert one.rest_s == rest_s


def test_rivals_rest_alike(slept: list[float]) -> None:
    """Else the one that rests less is hotter, and alone once the others have spent their time."""
    cool, sagging, stuck = (
        Turn(SaggingTimer(clocks_mhz, slept))
        for clocks_mhz in (
            {0.0: 1975, 0.02: 1975},
            {0.0: 1400, 0.005: 1450, 0.02: 1615, 0.08: 1620},
            {0.02: 1300, 0.08: 1301},  # asked for what it needs from there on only
        )
    )
    warm_up([cool, sagging, stuck], WarmUpRule(least_s=0.0, most_s=0.01), calm, full_clock_hz=1980e6)
    assert [one.rest_s for one in (cool, sagging, stuck)] == [0.02, 0.02, 0.02]


def test_long_blocks_heat_as_long_as_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the sustained regime; and what the warm-up spent is not taken from the measuring."""
    now = [0.0]
    monkeypatch.setattr(rounds.time, "monotonic", lambda: now[0])
    log: list[str] = []
    turns = [turn(log, name, seconds=0.5, calls=1) for name in "ab"]
    for one in turns:
        monkeypatch.setattr(one.timer, "block", _advancing(one.timer.block, now))
    warm_up(turns, WarmUpRule(least_s=3.0, most_s=6.0), calm)
    assert now[0] == 3.0
    assert log == list("ab") * 3
    assert [one.spent_s for one in turns] == [0.0, 0.0]


RunBlock = Callable[[WhileBusy | None], BlockReading]


def _advancing(block: RunBlock, now: list[float]) -> RunBlock:
    def advance(meanwhile: WhileBusy | None = None) -> BlockReading:
        reading = block(meanwhile)
        now[0] += reading.seconds
        return reading

    return advance


def test_steps_between_are_looked_at_only_where_the_longest_rest_helps(slept: list[float]) -> None:
    find_rest(Turn(SaggingTimer({0.0: 1800, 0.08: 1802}, slept)), 1980e6, calm)
    assert set(slept) == {0.0, 0.08}


def test_a_long_block_rests_no_longer(slept: list[float]) -> None:
    """A call of 0.3 s has the clock that it ends with; rests of milliseconds change nothing of it."""
    log: list[str] = []
    long = Turn(ScriptedTimer([BlockReading(0.3, 1400e6)], 1, log, "long"))
    find_rest(long, 1980e6, calm)
    assert (long.rest_s, long.fresh_hz) == (0.0, 1400e6)
    assert log == ["long"]


def test_only_a_call_that_is_a_block_is_long() -> None:
    alone, several, quick = turn([], "a", 0.3, 1), turn([], "b", 0.3, 2), turn([], "c", 0.09, 1)
    for one in (alone, several, quick):
        one.take_block(0, calm)
    assert [one.has_long_calls for one in (alone, several, quick)] == [True, False, False]


def test_rested_blocks_are_warmed_up_by_the_search(slept: list[float]) -> None:
    """One that searched before another needed a longer rest runs a block with that rest."""
    sagging = SaggingTimer({0.0: 1400, 0.005: 1450, 0.02: 1615, 0.08: 1620}, slept)
    turns = [turn([], "calm"), Turn(sagging), turn([], "calm")]
    warm_up(turns, WarmUpRule(least_s=3.0, most_s=6.0), calm, full_clock_hz=1980e6)
    first, its_search, others_search = 1, 3, 2
    assert slept.count(0.02) == first + its_search + others_search


def test_blocks_that_show_a_full_clock_are_the_first_of_the_warm_up() -> None:
    log: list[str] = []
    turns = [Turn(ScriptedTimer([BlockReading(1e-5, 1975e6)], 1000, log, name)) for name in "abcd"]
    warm_up(turns, WarmUpRule(least_s=0.0, most_s=6.0), calm, full_clock_hz=1980e6)
    assert log == [name for name in "abcd" for _ in range(4)]
    drifting = [BlockReading(seconds, 1975e6) for seconds in (1.0e-5, 1.1e-5, 1.2e-5, 1.3e-5, 1.3e-5)]
    turns.append(Turn(ScriptedTimer([*drifting, *[drifting[-1]] * 1000], 1000, log, "e")))
    warm_up(turns, WarmUpRule(least_s=0.0, most_s=6.0), calm, full_clock_hz=1980e6)
    assert log.count("e") > 4
    assert log[-5:] == list("abcde")


CAPPED = DeviceState(event_reasons=("power cap",))


class CappedTimer(ScriptedTimer):
    """From a block on the power cap slows it down, by so much at each rest, and its clock with it."""

    def __init__(self, slept: list[float], slow_at: Callable[[float], float], since: int = 5) -> None:
        super().__init__([BlockReading(1e-5, None)], 1000, [], "capped")
        self._slept = slept
        self._slow_at = slow_at
        self._since = since
        self._blocks = 0

    def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
        if meanwhile:
            meanwhile()
        self._blocks += 1
        slow = self._slow_at(self._slept[-1]) if self._blocks >= self._since else 1.0
        return BlockReading(slow * 1e-5, 1980e6 / slow)


def unless_it_rests(enough_s: float) -> Callable[[float], float]:
    return lambda rest_s: 1.2 if rest_s < enough_s else 1.0


def capped_after_its_search(slept: list[float], slow_at: Callable[[float], float], since: int = 5) -> Turn:
    one = Turn(CappedTimer(slept, slow_at, since))
    find_rest(one, 1980e6, lambda: CAPPED)
    assert (one.rest_s, one.fresh_hz) == (0.0, 1980e6)
    return one


@pytest.mark.parametrize(
    ("slow_at", "passes", "rest_s", "seconds"),
    [
        pytest.param(unless_it_rests(0.005), 2, 0.005, 1e-5, id="the first step helps"),
        pytest.param(unless_it_rests(0.02), 3, 0.02, 1e-5, id="the second helps"),
        pytest.param(unless_it_rests(1.0), 3, 0.02, 1.2e-5, id="two in vain are enough"),
        pytest.param({0.0: 1.04, 0.005: 1.15, 0.02: 1.0}.__getitem__, 3, 0.02, 1e-5, id="still falling"),
    ],
)
def test_where_the_power_cap_comes_late_all_rest_longer_and_begin_again(
    slept: list[float], slow_at: Callable[[float], float], passes: int, rest_s: float, seconds: float
) -> None:
    told: list[None] = []
    turns = [capped_after_its_search(slept, slow_at), turn([], "calm")]
    measure(turns, QUICK_STOP, lambda: CAPPED, lambda: None, before_longer_rests=lambda: told.append(None))
    assert len(told) == passes - 1
    assert [one.rest_s for one in turns] == [rest_s, rest_s]
    blocks = QUICK_STOP.first_checkpoint
    assert [len(one.samples_s) for one in turns] == [blocks] * 2
    assert turns[0].rounds == list(range(blocks))
    assert turns[0].samples_s == [seconds] * blocks
    [given_up] = turns[0].discards
    assert given_up == Discard(
        "measured before rests grew (power cap)", blocks * (passes - 1), is_fault=False
    )
    assert turns[0].unstable_because is None


def test_one_that_sags_after_its_rival_is_heard_as_well(slept: list[float]) -> None:
    early = capped_after_its_search(slept, unless_it_rests(0.005))
    late = capped_after_its_search(slept, unless_it_rests(0.02), since=14)
    measure([early, late], QUICK_STOP, lambda: CAPPED, lambda: None, before_longer_rests=lambda: None)
    assert (early.rest_s, late.rest_s) == (0.02, 0.02)
    assert set(late.samples_s) == {1e-5}


def test_faults_of_blocks_given_up_do_not_make_those_that_count_unstable(slept: list[float]) -> None:
    hot = DeviceState(event_reasons=("thermal slowdown (hardware)",))
    one = capped_after_its_search(slept, unless_it_rests(0.005))
    for number in range(2):
        one.take_block(number, lambda: hot)
    measure([one], QUICK_STOP, lambda: CAPPED, lambda: None, before_longer_rests=lambda: None)
    assert [discard.blocks for discard in one.discards] == [2, QUICK_STOP.first_checkpoint]
    assert one.unstable_because is None


def test_a_clock_that_jitters_is_none_that_sags(slept: list[float]) -> None:
    clocks_hz = [1500e6 * (1 + step * 0.006) for step in (0, 1, -1, 2, -2)]
    timer = ScriptedTimer([BlockReading(1e-5, hertz) for hertz in clocks_hz], 1000, [], "a")
    one = Turn(timer, fresh_hz=1500e6)
    measure([one], QUICK_STOP, lambda: CAPPED, lambda: None, before_longer_rests=lambda: None)
    assert one.rest_s == 0.0
    assert one.discards == ()


def test_a_sustained_run_does_not_rest(slept: list[float]) -> None:
    one = capped_after_its_search(slept, unless_it_rests(0.005))
    measure([one], QUICK_STOP, lambda: CAPPED, lambda: None)
    assert one.rest_s == 0.0
    assert one.samples_s == [1.2e-5] * QUICK_STOP.first_checkpoint


def test_without_a_clock_nothing_rests(slept: list[float]) -> None:
    one = turn([], "a")
    find_rest(one, 1980e6, calm)
    assert one.rest_s == 0.0
    assert set(slept) == {0.0}

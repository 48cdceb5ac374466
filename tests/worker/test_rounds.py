"""Which block next, with timers that return what the test says: no clock is read."""

from collections.abc import Callable, Iterator
from itertools import cycle

import pytest
import torch

from profiling.devices import DeviceState
from profiling.outcome import Method
from profiling.plan import Regime
from profiling.statistics import QUICK_STOP
from profiling.worker import rounds
from profiling.worker.rounds import Pace, Turn, measure
from profiling.worker.timing import BlockReading


class ScriptedTimer:
    """Gives the readings of a script, for ever."""

    method = Method.WALL_CLOCK
    reason = ""

    def __init__(self, readings: list[BlockReading], calls: int, log: list[str], name: str) -> None:
        self._readings = cycle(readings)
        self.calls_per_block = calls
        self._log = log
        self._name = name

    def block(self) -> BlockReading:
        self._log.append(self._name)
        return next(self._readings)

    def call_on_first_set(self) -> tuple[torch.Tensor, ...]:
        raise AssertionError("nothing is verified here")


def turn(log: list[str], name: str, seconds: float = 1e-5, calls: int = 1000) -> Turn:
    timer = ScriptedTimer([BlockReading(seconds, None)], calls, log, name)
    return Turn(timer, Pace(Regime.BURST, None))


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


def test_quiet_blocks_stop_at_the_first_checkpoint() -> None:
    log: list[str] = []
    measure([turn(log, "a")], QUICK_STOP, calm, lambda: None)
    assert len(log) == QUICK_STOP.first_checkpoint


def test_a_slow_implementation_spends_its_own_cap_and_not_its_rivals() -> None:
    log: list[str] = []
    noisy = ScriptedTimer([BlockReading(s, None) for s in (1e-5, 2e-5, 4e-5)], 1000, log, "fast")
    fast, slow = Turn(noisy, Pace(Regime.BURST, None)), turn(log, "slow", seconds=1.5, calls=1)
    measure([fast, slow], QUICK_STOP, calm, lambda: None)
    assert len(slow.samples_s) == 3
    assert len(fast.samples_s) > 50  # its noise keeps it going until its own 2 s are spent
    assert fast.spent_s == pytest.approx(QUICK_STOP.cap_s, rel=0.05)


def test_blocks_are_discarded_for_a_named_cause_only() -> None:
    log: list[str] = []
    hot = DeviceState(event_reasons=("thermal slowdown (hardware)",))
    capped = DeviceState(event_reasons=("power cap",))
    one = turn(log, "a")
    measure([one], QUICK_STOP, states(capped, hot, capped, capped), lambda: None)
    [discard] = one.discards
    assert discard.cause == "thermal slowdown (hardware)"
    assert discard.blocks + len(one.samples_s) == len(log)
    assert one.evidence.event_reasons == ("power cap",)


def test_when_all_blocks_are_discarded_the_result_is_unstable_and_not_empty() -> None:
    log: list[str] = []
    hot = DeviceState(event_reasons=("hardware slowdown",))
    one = turn(log, "a", seconds=0.5, calls=1)
    measure([one], QUICK_STOP, states(hot), lambda: None)
    assert one.samples_s == [0.5]
    assert one.unstable_because is not None


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
    monkeypatch.setattr(rounds.time, "sleep", found.append)
    return found


def rests(pace: Pace, clocks_mhz: list[float], slept: list[float]) -> list[float]:
    for clock in clocks_mhz:
        pace.rest()
        pace.note(clock * 1e6)
    return slept


def test_a_burst_rests_longer_while_that_raises_the_clock(slept: list[float]) -> None:
    pace = Pace(Regime.BURST, 1980e6)
    assert rests(pace, [1400, 1500, 1620, 1621, 1620], slept) == [0.0, 0.005, 0.01, 0.02, 0.01]


def test_a_kernel_that_holds_a_low_clock_however_rested_does_not_rest(slept: list[float]) -> None:
    assert rests(Pace(Regime.BURST, 1980e6), [1800, 1800, 1800, 1500], slept) == [0.0, 0.005, 0.0, 0.0]


def test_at_the_full_clock_and_in_the_sustained_regime_nothing_rests(slept: list[float]) -> None:
    assert rests(Pace(Regime.BURST, 1980e6), [1975, 1980, 1970], slept) == [0.0] * 3
    slept.clear()
    assert rests(Pace(Regime.SUSTAINED, 1980e6), [1400, 1400, 1400], slept) == [0.0] * 3

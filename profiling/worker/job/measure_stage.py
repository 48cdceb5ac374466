"""The measure stage: all implementations of a job in turn, by the referee's rules, in their own process."""

from collections.abc import Callable, Sequence

from roofscope.profiling.planning.plan import Job, Regime
from roofscope.profiling.worker.candidate.messages import Counts, ReadActivity
from roofscope.profiling.worker.job.activity import Activity
from roofscope.profiling.worker.job.check_stage import Candidate
from roofscope.profiling.worker.job.link import Link
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.rounds import LEAD_IN_S, measure, stop_rule, warm_up, warm_up_rule

_HOT_ROUNDS = 3


def measure_in_turn(
    candidates: Sequence[Candidate],
    job: Job,
    instruments: Instruments,
    link: Link,
    begin: Callable[[], None],
    check_cancelled: Callable[[], None],
) -> str:
    """Fill the candidates' turns; returns what compiled or allocated meanwhile, empty for nothing.

    ``begin`` announces the stage, and again where all begin again with longer rests.
    """
    begin()
    turns = [turn for candidate in candidates for turn in candidate.turns]
    is_burst = job.regime is Regime.BURST
    for turn in turns:
        turn.lead_in_s = 0.0 if is_burst else LEAD_IN_S
    full_clock_hz = instruments.full_clock_hz if is_burst else None
    warm_up(turns, warm_up_rule(job.quality, job.regime), instruments.read_state, full_clock_hz)
    before = _activity(link)
    again = begin if is_burst else None
    rule = stop_rule(job.quality, job.regime)
    measure(turns, rule, instruments.read_state, check_cancelled, before_longer_rests=again)
    happened = _activity(link).since(before)
    for candidate in candidates:
        _measure_hot(candidate, instruments)
    return happened


def _measure_hot(candidate: Candidate, instruments: Instruments) -> None:
    if candidate.hot is None or candidate.turn.has_long_calls:  # what L2 holds is nothing beside those
        return
    candidate.hot.rest_s = candidate.turn.rest_s
    candidate.hot.timer.block()
    for number in range(_HOT_ROUNDS):
        candidate.hot.take_block(number, instruments.read_state)


def _activity(link: Link) -> Activity:
    return Activity(*link.ask(ReadActivity(), Counts).values)

"""What autotuners tried, as records of raw SI values, and how the winner stands beside its runner-up."""

import csv
import io
from collections.abc import Iterable, Iterator

from msgspec import Struct

from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.plain_text import cell_text
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.tuning import Configuration, Tuning


class ConfigurationRecord(Struct, frozen=True, kw_only=True):
    """One configuration that an autotuner was offered. ``tuner_s`` is by the tuner's own short timer."""

    options: dict[str, str]
    num_warps: int | None
    num_stages: int | None
    num_ctas: int | None
    maxnreg: int | None
    pre_hook: str
    tuner_s: float | None
    over_best: float | None  # its time over that of the fastest, by the tuner's timer
    is_winner: bool  # that the tuner chose, and the point was measured with
    is_runner_up: bool
    left_out: str | None  # why it has no time
    reason: str


class TuningRecord(Struct, frozen=True, kw_only=True):
    """An autotuner's choice for the calls of a point; the runner-up's ratio is by the referee, in turn."""

    number: int  # of the point
    implementation: str
    workload: str
    kernel: str
    key: tuple[str, ...]
    tuning_s: float | None
    is_cached: bool
    more: int  # configurations beyond what the session keeps
    runner_up_ratio: float | None  # its time over the winner's, with its 95 % interval
    runner_up_low: float | None
    runner_up_high: float | None
    runner_up_verdict: str | None  # slower, faster, not distinguishable, not known
    runner_up_missing: str  # why it was not timed
    configurations: tuple[ConfigurationRecord, ...]


def beside_runner_up(measured: Measured, tuning: Tuning) -> Comparison | None:
    """The runner-up's time over the winner's; None where it was not timed."""
    second = tuning.runner_up
    if second is None or second.time is None:
        return None
    return compare(second.time, measured.time, in_turn=True)[0]


def runner_up_verdict(found: Comparison | None) -> str | None:
    if found is None:
        return None
    if not found.is_known:
        return "not known"
    if not found.distinguishable:
        return "not distinguishable"
    return "slower" if found.ratio > 1 else "faster"


def best_s(tuning: Tuning) -> float | None:
    """The shortest time by the tuner's own timer."""
    return min((c.seconds for c in tuning.configurations if c.seconds is not None), default=None)


def over_best(configuration: Configuration, best: float | None) -> float | None:
    return configuration.seconds / best if configuration.seconds is not None and best else None


def tuning_records(points: Iterable[Point]) -> tuple[TuningRecord, ...]:
    """Of each point that was tuned, in the order of its launches."""
    measured = ((point, point.measured) for point in points if point.measured)
    return tuple(_record(point, found, tuning) for point, found in measured for tuning in found.tunings)


def _record(point: Point, measured: Measured, tuning: Tuning) -> TuningRecord:
    found = beside_runner_up(measured, tuning)
    is_known = found is not None and found.is_known
    return TuningRecord(
        number=point.number,
        implementation=point.implementation.key,
        workload=point.job.workload.label,
        kernel=tuning.kernel,
        key=tuning.key,
        tuning_s=tuning.tuning_s,
        is_cached=tuning.is_cached,
        more=tuning.more,
        runner_up_ratio=found.ratio if found else None,
        runner_up_low=found.low if found and is_known else None,
        runner_up_high=found.high if found and is_known else None,
        runner_up_verdict=runner_up_verdict(found),
        runner_up_missing=tuning.runner_up.missing if tuning.runner_up else "",
        configurations=tuple(_configurations(tuning)),
    )


def _configurations(tuning: Tuning) -> Iterator[ConfigurationRecord]:
    best = best_s(tuning)
    second = tuning.runner_up.configuration if tuning.runner_up else None
    for number, each in enumerate(tuning.configurations):
        yield ConfigurationRecord(
            options=dict(each.options),
            num_warps=each.warps,
            num_stages=each.stages,
            num_ctas=each.ctas,
            maxnreg=each.most_registers,
            pre_hook=each.pre_hook,
            tuner_s=each.seconds,
            over_best=over_best(each, best),
            is_winner=number == tuning.winner,
            is_runner_up=number == second,
            left_out=str(each.left_out) if each.left_out else None,
            reason=each.reason,
        )


_COLUMNS = (
    *("number", "implementation", "workload", "kernel", "key", "options"),
    *("num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook"),
    *("tuner_s", "over_best", "is_winner", "is_runner_up", "left_out", "reason"),
    *("runner_up_ratio", "runner_up_low", "runner_up_high", "runner_up_verdict"),
)


def tuning_csv(records: Iterable[TuningRecord]) -> str:
    """A line a configuration, RFC 4180; the runner-up's ratio stands in its own line alone."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    for record in records:
        for each in record.configurations:
            options = "; ".join(f"{name}={value}" for name, value in each.options.items())
            of_second = (record.runner_up_ratio, record.runner_up_low, record.runner_up_high)
            judged = (*of_second, record.runner_up_verdict) if each.is_runner_up else (None,) * 4
            cells = (
                *(record.number, record.implementation, record.workload, record.kernel),
                *("; ".join(record.key), options),
                *(each.num_warps, each.num_stages, each.num_ctas, each.maxnreg, each.pre_hook),
                *(each.tuner_s, each.over_best, each.is_winner, each.is_runner_up),
                *(each.left_out, each.reason, *judged),
            )
            writer.writerow([cell_text(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()

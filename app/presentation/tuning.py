"""What an autotuner tried, as both faces show it: the choice in short, its verdict, and the whole table."""

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct

from roofscope.app.presentation.fact import Fact, Section, section
from roofscope.app.presentation.formatting import (
    MISSING,
    duration_text,
    interval_text,
    percent_text,
    range_text,
    ratio_text,
    time_text,
)
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.analysis.tuning_record import beside_runner_up, best_s, over_best, runner_up_verdict
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.tuning import Configuration, LeftOut, Tuning

COLUMNS = (
    ("Configuration", "What the compiler was given; what all have in common is above"),
    ("Time", "Of a call by the autotuner's own short timer; the headline is the referee's"),
    ("Over the best", "This time over the shortest one"),
    ("What came of it", "Why it was left out, or what it is among those that were timed"),
)
NOT_TUNED = (
    "was not tuned: it launches no kernel of Triton's autotuner, or was measured before Roofscope kept what "
    "such a kernel tried."
)
TUNING = "Tuning"  # the group of facts, and the pane
_MUCH = 2.0  # from here on a ratio reads better than a percentage
_WHY = {
    LeftOut.PRUNED: "pruned",
    LeftOut.MODEL: "left by its performance model",
    LeftOut.RESOURCES: "out of resources",
    LeftOut.COMPILE_ERROR: "not compiled",
    LeftOut.FAILED: "failed",
    LeftOut.NOT_TIMED: "not timed",
}


class Tried(Struct, frozen=True):
    """A configuration as a row. ``ratio`` is its time over the best, for its bar; None where it has none."""

    number: int
    name: str
    in_full: str
    seconds: float | None
    ratio: float | None
    note: str  # winner, runner-up with its verdict, or why it was left out
    is_winner: bool = False
    is_runner_up: bool = False

    @property
    def cells(self) -> tuple[str, ...]:
        time = time_text(self.seconds) if self.seconds is not None else MISSING
        return (self.name, time, _over_text(self.ratio), self.note)


class TuningTable(Struct, frozen=True):
    """One autotuner's trial: the timed ones, the fastest first, then those that were left out."""

    kernel: str
    key: str
    common: str  # what all configurations share; "" for nothing
    summary: str
    verdict: str
    rows: tuple[Tried, ...]

    @property
    def note(self) -> str:
        """The summary with what holds for all rows, as sentences."""
        key = f" for {self.key}" if self.key else ""
        common = f" All have {self.common}." if self.common else ""
        return f"{self.kernel}{key}: {self.summary}.{common}"


def _over_text(ratio: float | None) -> str:
    """``best``, ``+4.1 %``, ``2.21×``."""
    if ratio is None:
        return MISSING
    if ratio == 1:
        return "best"
    return f"+{percent_text(ratio - 1)}" if ratio < _MUCH else ratio_text(ratio)


def tuning_tables(point: Point) -> tuple[TuningTable, ...]:
    """Empty where the point was not tuned."""
    measured = point.measured
    return tuple(_table(measured, tuning) for tuning in measured.tunings) if measured else ()


def not_tuned_text(point: Point) -> str:
    if point.measured is None:
        return f"{point.label} has no time, so nothing of its tuning is kept."
    return f"{point.label} {NOT_TUNED}"


def configuration_text(measured: Measured | None) -> str:
    """The winners in short, for a column: ``BLOCK=128 num_warps=4``; "" where nothing was tuned."""
    if measured is None:
        return ""
    if measured.tunings:
        return "; ".join(_winner_text(tuning) for tuning in measured.tunings)
    return _of_older_session(measured.build.configuration or "")


def tuning_section(measured: Measured) -> Section:
    """For the details."""
    several = len(measured.tunings) > 1
    facts: list[Fact] = []
    for tuning in measured.tunings:
        if several:
            facts.append(Fact("Kernel", one_line(tuning.kernel)))
        key = one_line(", ".join(tuning.key))
        full = _in_full(tuning.configurations[tuning.winner])
        facts += [
            Fact("Winner", _winner_text(tuning), f"{full}\nfor {key}" if key else full),
            Fact("Runner-up", verdict_text(measured, tuning), _VERDICT_TIP),
            Fact("Tried", summary_text(tuning)),
        ]
    return section(TUNING, *facts)


_VERDICT_TIP = "Both timed in turn by the referee: the tuner's own timer is short, so noise may have chosen"


def verdict_text(measured: Measured, tuning: Tuning) -> str:
    """What the referee found of the winner beside its runner-up, as a sentence; "" where there is none."""
    second = tuning.runner_up
    if second is None:
        return ""
    name = _name_of(tuning)(tuning.configurations[second.configuration])
    found = beside_runner_up(measured, tuning)
    if found is None:
        return one_line(second.missing) or f"{name} was not timed."
    if not found.is_known:
        return f"{name}: too few blocks to say which is faster."
    if not found.distinguishable:
        return f"{name} is {_difference(found)}: no difference seen."
    if found.ratio > 1:
        return f"{name} is {_difference(found)}: the choice holds."
    return f"{name} is {_difference(found)}: it is the true winner, and the tuner missed it."


def tuned_sentences(point: Point) -> Iterator[tuple[str, bool]]:
    """Of each tuner with a runner-up the two side by side, and whether the tuner missed the true winner."""
    measured = point.measured
    if measured is None:
        return
    for tuning in measured.tunings:
        if beside := verdict_text(measured, tuning):
            found = beside_runner_up(measured, tuning)
            joint = "; runner-up" if found else "."
            yield f"{_winner_text(tuning)}{joint} {beside}", runner_up_verdict(found) == "faster"


def summary_text(tuning: Tuning) -> str:
    """``3 timed, 4 left out (2 pruned, 1 out of resources, 1 failed), in 1.2 s``."""
    left = Counter(c.left_out for c in tuning.configurations if c.left_out is not None)
    timed = sum(c.seconds is not None for c in tuning.configurations)
    parts = [f"{timed} timed"]
    if left:
        why = ", ".join(f"{count} {_WHY[kind]}" for kind, count in left.most_common())
        parts.append(f"{left.total()} left out ({why})")
    if tuning.more:
        parts.append(f"{tuning.more} more than a session keeps")
    if tuning.is_cached:
        parts.append("from an earlier tuning on disk")
    elif tuning.tuning_s is not None and timed:
        took = tuning.tuning_s
        parts.append(f"in {time_text(took) if took < 1 else duration_text(took)}")
    return ", ".join(parts)


def _difference(found: Comparison) -> str:
    """``0.3 % ± 0.5 % slower``; as factors where it is large."""
    word = "slower" if found.ratio >= 1 else "faster"
    ratio, low, high = found.ratio, found.low, found.high
    if found.is_wide:
        return f"{range_text(low, high)}× its time"
    if not 1 / _MUCH < ratio < _MUCH:
        factor, ends = (ratio, (low, high)) if ratio > 1 else (1 / ratio, (1 / high, 1 / low))
        return f"{ratio_text(factor)} ({range_text(*ends)}) {word}"
    return f"{percent_text(abs(ratio - 1))} {interval_text((high - low) / 2)} {word}"


def _table(measured: Measured, tuning: Tuning) -> TuningTable:
    name, best = _name_of(tuning), best_s(tuning)
    second = tuning.runner_up.configuration if tuning.runner_up else None
    rows: list[Tried] = []
    in_order = sorted(enumerate(tuning.configurations), key=lambda each: _order(*each))
    for number, each in in_order:
        is_winner, is_second = number == tuning.winner, number == second
        note = "winner" if is_winner else _second_text(measured, tuning) if is_second else ""
        if each.left_out and not is_winner:
            note = ": ".join(filter(None, (_WHY[each.left_out], one_line(each.reason))))
        ratio = over_best(each, best)
        rows.append(
            Tried(number, name(each), _in_full(each), each.seconds, ratio, note, is_winner, is_second)
        )
    common = _options_text(_common(tuning))
    verdict = verdict_text(measured, tuning)
    return TuningTable(
        one_line(tuning.kernel),
        one_line(", ".join(tuning.key)),
        common,
        summary_text(tuning),
        f"Runner-up in turn: {verdict}" if verdict else _without_runner_up(rows),
        tuple(rows),
    )


def _second_text(measured: Measured, tuning: Tuning) -> str:
    """``runner-up, in turn 0.3 % ± 0.6 % slower``."""
    found = beside_runner_up(measured, tuning)
    return f"runner-up, in turn {_difference(found)}" if found and found.is_known else "runner-up"


def _order(number: int, configuration: Configuration) -> tuple[bool, float, int]:
    """The fastest first, those without a time last, as their file has them."""
    return (configuration.seconds is None, configuration.seconds or 0.0, number)


def _without_runner_up(rows: list[Tried]) -> str:
    if sum(row.seconds is not None for row in rows) > 1:
        return "No runner-up was timed in turn."
    return "One configuration was left to choose from, so there was nothing to time it against."


def _winner_text(tuning: Tuning) -> str:
    return _name_of(tuning)(tuning.configurations[tuning.winner])


def _name_of(tuning: Tuning) -> Callable[[Configuration], str]:
    """Names by what tells the configurations apart; in full where there is one, or all are alike."""
    common = _common(tuning)
    if len(tuning.configurations) == 1:
        common = {}

    def name(configuration: Configuration) -> str:
        options = _options(configuration)
        apart = {key: value for key, value in options.items() if key not in common}
        return _options_text(apart or options)

    return name


def _common(tuning: Tuning) -> dict[str, str]:
    """Options that all configurations have alike."""
    first, *others = [_options(each) for each in tuning.configurations]
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}


def _options(configuration: Configuration) -> dict[str, str]:
    """Names as in ``triton.Config``; what is Triton's default and changes nothing is left out."""
    found = {one_line(name): one_line(value) for name, value in configuration.options}
    found |= {"num_warps": str(configuration.warps)} if configuration.warps is not None else {}
    found |= {"num_stages": str(configuration.stages)} if configuration.stages is not None else {}
    if configuration.ctas not in (None, 1):
        found["num_ctas"] = str(configuration.ctas)
    if configuration.most_registers is not None:
        found["maxnreg"] = str(configuration.most_registers)
    if configuration.pre_hook:
        found["pre_hook"] = one_line(configuration.pre_hook)
    return found


def _options_text(options: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def _in_full(configuration: Configuration) -> str:
    return _options_text(_options(configuration)) or "no options"


def _of_older_session(text: str) -> str:
    """Triton's own text of a configuration, without what is not set: ``BLOCK: 128, num_warps: 4, ...``."""
    pairs = [part.partition(": ") for part in text.replace("; ", ", ").split(", ") if part]
    kept = [(k, v) for k, _, v in pairs if v not in ("", "None") and (k, v) != ("num_ctas", "1")]
    return one_line(" ".join(f"{key}={value}" for key, value in kept))

"""What ``measure`` and ``compare`` return: figures, and how they look in a terminal and in a notebook."""

import textwrap
from functools import cached_property

from roofscope.app.presentation.failure_log import telling_lines
from roofscope.app.presentation.formatting import (
    bandwidth_text,
    error_text,
    flop_count_text,
    flop_rate_text,
    ratio_text,
    spread_time_text,
    traffic_text,
)
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.app.presentation.verdict_text import ceiling_text, share_text, verdict_sentence
from roofscope.profiling.analysis.comparison import SpeedUp, speed_up
from roofscope.profiling.analysis.verdict import Verdict, verdict
from roofscope.profiling.plain_text import html_text, visible
from roofscope.profiling.results.outcome import Failed, Measured
from roofscope.profiling.results.session import Point, Session

_LOG_LINES = 12
_PICTURE = (880, 520)
_WIDTH = 110  # characters of a line


class NotMeasured(Exception):
    """A figure was asked of a function that has none; the text says why it has none."""


class Result:
    """One function, verified and timed, or why not. Times are seconds of device time a call, caches cold."""

    def __init__(self, name: str, arguments: str, session: Session, point: Point) -> None:
        self.name = name
        self.arguments = arguments
        self.session = session  # as the window and roofscope.load have it
        self.point = point

    @property
    def is_measured(self) -> bool:
        """Whether it is right and has a time."""
        return self.point.measured is not None

    @property
    def measured(self) -> Measured:
        """All that was measured. Raises NotMeasured."""
        if self.point.measured is None:
            raise NotMeasured(f"{self.name} has no time. {self.verdict_text}")
        return self.point.measured

    @property
    def median_s(self) -> float:
        return self.measured.time.median_s

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The median's 95 % interval; None where too few calls were timed for one."""
        return self.measured.time.bounds_s

    @property
    def relative_error(self) -> float:
        """norm(y - reference) / norm(reference)."""
        return self.measured.verification.relative_error

    @property
    def byte_count(self) -> int:
        """Compulsory: inputs read once, outputs written once."""
        return self.point.job.work.byte_count

    @property
    def flop_count(self) -> int:
        return self.point.job.work.flop_count

    @cached_property
    def verdict(self) -> Verdict:
        return verdict(self.point, self.session)

    @property
    def fraction_of_roof(self) -> float | None:
        return self.verdict.fraction_of_roof

    @property
    def verdict_text(self) -> str:
        return visible(verdict_sentence(self.point, self.verdict))

    @property
    def work_text(self) -> str:
        """How the work was derived."""
        spec = self.session.specs.get(self.point.implementation.kernel)
        return visible(spec.work.derived) if spec else ""

    @property
    def log(self) -> str:
        """Of a failure, without the program's own frames; "" where there is none."""
        outcome = self.point.outcome
        return visible("\n".join(telling_lines(outcome.log))) if isinstance(outcome, Failed) else ""

    def svg(self, size: tuple[int, int] = _PICTURE, *, dark: bool = False) -> str:
        """The roofline with this point, a document of its own."""
        return roofline_svg(self.session, size, dark)

    def rows(self) -> list[tuple[str, str]]:
        """What there is to say of it, as names and texts."""
        found: list[tuple[str, str]] = []
        measured, work = self.point.measured, self.point.job.work
        if measured:
            time = measured.time
            found.append(("time", spread_time_text(time.median_s, time.bounds_s, len(time.samples_s))))
            rates = [bandwidth_text(self.point.achieved_bandwidth)]
            rates += [flop_rate_text(self.point.achieved_flop_rate)] if work.flop_count else []
            found.append(("reaches", ", ".join(rates)))
            if limiter := self.verdict.limiter:
                found.append(("roof", f"{share_text(self.verdict)} of {ceiling_text(limiter)}"))
        found.append(("verdict", self.verdict_text))
        if measured:
            check = measured.verification
            errors = f"error {error_text(check.relative_error)}, tolerance {error_text(check.tolerance)}"
            only = "; at these sizes, no others were tried" if check.shape_count == 1 else ""
            found.append(("correct", f"{errors}{only}"))
        if flags := self.verdict.flags:
            found.append(("flags", ", ".join(flags)))
        amounts = f"{traffic_text(work.byte_count)}, {flop_count_text(work.flop_count)}"
        found.append(("work", f"{amounts}{' (derived)' if work.is_derived else ''}"))
        if self.work_text:
            found.append(("", self.work_text))
        return found

    @property
    def title(self) -> str:
        device = self.session.device_of(self.point)
        return visible(f"{self.name}({self.arguments}){f' on {device.name}' if device else ''}")

    def __repr__(self) -> str:
        lines = [self.title]
        for name, text in self.rows():
            lines += textwrap.wrap(text, _WIDTH, initial_indent=f"  {name:<9}", subsequent_indent=" " * 11)
        lines += [f"    {line}" for line in self.log.splitlines()[-_LOG_LINES:]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<div>{self.table_html()}{self.svg() if self.is_measured else ''}</div>"

    def table_html(self) -> str:
        rows = "".join(_row(name, text) for name, text in self.rows())
        log = "\n".join(self.log.splitlines()[-_LOG_LINES:])
        tail = f"<details><summary>Log</summary><pre>{html_text(log)}</pre></details>" if log else ""
        return f"<b>{html_text(self.title)}</b><table>{rows}</table>{tail}"


class Compared:
    """Two functions timed in turn. The ratio is how many times as fast the first one is as the baseline."""

    def __init__(self, result: Result, baseline: Result) -> None:
        self.result = result
        self.baseline = baseline

    @cached_property
    def speed_up(self) -> SpeedUp:
        """Raises NotMeasured where one of the two has no time."""
        for one in (self.result, self.baseline):
            _ = one.measured
        found = speed_up(self.result.point, self.baseline.point)
        if found is None:
            raise NotMeasured(f"{self.result.name} and {self.baseline.name} are too short to compare.")
        return found

    @property
    def ratio(self) -> float:
        return self.speed_up.ratio

    @property
    def interval(self) -> tuple[float, float]:
        """The ratio's 95 % interval."""
        return self.speed_up.low, self.speed_up.high

    @property
    def text(self) -> str:
        """Such as ``f is 1.07× (1.05 to 1.09) as fast as g``."""
        found = self.speed_up
        times = ratio_text(found.ratio, found.low, found.high)
        rounds = f"in {found.common_rounds} rounds in turn" if found.common_rounds else "of few blocks"
        return visible(f"{self.result.name} is {times} as fast as {self.baseline.name}, {rounds}")

    def assert_faster(self, at_least: float = 1.0) -> None:
        """Raises AssertionError unless the whole interval lies above this ratio."""
        if self.speed_up.low <= at_least:
            raise AssertionError(f"{self.text}; more than {ratio_text(at_least)} is not shown.")

    def assert_not_slower(self, at_least: float = 1.0) -> None:
        """Raises AssertionError where the whole interval lies below this ratio, as 0.95 for 5 % slower."""
        if self.speed_up.high < at_least:
            raise AssertionError(f"{self.text}; less than {ratio_text(at_least)} is shown.")

    def __repr__(self) -> str:
        head = [self.text] if self.result.is_measured and self.baseline.is_measured else []
        return "\n".join([*head, repr(self.result), repr(self.baseline)])

    def _repr_html_(self) -> str:
        both = self.result.is_measured and self.baseline.is_measured
        head = f"<p><b>{html_text(self.text)}</b></p>" if both else ""
        tables = f"{self.result.table_html()}{self.baseline.table_html()}"
        picture = self.result.svg() if self.result.is_measured or self.baseline.is_measured else ""
        return f"<div>{head}{tables}{picture}</div>"


def _row(name: str, text: str) -> str:
    cells = f"<td>{html_text(name)}</td><td style='text-align:left'>{html_text(text)}</td>"
    return f"<tr>{cells}</tr>"

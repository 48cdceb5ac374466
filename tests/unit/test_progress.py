"""The time that a run still takes: it counts down, and is as vague as it must be."""

from itertools import pairwise

import pytest

from roofscope.app.presentation.time_left import TimeLeft, range_text
from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.supervision.progress import Progress
from roofscope.profiling.supervision.protocol import StageStarted
from roofscope.profiling.supervision.run_events import Progressed

STAGE = StageStarted("job-1", Stage.BUILD, 60.0, Implementation("gelu", Provider.EAGER, "", "hash"))


def reports(job_durations_s: list[int], *, start_s: int = 15, per_job: int = 4) -> list[Progressed]:
    """One a second of a run whose jobs take so long; the implementations of a job end together."""
    progress = Progress(0.0)
    progress.total = per_job * len(job_durations_s)
    now, found = float(start_s), list[Progressed]()
    for duration in job_durations_s:
        for _ in range(duration):
            found.append(progress.report(now, "gelu", STAGE))
            now += 1
        progress.done += per_job
        found.append(progress.report(now, "gelu", STAGE))
    return found


def _seconds(text: str) -> int:
    number, unit = text.split()
    return int(number) * {"s": 1, "min": 60}[unit]


def said(found: list[Progressed]) -> list[str]:
    left = TimeLeft()
    texts = [left.text(report) for report in found]
    return [text for text, before in zip(texts, ["", *texts], strict=False) if text != before]


def test_the_rest_counts_down_between_the_ends_of_jobs() -> None:
    found = [report.remaining_s for report in reports([30] * 8)]
    known = [remaining for remaining in found if remaining is not None]
    assert known[0] == pytest.approx(7 * 30)  # without the worker's start
    assert all(later <= before for before, later in pairwise(known))
    assert known[-1] == 0


def test_what_is_said_does_not_jump() -> None:
    """Seen: 3, 6, 15, 8, 5, 2 minutes."""
    texts = said(reports([20, 45, 25, 40, 22, 38, 30, 26, 41, 24]))
    assert texts[0] == "2 to 7 min left"
    assert texts[-1] == ""
    assert len(texts) == len(set(texts))  # nothing comes back
    ends = [text.removesuffix(" left").rpartition(" to ")[2].removeprefix("about ") for text in texts[:-1]]
    assert [_seconds(end) for end in ends] == sorted(map(_seconds, ends), reverse=True)


def test_a_range_that_proves_too_short_is_said_anew() -> None:
    left = TimeLeft()
    assert left.text(Progressed(1, 9, "", None, "", 60.0, (50.0, 70.0))) == "about 1 min left"
    assert left.text(Progressed(2, 9, "", None, "", 66.0, (55.0, 80.0))) == "about 1 min left"
    assert left.text(Progressed(3, 9, "", None, "", 300.0, (250.0, 290.0))) == "about 5 min left"
    assert left.text(Progressed(9, 9, "", None, "", 0.0, (0.0, 0.0))) == ""


def test_nothing_is_said_before_anything_has_ended() -> None:
    assert TimeLeft().text(reports([30, 30])[10]) == ""


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (60, 180, "1 to 3 min"),
        (45, 120, "45 s to 2 min"),
        (90, 180, "1 min 30 s to 3 min"),
        (10, 30, "10 to 30 s"),
    ],
)
def test_a_range_has_its_unit_once(low: float, high: float, text: str) -> None:
    assert range_text(low, high) == text

"""What a restart goes on with."""

import msgspec

from roofscope.app.window.unfinished import Unfinished
from roofscope.profiling.results.outcome import Cancelled, SkipKind, Skipped
from roofscope.profiling.supervision.protocol import Probe, Run
from roofscope.tests.sessions import make_session

JOB = max((point.job for point in make_session().points), key=lambda job: len(job.implementations))
OTHER = msgspec.structs.replace(JOB, id="job-other")
SKIPPED = Skipped(SkipKind.UNSUPPORTED, "Invented.")


def test_a_run_goes_on_with_what_has_no_outcome():
    unfinished = Unfinished([Probe("ceilings", "cpu"), Run(JOB), Run(OTHER)])
    for implementation in JOB.implementations:
        unfinished.note(JOB, implementation, SKIPPED)
    unfinished.note(OTHER, OTHER.implementations[0], SKIPPED)
    unfinished.note(OTHER, OTHER.implementations[1], Cancelled())
    rest = msgspec.structs.replace(OTHER, implementations=OTHER.implementations[1:])
    assert unfinished.runs() == [Run(rest)]


def test_nothing_is_left_of_a_run_that_ended():
    unfinished = Unfinished([Run(JOB)])
    for implementation in JOB.implementations:
        unfinished.note(JOB, implementation, SKIPPED)
    assert unfinished.runs() == []

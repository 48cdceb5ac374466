"""What the worker says of an outcome that the program would refuse."""

import os

from msgspec.structs import replace

from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.outcome import Difference, Failed, FailureKind, Measured
from roofscope.profiling.supervision.headless import describe_exit
from roofscope.profiling.supervision.protocol import OutcomeReady, event_decoder
from roofscope.profiling.worker.channel import Channel
from roofscope.tests.sessions import measured

EAGER = Implementation("gelu", Provider.EAGER, "", "hash")


def heard(outcome: Measured) -> object:
    read, write = os.pipe()
    Channel(-1, write).emit(OutcomeReady("job-1", EAGER, outcome))
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        [event] = event_decoder("").feed(pipe.read())
    return event


def test_an_outcome_is_said_as_it_is() -> None:
    single_calls = replace(measured(1e-3), calls_s=(0.0, 1e-6))  # shorter than what an event adds
    assert heard(single_calls) == OutcomeReady("job-1", EAGER, single_calls)


def test_elements_may_be_as_large_as_their_type_allows() -> None:
    found = measured(1e-3)
    largest = Difference("y", (3,), 3.2e38, 3.1e38)
    found = replace(found, verification=replace(found.verification, largest=largest))
    assert heard(found) == OutcomeReady("job-1", EAGER, found)


def test_one_that_would_end_the_worker_is_a_failure_with_the_reason() -> None:
    event = heard(replace(measured(1e-3), host_s=-1.0))
    assert isinstance(event, OutcomeReady)
    assert isinstance(event.outcome, Failed)
    assert event.outcome.kind is FailureKind.INTERNAL
    assert "host_s" in event.outcome.message


def test_a_signal_without_a_name_has_its_number() -> None:
    assert describe_exit(-40) == "killed by signal 40"
    assert describe_exit(-9) == "killed by SIGKILL"

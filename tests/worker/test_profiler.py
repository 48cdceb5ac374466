"""What a profile's spans add up to."""

import pytest

pytest.importorskip("torch")

from roofscope.profiling.results.outcome import ProfiledKernel
from roofscope.profiling.worker.timing.profiler import Span, kernels_of, own_seconds


def test_kernels_one_after_the_other_keep_their_durations() -> None:
    spans = [Span("b", 3.0, 5.0), Span("a", 0.0, 2.0), Span("a", 6.0, 9.0)]
    assert own_seconds(spans) == {"a": [2.0, 3.0], "b": [2.0]}


def test_a_kernel_that_starts_early_does_not_own_its_wait() -> None:
    """Sums and the kernel that adds them up, launched while the first one works; twice."""
    spans = [
        Span("sums", 0.0, 10.0),
        Span("add", 1.0, 11.0),
        Span("sums", 12.0, 22.0),
        Span("add", 13.0, 23.5),
    ]
    found = own_seconds(spans)
    assert found == {"sums": [10.0, 10.0], "add": [1.0, 1.5]}


def test_what_lies_within_another_kernel_has_no_time_of_its_own() -> None:
    found = own_seconds([Span("long", 0.0, 10.0), Span("short", 2.0, 3.0), Span("after", 9.0, 12.0)])
    assert found == {"long": [10.0], "short": [0.0], "after": [2.0]}


def test_a_call_has_its_launches_and_mean_times_longest_first() -> None:
    """Three launches of one kernel and two of another in two calls: no median, which would give 4 for b."""
    spans = [
        Span("a", 0.0, 2.0),
        Span("b", 2.0, 3.0),
        Span("b", 3.0, 7.0),
        Span("b", 7.0, 16.0),
        Span("a", 16.0, 18.0),
    ]
    assert kernels_of(spans, calls=2) == (ProfiledKernel("b", 1.5, 7.0), ProfiledKernel("a", 1.0, 2.0))

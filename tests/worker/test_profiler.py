"""What a profile's spans add up to."""

import pytest

pytest.importorskip("torch")

from roofscope.profiling.results.outcome import Launch, ProfiledKernel
from roofscope.profiling.worker.timing.profiler import Span, kernels_of, launches_in, own_seconds


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


# Two events as torch 2.11 wrote them on an H200, among others whose arguments have other types.
TRACE = b"""{"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "_softmax", "args": {"grid": "none", "Sequence number": 1}},
  {"ph": "X", "cat": "kernel", "name": "_softmax", "pid": 0, "tid": 7, "ts": 4403495358481.7,
   "dur": 123.616, "args": {"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 12,
     "registers per thread": 32, "shared memory": 48, "blocks per SM": 248.242432,
     "warps per SM": 1985.939453, "grid": [32768, 2, 1], "block": [128, 2, 1],
     "est. achieved occupancy %": 75}},
  {"ph": "X", "cat": "kernel", "name": "_softmax", "args": {"grid": [1, 1, 1], "block": [32, 1, 1]}},
  {"ph": "X", "cat": "kernel", "name": "bare", "args": {"grid": [7, 1, 1], "block": [32, 1, 1]}},
  {"ph": "X", "cat": "kernel", "name": "nothing known"},
  {"name": "process_name", "ph": "M", "args": {"name": "python"}}
]}"""


def test_a_kernels_first_launch_is_read_from_the_trace() -> None:
    found = launches_in(TRACE)
    softmax = Launch(65536, 256, 32, 48, 0.75, (32768, 2, 1), (128, 2, 1))
    assert found == {"_softmax": softmax, "bare": Launch(7, 32, grid=(7, 1, 1), block=(32, 1, 1))}
    [kernel] = kernels_of([Span("_softmax", 0.0, 2.0)], 1, found)
    assert kernel.launch == softmax


def test_a_trace_that_cannot_be_read_costs_no_kernel() -> None:
    assert launches_in(b'{"traceEvents": [{"name": "a"b"}]}') == {}
    [kernel] = kernels_of([Span("a", 0.0, 2.0)], 1, {})
    assert kernel.launch is None

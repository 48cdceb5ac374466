"""The one filter of chart, table and library."""

import pytest

from roofscope.app.presentation.view_filter import (
    ViewFilter,
    hidden_implementations,
    kernels_text,
    shown_text,
)
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.tests.sessions import make_session

SESSION = make_session(full=True)


def test_an_open_filter_keeps_all_without_a_look_at_any() -> None:
    assert ViewFilter().numbers(SESSION) is None
    assert ViewFilter(text="  ").is_open
    assert ViewFilter(text="  ").numbers(SESSION) is None


def test_what_is_chosen_must_all_hold() -> None:
    view = ViewFilter(
        kernels=frozenset({"softmax", "gelu"}), dtype=Dtype.BFLOAT16, hidden=frozenset({Provider.EAGER})
    )
    kept = view.numbers(SESSION)
    assert kept
    for point in SESSION.points:
        workload = point.job.workload
        expected = (
            workload.kernel in ("softmax", "gelu")
            and workload.dtype is Dtype.BFLOAT16
            and point.implementation.provider is not Provider.EAGER
        )
        assert (point.number in kept) == expected


@pytest.mark.parametrize("text", ["failed", "wrong", "softmax triton", "memory-bound", "cuda", "burst"])
def test_words_find_names_states_and_verdicts(text: str) -> None:
    kept = ViewFilter(text=text.upper()).numbers(SESSION)
    assert kept is not None
    assert 0 < len(kept) <= len(SESSION.points)


def test_several_kernels_are_isolated_one_by_one() -> None:
    view = ViewFilter().isolating("softmax")
    assert kernels_text(view) == "softmax"
    view = view.with_kernel("gelu").with_kernel("matmul")
    assert kernels_text(view) == "3 kernels"
    assert kernels_text(view.with_kernel("gelu")) == "2 kernels"
    assert ViewFilter().with_kernel("gelu") == ViewFilter().isolating("gelu")
    last = ViewFilter().isolating("gelu")
    assert last.with_kernel("gelu") == last  # else nothing would be left
    assert kernels_text(view.isolating(None)) == ""


def test_one_provider_alone_and_all_again() -> None:
    among = (Provider.CUDA, Provider.TRITON, Provider.EAGER)
    view = ViewFilter().only(Provider.TRITON, among)
    assert view.hidden == {Provider.CUDA, Provider.EAGER}
    assert view.only(Provider.TRITON, among).is_open
    assert view.only(Provider.CUDA, among).hidden == {Provider.TRITON, Provider.EAGER}
    assert ViewFilter().toggled(Provider.CUDA).toggled(Provider.CUDA).is_open
    assert ViewFilter().only(Provider.CUDA, (Provider.CUDA,)).is_open


def test_an_implementation_is_hidden_when_none_of_its_points_is_shown() -> None:
    first = SESSION.points[0].implementation
    view = ViewFilter(text=first.kernel)
    is_hidden = hidden_implementations(view, SESSION.points, view.numbers(SESSION))
    assert not is_hidden(first)
    other = next(p.implementation for p in SESSION.points if p.implementation.kernel != first.kernel)
    assert is_hidden(other)
    # One that was not measured yet is judged by its names alone.
    without = hidden_implementations(ViewFilter(hidden=frozenset({first.provider})), (), frozenset())
    assert without(first)
    assert not hidden_implementations(ViewFilter(text="zebra"), (), frozenset())(first)


def test_counts_are_words() -> None:
    assert shown_text(83, 293) == "83 of 293 points"
    assert shown_text(293, 293) == "293 points"
    assert shown_text(1, 1) == "1 point"

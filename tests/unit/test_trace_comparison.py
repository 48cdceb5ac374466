"""Traces beside each other: where the iteration starts, what makes the difference, and `trace compare`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.presentation.traces.comparison import (
    comparison_sentences,
    trace_labels,
    trace_letter,
)
from roofscope.profiling.traces.columns import NONE, Category, Trace
from roofscope.profiling.traces.comparison import NothingToCompare, compare_traces
from roofscope.profiling.traces.iterations import iteration_of
from roofscope.profiling.traces.origins import origins_of
from roofscope.profiling.traces.summary import totals_of
from roofscope.tests.public_files import DATA
from roofscope.tests.trace_events import flow, kernel, launch, read_events, recorded, slice_

PATHS = [DATA / "traces" / f"block-{name}.json.gz" for name in ("eager", "compiled")]


def step(name: str, begin: float, long: float) -> dict[str, Any]:
    return slice_(name, begin, long, cat="user_annotation")


def work(name: str, called: float, begin: float, long: float, number: int) -> list[dict[str, Any]]:
    """A launch, its kernel, and the arrow between them."""
    call, done = launch(called, 1.0, number), kernel(name, begin, long, number)
    return [call, done, flow("s", number, call), flow("f", number, done)]


def of_operator(name: str, operator: str, begin: float, long: float, number: int) -> list[dict[str, Any]]:
    done = kernel(name, begin, long, number)
    done["args"]["External id"] = number
    return [slice_(operator, begin - 5, 4.0, args={"External id": number}), done]


def start_of(trace: Trace, *, whole: bool = False) -> tuple[str, float]:
    found = iteration_of(trace, origins_of(trace), whole=whole)
    assert found is not None
    return found.name, found.start_ns / 1000 + trace.origin_ns / 1000


def test_the_iteration_starts_with_the_first_work_that_its_step_launches() -> None:
    """Not with that of the step before, which is still in the queue when the step begins."""
    events = [
        step("ProfilerStep#4", 0, 50),
        step("ProfilerStep#5", 50, 50),
        step("evaluation", 110, 50),
        *work("before", 40, 60, 20, 1),
        *work("mine", 55, 80, 10, 2),
        *work("later", 115, 120, 10, 3),
    ]
    assert start_of(read_events(*events)) == ("ProfilerStep#5", 80)
    assert start_of(read_events(*events), whole=True) == ("", 60)


def test_without_profiler_steps_the_outermost_ranges_are_steps() -> None:
    events = [
        step("train", 0, 100),
        step("optimizer", 80, 19),
        {**step("backward", 50, 20), "tid": 9},
        step("epilogue", 100, 10),
        *work("one", 10, 12, 5, 1),
        *work("two", 85, 90, 5, 2),
    ]
    assert start_of(read_events(*events)) == ("train", 12)


def test_without_ranges_or_launches_all_work_is_one_iteration() -> None:
    trace = read_events(kernel("b", 30, 4, 2), kernel("a", 10, 4, 1))
    assert start_of(trace) == ("", 10)
    trace = read_events(step("one", 0, 20), kernel("a", 10, 4, 1), step("two", 25, 9), kernel("b", 30, 4, 2))
    assert start_of(trace) == ("two", 30), "work without a launch counts by when it runs"


def test_work_knows_its_launch_and_its_operator() -> None:
    call = launch(5.0, 1.0, 7)
    call["args"]["External id"] = 3
    trace = read_events(
        slice_("aten::mm", 1.0, 9.0, args={"External id": 3}),
        call,
        kernel("k", 12, 4, 7),
        kernel("other", 20, 4, 8),
    )
    origins = origins_of(trace)
    named = [trace.name_of(int(at)) if at != NONE else "" for at in origins.operator]
    assert named == ["aten::mm", ""]
    assert [int(at) != NONE for at in origins.launch] == [True, False]


def test_an_id_that_two_operators_have_names_none() -> None:
    two = [
        slice_(name, at, 4.0, args={"External id": 3}) for at, name in enumerate(("aten::mm", "aten::add"))
    ]
    done = kernel("k", 12, 4, 7)
    done["args"]["External id"] = 3
    assert origins_of(read_events(*two, done)).operator.tolist() == [NONE]


def test_rows_by_kernel_then_by_operator_then_alone() -> None:
    first = read_events(
        *of_operator("same", "aten::add", 10, 4, 1),
        *of_operator("nvjet_a", "aten::mm", 20, 30, 2),
        *of_operator("gelu", "aten::gelu", 60, 8, 3),
    )
    second = read_events(
        *of_operator("same", "aten::add", 110, 2, 1),
        *of_operator("same", "aten::add", 115, 2, 2),
        *of_operator("cutlass_b", "aten::mm", 120, 20, 3),
    )
    found = compare_traces([first, second])
    rows = [(row.name, row.operator, row.counts, row.differences_s) for row in found.kernels]
    us = 1e-6
    assert rows == [
        ("aten::mm", "aten::mm", (1, 1), (0, pytest.approx(-10 * us))),
        ("gelu", "aten::gelu", (1, 0), (0, pytest.approx(-8 * us))),
        ("same", "aten::add", (1, 2), (0, pytest.approx(0))),
    ]
    assert [row.by_operator for row in found.kernels] == [True, False, False]
    assert found.kernels[0].kernels == (("nvjet_a",), ("cutlass_b",))
    assert [trace.offset_ns for trace in found.traces] == [5000, 5000]


def test_the_sentence_explains_the_ratio() -> None:
    first = read_events(*work("a", 0, 10, 10, 1), *work("b", 1, 30, 10, 2))
    second = read_events(*work("c", 0, 10, 10, 1))
    [said] = comparison_sentences(compare_traces([first, second]))
    assert said == (
        "t (B) takes 10.00 µs instead of 30.00 µs (3.00×): it runs 1 kernel instead of 2, "
        "computes 50 % less and idles 100 % less."
    )
    [said] = comparison_sentences(compare_traces([second, first]))
    assert said.endswith(
        "runs 2 kernels instead of 1, computes 100 % more and idles 10.00 µs instead of nothing."
    )
    longer = read_events(*work("a", 0, 10, 10, 1), *work("b", 1, 60, 10, 2))
    [said] = comparison_sentences(compare_traces([first, longer]))
    assert said.endswith("computes as long and idles 4.00× as long.")
    [said] = comparison_sentences(compare_traces([first, first]))
    assert said.endswith("runs 2 kernels as before, computes as long and idles as long.")


def test_many_traces_have_letters_and_titles_of_their_own() -> None:
    trace = read_events(kernel("a", 10, 4, 1))
    comparison = compare_traces([trace, trace, trace])
    assert trace_labels(comparison) == ("t (A)", "t (B)", "t (C)")
    assert len(comparison_sentences(comparison)) == 2
    assert [trace_letter(at) for at in (0, 25, 26)] == ["A", "Z", "A2"]


def test_what_cannot_be_compared_is_one_sentence() -> None:
    trace = read_events(kernel("a", 10, 4, 1))
    with pytest.raises(NothingToCompare, match="no work of a GPU"):
        compare_traces([trace, read_events(slice_("aten::add", 0, 3))])
    with pytest.raises(NothingToCompare, match="two traces or more"):
        compare_traces([trace])


def test_a_recorded_block_eager_and_compiled() -> None:
    """Counted in the files: what the last of three steps launched, 45 kernels and 51."""
    traces = [recorded("eager"), recorded("compiled")]
    found = compare_traces(traces)
    assert [trace.iteration for trace in found.traces] == ["step 2", "step 2"]
    assert [trace.steps for trace in found.traces] == [3, 3]
    assert [(trace.kernels, trace.copies, trace.launches) for trace in found.traces] == [
        (45, 11, 56),
        (51, 7, 58),
    ]
    for trace, each in zip(traces, found.traces, strict=True):
        at = trace.slices.start_ns[trace.slices.category <= Category.MEMSET]
        assert each.offset_ns in at.tolist()
        assert each.span_s == pytest.approx(each.compute_s + each.copy_s + each.idle_s)
    for at, each in enumerate(found.traces):
        assert sum(row.totals_s[at] for row in found.kernels) == pytest.approx(each.compute_s + each.copy_s)
        assert sum(row.counts[at] for row in found.kernels) == each.kernels + each.copies
    attention = next(row for row in found.kernels if row.name.startswith("cuDNN attention forward"))
    assert attention.counts == (1, 1)
    sums = next(row for row in found.kernels if row.by_operator)
    assert (sums.name, sums.counts) == ("aten::sum", (4, 5)), "another kernel reduces float32 than bfloat16"


def test_the_whole_of_a_trace_is_what_trace_open_counts() -> None:
    found = compare_traces([recorded("eager"), recorded("compiled")], whole=True)
    [gpu] = totals_of(recorded("eager")).gpus
    assert found.traces[0].gpus == (gpu,)
    assert found.traces[0].kernels == 135


def test_trace_compare_prints_a_table_and_json() -> None:
    words = ["trace", "compare", *map(str, PATHS)]
    ended = CliRunner().invoke(cli, words, env={"COLUMNS": "200"})
    assert ended.exit_code == 0, ended.output
    assert "runs 51 kernels instead of 45, computes 13 % less" in ended.stdout
    assert "fused gelu, view (pointwise)" in ended.stdout
    document = json.loads(CliRunner().invoke(cli, [*words, "--json", "--kernels", "3"]).stdout)
    assert document["document"] == "trace-compare"
    assert [trace["kernels"] for trace in document["traces"]] == [45, 51]
    assert len(document["kernels"]) == 3


@pytest.mark.parametrize(
    ("names", "said"), [(["a.json"], "two traces or more"), (["a.json", "b.json"], "is no file")]
)
def test_files_that_cannot_be_compared(tmp_path: Path, names: list[str], said: str) -> None:
    ended = CliRunner().invoke(cli, ["trace", "compare", *(str(tmp_path / name) for name in names)])
    assert ended.exit_code == 2
    assert said in ended.stderr

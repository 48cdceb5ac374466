"""A trace on an axis of time, without a window: what is drawn, found, summed up and linked."""

import gzip
import random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from roofscope.app.presentation.timeline.areas import area_rows
from roofscope.app.presentation.timeline.colours import fill
from roofscope.app.presentation.timeline.hits import Chosen
from roofscope.app.presentation.timeline.levels import level
from roofscope.app.presentation.timeline.moments import moment_at, moment_near, shown_moments
from roofscope.app.presentation.timeline.placing import Heights, placed, row_at
from roofscope.app.presentation.timeline.rows import Row, Track, track_of
from roofscope.app.presentation.timeline.seen import seen
from roofscope.app.presentation.timeline.slice_facts import slice_facts
from roofscope.app.presentation.timeline.stacked import stacked
from roofscope.app.presentation.timeline.state import Area, Timeline
from roofscope.app.presentation.timeline.viewport import LEAST_SPAN_NS, Viewport, fitted, ticks
from roofscope.app.presentation.tokens import CONTRAST, DARK, LIGHT, Theme
from roofscope.profiling.results.marks import Moment
from roofscope.profiling.traces.columns import Category
from roofscope.profiling.traces.operators import operator_rows
from roofscope.profiling.traces.reading import read_trace_bytes
from roofscope.tests.contrast import contrast
from roofscope.tests.trace_events import recorded
from roofscope.tests.unit.test_trace_summary import text_of, work


def made(*events: dict[str, Any], title: str = "made") -> Track:
    return track_of(read_trace_bytes(gzip.compress(text_of(*events)), title), title)


def host(name: str, begin_us: float, length_us: float, **more: Any) -> dict[str, Any]:
    fixed = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "args": {}}
    return fixed | {"name": name, "ts": begin_us, "dur": length_us} | more


def quiet(*tracks: Track) -> Timeline:
    return Timeline(tracks, lambda: None)


def lanes(timeline: Timeline) -> list[str]:
    return [row.title for row in timeline.rows]


@pytest.fixture(scope="module")
def block() -> Track:
    return track_of(recorded("eager"), "eager")


# Levels and what is drawn of them


@pytest.mark.parametrize("name", ["eager", "compiled"])
def test_levels_hold_every_slice_once_and_none_overlaps(name: str) -> None:
    track = track_of(recorded(name), name)
    every = [index for of_lane in track.levels for each in of_lane for index in each.index.tolist()]
    assert sorted(every) == list(range(len(track.trace.slices)))
    for of_lane in track.levels:
        for each in of_lane:
            assert (each.start[1:] >= each.end[:-1]).all()


def test_gaps_lie_between_the_work_of_a_gpu() -> None:
    track = made(work("a", 0, 2), work("b", 5, 1), work("c", 5.5, 2.5, stream=8, tid=8), work("d", 10, 1))
    [(device, gaps)] = track.idle
    assert device == 0
    assert list(zip(gaps.start.tolist(), gaps.end.tolist(), strict=True)) == [(2000, 5000), (8000, 10000)]


def _slow(starts: list[int], ends: list[int], view: Viewport, width: int) -> set[int]:
    """Columns of pixels with anything in them, slice by slice."""
    pixel = view.span / width
    columns: set[int] = set()
    for begin, end in zip(starts, ends, strict=True):
        first = int(np.floor((begin - view.begin) / pixel))
        last = int(np.ceil((end - view.begin) / pixel)) - 1
        columns.update(range(max(first, 0), min(max(last, first), width - 1) + 1))
    return columns


def test_what_is_drawn_covers_the_columns_that_slices_cover() -> None:
    chance = random.Random(5)
    for _ in range(60):
        bounds = sorted(chance.sample(range(1, 100_000), 2 * chance.randint(1, 400)))
        starts, ends = bounds[::2], bounds[1::2]
        found = level(np.array(starts), np.array(ends), np.arange(len(starts), dtype=np.int32))
        begin = chance.uniform(-10_000, 90_000)
        view, width = Viewport(begin, chance.choice((300.0, 5_000.0, 100_000.0))), 500
        drawn = seen(found, 0.0, view, width)
        covered = set(drawn.column_x.tolist())
        for left, right in zip(drawn.left.tolist(), drawn.right.tolist(), strict=True):
            covered.update(range(max(int(np.floor(left)), 0), min(int(np.ceil(right)), width)))
        expected = _slow(starts, ends, view, width)
        # A narrow slice that begins in the column where a box ends is not drawn beside it.
        assert covered <= {near for x in expected for near in (x - 1, x, x + 1)}
        assert expected <= {near for x in covered for near in (x - 1, x, x + 1)}
        assert ((drawn.strength >= 0.3) & (drawn.strength <= 1)).all()


def test_a_full_column_is_stronger_than_a_hardly_covered_one() -> None:
    starts = np.array([*range(0, 1000, 10), 1000])
    ends = np.array([*range(9, 1000, 10), 1001])
    found = level(starts, ends, np.arange(len(starts), dtype=np.int32))
    drawn = seen(found, 0.0, Viewport(0.0, 2000.0), 20)
    assert drawn.strength[0] == pytest.approx(0.9)
    assert drawn.strength[-1] == pytest.approx(0.3)  # 1 of 100 ns, raised to what can be seen


def test_a_frame_takes_no_more_for_a_million_slices() -> None:
    """Counted by what is drawn, not by a clock."""
    starts = np.arange(1_000_000) * 10
    found = level(starts, starts + 5, np.arange(1_000_000, dtype=np.int32))
    drawn = seen(found, 0.0, Viewport(0.0, 1e7), 1000)
    assert len(drawn.column) == 1000
    assert not len(drawn.box)


# The view


def test_zooming_keeps_the_time_under_the_pointer_in_its_place() -> None:
    view = Viewport(100.0, 1000.0)
    near = view.zoomed(0.5, 350.0)
    assert near.x_of(350.0, 800) == pytest.approx(view.x_of(350.0, 800))
    assert near.span == 500
    assert view.zoomed(1e-12, 350.0).span == LEAST_SPAN_NS


def test_a_view_stays_on_the_trace() -> None:
    whole = fitted(0.0, 1000.0)
    assert Viewport(1e9, 100.0).within(0.0, 1000.0).end == pytest.approx(whole.end)
    assert Viewport(-1e9, 100.0).within(0.0, 1000.0).begin == pytest.approx(whole.begin)
    assert Viewport(-1e9, 1e12).within(0.0, 1000.0) == whole


@pytest.mark.parametrize("span", [20.0, 333.0, 5e4, 7.7e6, 2e9, 9e11])
@pytest.mark.parametrize("begin", [-5e6, 0.0, 123_456_789.0])
def test_ticks_tell_each_other_apart_and_lie_in_the_view(span: float, begin: float) -> None:
    view = Viewport(begin, span)
    found = list(ticks(view, 8))
    assert 1 <= len(found) <= 9
    assert len({text for _, text in found}) == len(found)
    assert all(view.begin <= time <= view.end for time, _ in found)
    scales = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0}
    for time, text in found:
        number, unit = text.split("\u00a0")
        assert float(number) * scales[unit] == pytest.approx(time, abs=1e-6 * span)


# Rows


def test_gpus_come_first_with_their_gaps_and_kinetos_own_lanes_are_left_out(block: Track) -> None:
    timeline = quiet(block)
    titles = lanes(timeline)
    assert titles[:3] == ["GPU 0", "stream 7", "idle"]
    assert "thread 532 (pt_autograd_0)" in titles
    assert not any(title.startswith(("Spans", "process -1")) for title in titles)
    timeline.arrange(timeline.arrangement.with_all())
    assert "Spans" in lanes(timeline)


def test_a_row_is_closed_pinned_hidden_and_moved(block: Track) -> None:
    timeline = quiet(block)

    def row(title: str) -> Row:
        return next(row for row in timeline.rows if row.title == title)

    main, autograd = "thread 502 (python3)", "thread 532 (pt_autograd_0)"
    assert row(main).level_count == 26
    timeline.arrange(timeline.arrangement.with_collapsed(row(main).key))
    assert row(main).level_count == 1
    timeline.arrange(timeline.arrangement.with_pinned(row(autograd).key))
    assert lanes(timeline)[0] == autograd
    timeline.arrange(timeline.arrangement.with_pinned(row(autograd).key))
    assert lanes(timeline)[0] == "GPU 0"
    timeline.arrange(timeline.arrangement.with_moved(row(autograd).key, -1, timeline.rows))
    assert lanes(timeline).index(autograd) < lanes(timeline).index(main)
    timeline.arrange(timeline.arrangement.with_hidden(row(autograd).key))
    assert autograd not in lanes(timeline)


def test_the_first_lane_does_not_move_above_its_heading(block: Track) -> None:
    timeline = quiet(block)
    before = lanes(timeline)
    timeline.arrange(timeline.arrangement.with_moved(timeline.rows[1].key, -1, timeline.rows))
    assert lanes(timeline) == before


def test_rows_are_found_where_they_stand(block: Track) -> None:
    rows = placed(quiet(block).rows, Heights(level=18, heading=21, gap=2))
    for row in rows:
        assert row_at(rows, row.top) is row
        assert row_at(rows, row.top + row.height - 0.01) is row
        assert row_at(rows, row.top + row.height + 1) is None
        if row.row.level_count:
            assert row.level_at(row.top) == 0
            assert row.level_at(row.top + row.height - 0.01) == row.row.level_count - 1


def test_a_closed_lane_opens_for_a_slice_that_is_shown(block: Track) -> None:
    timeline = quiet(block)
    kernel = int(np.flatnonzero(block.trace.slices.category == Category.KERNEL)[3])
    timeline.arrange(timeline.arrangement.with_collapsed("eager|GPU 0"))
    assert "stream 7" not in lanes(timeline)
    timeline.show(Chosen(0, kernel))
    assert "stream 7" in lanes(timeline)
    begin, end = timeline.span_of(Chosen(0, kernel))
    assert timeline.view.begin <= begin < end <= timeline.view.end


# Choosing and linking


def test_a_kernel_leads_to_its_launch_and_back(block: Track) -> None:
    timeline, slices = quiet(block), block.trace.slices
    for kernel in np.flatnonzero(slices.category == Category.KERNEL).tolist():
        timeline.choose(Chosen(0, kernel))
        [launch] = timeline.sources()
        assert slices.correlation[launch.slice] == slices.correlation[kernel]
        timeline.choose(launch)
        assert Chosen(0, kernel) in timeline.targets()


def test_an_operator_leads_to_all_that_it_launched() -> None:
    arrow = {"cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1}
    launch = {"cat": "cuda_runtime", "pid": 1, "tid": 1}
    track = made(
        host("aten::gelu", 0, 50),
        *(
            event
            for number, begin in ((1, 5), (2, 20))
            for event in (
                host("cudaLaunchKernel", begin, 4, **launch, args={"correlation": number}),
                arrow | {"ph": "s", "id": number, "ts": begin},
                work(f"kernel {number}", begin + 30, 3, args={"correlation": number}),
                arrow | {"ph": "f", "id": number, "ts": begin + 30, "pid": 0, "tid": 7, "bp": "e"},
            )
        ),
        host("aten::other", 60, 5),
    )
    timeline = quiet(track)
    operator = next(at for at in range(len(track.trace.slices)) if track.trace.name_of(at) == "aten::gelu")
    timeline.choose(Chosen(0, operator))
    assert [track.trace.name_of(one.slice) for one in timeline.targets()] == ["kernel 1", "kernel 2"]
    kernel = timeline.targets()[0]
    facts = {fact.name: fact.value for fact in slice_facts(track, kernel.slice)}
    assert facts["Operator"] == "aten::gelu"
    assert facts["Launched"].split() == ["30.00", "µs", "before", "it", "began,", "by", "cudaLaunchKernel"]


def test_neighbours_and_nesting(block: Track) -> None:
    timeline, slices = quiet(block), block.trace.slices
    operator = int(np.flatnonzero((slices.category == Category.CPU_OP) & (slices.depth > 3))[0])
    timeline.choose(Chosen(0, operator))
    after = timeline.neighbour(1)
    assert after is not None
    assert slices.depth[after.slice] == slices.depth[operator]
    assert slices.start_ns[after.slice] >= slices.end_ns[operator]
    timeline.choose(after)
    assert timeline.neighbour(-1) == Chosen(0, operator)
    timeline.choose(Chosen(0, operator))
    outer = timeline.outer()
    assert outer is not None
    assert slices.depth[outer.slice] == slices.depth[operator] - 1
    assert slices.start_ns[outer.slice] <= slices.start_ns[operator] < slices.end_ns[outer.slice]
    timeline.choose(outer)
    inner = timeline.inner()
    assert inner is not None
    assert slices.depth[inner.slice] == slices.depth[operator]


def test_fit_takes_the_slice_and_then_everything(block: Track) -> None:
    timeline = quiet(block)
    kernel = Chosen(0, int(np.flatnonzero(block.trace.slices.category == Category.KERNEL)[9]))
    timeline.choose(kernel)
    timeline.fit()
    assert timeline.view == fitted(*timeline.span_of(kernel))
    timeline.fit()
    assert timeline.view.begin == pytest.approx(timeline.whole.begin)
    assert timeline.view.span == pytest.approx(timeline.whole.span)


def test_a_mark_keeps_its_time_however_a_trace_is_shifted(block: Track) -> None:
    moment = moment_at(block, 4, 250_000.0, "here")
    for shift in (block.shift, 0, 12_345):
        track = replace(block, shift=shift)
        [shown] = shown_moments(track, (moment, Moment(5, moment.at_ns)), 4)
        assert shown.time - shift == 250_000.0 - block.shift
    view = Viewport(0.0, 1e6)
    shown = shown_moments(block, (moment,), 4)
    assert moment_near(shown, view, 1000, 254.0) == moment
    assert moment_near(shown, view, 1000, 260.0) is None


# Search and areas


def test_a_search_finds_names_in_any_case_and_goes_round(block: Track) -> None:
    timeline = quiet(block)
    timeline.find("ATEN::ADDMM")
    names = [block.trace.name_of(timeline.hits.at(place).slice) for place in range(len(timeline.hits))]
    assert names == ["aten::addmm"] * 12
    assert (np.diff(timeline.hits.time) >= 0).all()
    visited: list[int] = []
    for _ in range(13):
        visited.append(timeline.next_hit(1))
        timeline.choose(timeline.hits.at(visited[-1]))
    assert visited == [*range(12), 0]
    assert timeline.next_hit(-1) == 11
    timeline.find("  ")
    assert not len(timeline.hits)


def test_kernels_are_found_by_their_short_names(block: Track) -> None:
    timeline = quiet(block)
    kernel = int(np.flatnonzero(block.trace.slices.category == Category.KERNEL)[0])
    label = block.labels[block.trace.slices.name[kernel]]
    assert label != block.trace.name_of(kernel)
    timeline.find(label)
    assert timeline.hits.place_of(Chosen(0, kernel), timeline.span_of(Chosen(0, kernel))[0]) >= 0


def test_an_area_sums_up_what_reaches_into_it() -> None:
    track = made(*(work("a", 10 * place, 1 + place) for place in range(5)), work("b", 3, 4))
    timeline = quiet(track)
    stream = next(row for row in timeline.rows if row.lane >= 0)
    begin = timeline.bounds[0]
    area = Area(begin + 500, begin + 21_000, frozenset({stream.key}))
    rows = {row.name: row for row in area_rows(timeline.tracks, timeline.rows, area)}
    assert rows["a"].count == 3  # of 1, 2 and 3 µs
    assert rows["a"].sum_s == pytest.approx(6e-6)
    assert (rows["a"].mean_s, rows["a"].median_s) == pytest.approx((2e-6, 2e-6))
    assert rows["a"].p95_s == pytest.approx(2.9e-6)
    assert (rows["b"].count, rows["b"].sum_s) == (1, pytest.approx(4e-6))


# Stacks, colours, tables


def test_stacked_traces_begin_together_and_are_compared() -> None:
    found = stacked([track_of(recorded(name), name) for name in ("eager", "compiled")])
    timeline = quiet(*found.tracks)
    assert len(found.sentences) == 1
    assert found.sentences[0].startswith("compiled takes")
    assert found.headers[:3] == ("kernel", "A count", "B count")
    assert {len(row) for row in found.rows} == {len(found.headers)}
    for track in found.tracks:  # the compared step's first work begins at 0
        starts = track.trace.slices.start_ns[track.trace.slices.category <= Category.MEMSET] + track.shift
        assert 0 in starts.tolist()
    titles = lanes(timeline)
    assert titles[0] == "eager: GPU 0"
    assert "compiled: GPU 0" in titles
    assert "thread 502 (python3)" not in titles  # closed, so that the GPUs stand together


def test_a_trace_without_a_gpu_stands_alone_in_a_stack() -> None:
    found = stacked([made(host("aten::add", 0, 5)), made(host("aten::mul", 0, 5), title="other")])
    assert len(found.tracks) == 2
    assert "holds no work of a GPU" in found.sentences[0]
    assert not found.rows


@pytest.mark.parametrize("theme", [LIGHT, DARK, CONTRAST], ids=lambda theme: theme.name)
def test_text_can_be_read_on_every_slice(theme: Theme) -> None:
    names = [f"kernel {number}" for number in range(300)]
    for category in Category:
        assert min(contrast(theme.text, fill(theme, category, name)) for name in names) >= 4.5


def test_operators_of_a_trace_without_a_gpu_have_their_own_time() -> None:
    trace = made(
        host("aten::linear", 0, 10),
        host("aten::t", 1, 2),
        host("aten::addmm", 4, 5),
        host("range", 0, 99, cat="x"),
        host("aten::t", 20, 4),
    ).trace
    rows = {row.name: row for row in operator_rows(trace)}
    assert rows["aten::linear"].total_s == pytest.approx(3e-6)
    assert rows["aten::addmm"].total_s == pytest.approx(5e-6)
    t = rows["aten::t"]
    assert (t.count, t.total_s, t.min_s, t.max_s) == (2, *map(pytest.approx, (6e-6, 2e-6, 4e-6)))
    assert sum(row.share for row in rows.values()) == pytest.approx(1)


def test_a_trace_of_python_functions_alone_has_no_operators() -> None:
    assert operator_rows(made(host("train.py(3): step", 0, 10, cat="python_function")).trace) == ()


def test_facts_of_a_kernel_say_how_it_was_launched(block: Track) -> None:
    kernel = int(np.flatnonzero(block.trace.slices.category == Category.KERNEL)[0])
    facts = {fact.name: fact.value for fact in slice_facts(block, kernel)}
    assert facts["Grid"].endswith("192 × 1 × 1")
    assert facts["Block"] == "32 × 4 × 1"
    assert facts["Registers"] == "32 a thread"
    assert facts["Occupancy"].split() == ["100", "%"]
    assert facts["In"] == "GPU 0, stream 7"


@pytest.mark.parametrize(
    "arguments",
    [
        {"grid": "wide", "block": [1, "x", 3], "registers per thread": None},
        {"grid": [], "shared memory": [1], "est. achieved occupancy %": "much"},
        {"a" * 5000: "\x00\n" * 300, "deep": [[[[{}]]]]},
    ],
)
def test_facts_of_hostile_arguments_are_plain_text(arguments: dict[str, Any]) -> None:
    track = made(work("kernel", 0, 1, args=arguments))
    for fact in slice_facts(track, 0):
        assert "\n" not in fact.value + fact.name
        assert "\x00" not in fact.value + fact.name
        assert len(fact.value) <= 301

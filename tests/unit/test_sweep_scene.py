"""A kernel over its sizes: what varies, what is joined, what is marked."""

import math
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.app.cli.sweeps import draw_sweeps
from roofscope.app.presentation.report.page import report_html
from roofscope.app.presentation.roofline.geometry import Box, Font, View, boxes_along
from roofscope.app.presentation.roofline.scene import Range
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.app.presentation.sweep.axis import SweepAxis, axes_of
from roofscope.app.presentation.sweep.caption import note_lines, note_text
from roofscope.app.presentation.sweep.layout import clipped_polygon, is_hollow, lay_out
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.sweep.scene import SweepOptions, SweepScene, build_sweep, sweeps_of
from roofscope.app.presentation.sweep.svg import sweep_svg
from roofscope.app.presentation.sweep.table import aligned_text, sweep_table
from roofscope.app.presentation.sweep.ticks import size_ticks, value_ticks
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Distribution, Dtype
from roofscope.profiling.results.outcome import Flag
from roofscope.profiling.results.session import Origin, Session
from roofscope.profiling.results.session_reader import load
from roofscope.tests.sessions import (
    DEVICE,
    ENVIRONMENT,
    RECORDED_AT,
    empty_session,
    make_session,
    measured,
)
from roofscope.tests.sweeps import ODD, add_size, sweep_session

FONT = Font(11.0, lambda text: text_width(text, 11.0))


def sizes_session(kernel: str, *sizes: dict[str, int]) -> Session:
    session = empty_session()
    for chosen in sizes:
        add_size(session, kernel, 1, **chosen)
    return session


def axes(kernel: str, *sizes: dict[str, int]) -> list[SweepAxis]:
    return list(axes_of([point.job for point in sizes_session(kernel, *sizes).points]))


def test_a_line_is_an_implementation_with_its_sizes_in_order() -> None:
    scene = build_sweep(sweep_session())
    assert [line.label for line in scene.lines] == [
        *("CUDA vectorised", "Triton flat", "Triton second", "eager PyTorch", "torch.compile")
    ]
    for line in scene.lines:
        places = [dot.x for dot in line.dots]
        assert places == sorted(places)
        assert places[0] == 2**10
        assert all(dot.low < dot.y < dot.high for dot in line.dots)


def test_values_are_those_of_the_points() -> None:
    session = sweep_session()
    points = {point.number: point for point in session.points}
    for quantity in Quantity:
        for line in build_sweep(session, SweepOptions(quantity=quantity)).lines:
            for dot in line.dots:
                point = points[dot.number]
                assert point.measured
                eager = next(
                    one
                    for one in points.values()
                    if (one.job, one.implementation.stem) == (point.job, "eager")
                )
                assert eager.measured
                expected = {
                    Quantity.BANDWIDTH: point.achieved_bandwidth,
                    Quantity.FLOP_RATE: point.achieved_flop_rate,
                    Quantity.TIME: point.measured.time.median_s,
                    Quantity.SPEED_UP: eager.measured.time.median_s / point.measured.time.median_s,
                }.get(quantity)
                if expected is not None:
                    assert dot.y == pytest.approx(expected)
                else:
                    assert 0 < dot.y < 1


def test_a_size_without_a_time_breaks_the_line_and_keeps_its_reason() -> None:
    scene = build_sweep(sweep_session())
    cuda, triton = scene.lines[0], scene.lines[1]
    [gap] = cuda.gaps
    assert (gap.x, gap.reason.partition(":")[0]) == (ODD, "Wrong values")
    before, after = cuda.pieces
    assert before[-1].x < ODD < after[0].x
    assert len(triton.pieces) == 1


def test_implementations_of_one_provider_differ() -> None:
    first, second = build_sweep(sweep_session()).lines[1:3]
    assert first.provider is second.provider
    assert first.style != second.style
    assert is_hollow(first) is not is_hollow(second)


def test_an_implementation_without_any_time_is_named_and_not_drawn() -> None:
    session = sweep_session()
    failed = next(point for point in session.points if point.measured is None)
    session.points = tuple(
        replace(point, outcome=failed.outcome) if point.implementation.stem == "triton_second" else point
        for point in session.points
    )
    scene = build_sweep(session)
    assert scene.left_out == ("Triton second",)
    assert "Triton second" not in [line.label for line in scene.legend]


def test_what_varies_is_the_axis() -> None:
    assert axes("vector_add", {"n": 1}) == []
    assert axes("vector_add", {"n": 1}, {"n": 2})[0] == SweepAxis(("n",))
    cubes = [{"m": size, "n": size, "k": size} for size in (64, 128)]
    assert axes("matmul", *cubes)[0].title == "m = n = k"
    rows = [{"rows": 8, "cols": cols} for cols in (64, 128)]
    assert axes("softmax", *rows)[0] == SweepAxis(("cols",))


def test_of_several_axes_the_bytes_stand_and_each_can_be_chosen() -> None:
    sizes = [{"rows": 8, "cols": 64}, {"rows": 8, "cols": 128}, {"rows": 32, "cols": 128}]
    found = axes("softmax", *sizes)
    assert found[0] == SweepAxis()
    assert "Bytes" in found[0].title
    along = next(axis for axis in found if axis.names == ("cols",))
    assert along.title == "cols, at rows=8"
    session = sizes_session("softmax", *sizes)
    scene = build_sweep(session, SweepOptions(axis=along))
    assert {dot.x for line in scene.lines for dot in line.dots} == {64, 128}
    assert scene.other_count == 5


def test_sizes_of_as_many_bytes_are_laid_out_along_an_axis() -> None:
    """The recorded softmax: rows times cols is the same everywhere."""
    session = load(ASSETS / "sessions" / "h200.roofscope")
    scene = build_sweep(session, SweepOptions("softmax"))
    assert scene.axis == SweepAxis(("cols",), beside=("rows",))
    assert len({dot.x for line in scene.lines for dot in line.dots}) == 5


def test_the_cache_is_marked_where_the_working_set_is_as_large() -> None:
    scene = build_sweep(sweep_session())
    assert scene.cache
    assert DEVICE.last_level_cache_bytes
    assert scene.cache.value * 12 == pytest.approx(DEVICE.last_level_cache_bytes, rel=1e-9)
    assert scene.cache.label == "L2 60.0 MiB"
    small = build_sweep(sweep_session(range(10, 15)))
    assert small.cache is None
    assert small.cache_note == "All sizes fit the L2 60.0 MiB."


def test_regimes_are_lines_of_their_own() -> None:
    session = sweep_session(range(10, 13))
    hot = tuple(
        replace(point, number=point.number + 100, job=replace(point.job, regime=Regime.SUSTAINED))
        for point in session.points
        if point.implementation.stem == "eager"
    )
    session.points = (*session.points, *hot)
    labels = [line.label for line in build_sweep(session).lines]
    assert (
        labels[-2:] == ["eager PyTorch, sustained", "torch.compile"] or "eager PyTorch, sustained" in labels
    )
    eager, sustained = (line for line in build_sweep(session).lines if line.key.startswith("eager"))
    assert not {dot.number for dot in eager.dots} & {dot.number for dot in sustained.dots}


def test_fills_are_lines_of_their_own_and_no_sizes() -> None:
    session = sweep_session(range(10, 13))
    normal = tuple(
        replace(
            point,
            number=point.number + 100,
            job=replace(point.job, workload=replace(point.job.workload, fill=Distribution.NORMAL)),
        )
        for point in session.points
        if point.implementation.stem == "eager"
    )
    session.points = (*session.points, *normal)
    lines = {line.label: line for line in build_sweep(session).lines}
    assert len(lines["eager PyTorch, N(0,1)"].dots) == len(lines["eager PyTorch"].dots) == 4


def test_the_newest_of_one_size_counts() -> None:
    session = sweep_session(range(10, 13))
    again = replace(session.points[3], number=999)
    session.points = (*session.points, again)
    numbers = [dot.number for line in build_sweep(session).lines for dot in line.dots]
    assert 999 in numbers
    assert session.points[3].number not in numbers


@pytest.mark.parametrize(
    ("session", "options", "words"),
    [
        (make_session(), SweepOptions("vector_add"), "n=2^10..2^24"),
        (empty_session(), SweepOptions(), "No point has a time yet"),
        (sweep_session(), SweepOptions(quantity=Quantity.OF_ROOF), ""),
    ],
)
def test_what_is_empty_says_what_to_do(session: Session, options: SweepOptions, words: str) -> None:
    scene = build_sweep(session, options)
    assert words in scene.why_empty
    assert scene.is_empty is bool(words)


def test_a_kernel_with_several_sizes_comes_first() -> None:
    session = sweep_session(range(10, 12), kernels=("gelu",))
    session.points = (*make_session().points, *session.points)
    assert build_sweep(session).kernel == "gelu"
    assert SweepOptions("gelu", Dtype.FLOAT32) in sweeps_of(session)


def two_devices() -> Session:
    """The same sweep on two of a kind; the second takes twice as long."""
    twin = replace(DEVICE, id="cuda:1", uuid="GPU-twin")
    session = sweep_session(range(10, 13))
    session.origins = tuple(
        Origin(number, replace(ENVIRONMENT, devices=(device,)), device.id, RECORDED_AT)
        for number, device in enumerate((DEVICE, twin), 1)
    )
    slow = tuple(
        replace(
            point,
            number=point.number + 100,
            job=replace(point.job, device="cuda:1"),
            origin=2,
            outcome=measured(2 * point.measured.time.median_s) if point.measured else point.outcome,
        )
        for point in session.points
    )
    session.points = (*(replace(point, origin=1) for point in session.points), *slow)
    return session


def test_a_sweep_is_of_one_device() -> None:
    session = two_devices()
    first = build_sweep(session)
    session.show(session.devices[1])
    second = build_sweep(session)
    assert {dot.number > 100 for line in first.lines for dot in line.dots} == {False}
    assert {dot.number > 100 for line in second.lines for dot in line.dots} == {True}
    assert first.lines[0].dots[0].y == pytest.approx(2 * second.lines[0].dots[0].y)


def test_a_run_on_several_devices_draws_each(tmp_path: Path) -> None:
    session = two_devices()
    assert len(draw_sweeps(session, tmp_path / "a.svg").lines) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-cuda0.svg", "a-cuda1.svg"]
    assert report_html(session).count("<svg") == 4


def test_ticks_are_the_sizes_and_never_overlap() -> None:
    sizes = [*(2.0**power for power in range(10, 16)), 98432.0]
    view = Range(3.0, 5.1)
    ticks = size_ticks(sizes, view, 600, FONT.width)
    assert {tick.label for tick in ticks} >= {"1Ki", "2Ki", "32Ki", "98432"}
    for pixels in (60, 120, 300):
        labelled = [tick for tick in size_ticks(sizes, view, pixels, FONT.width) if tick.label]
        ends = [
            ((tick.position - view.low) / view.span * pixels, FONT.width(tick.label) / 2) for tick in labelled
        ]
        assert labelled
        assert all(one + a < other - b for (one, a), (other, b) in pairwise(ends))


def test_between_two_sizes_there_are_ticks_as_well() -> None:
    assert any(tick.label for tick in size_ticks([1024.0, 2048.0], Range(3.05, 3.1), 500, FONT.width))


def test_values_have_round_ticks_with_units() -> None:
    ticks = value_ticks(Quantity.BANDWIDTH, Range(0.0, 4.4e12), False, 5)
    assert [tick.label for tick in ticks] == ["0", "1 TB/s", "2 TB/s", "3 TB/s", "4 TB/s"]
    ticks = value_ticks(Quantity.TIME, Range(-6.0, -3.0), True, 5)
    assert [tick.label for tick in ticks if tick.label] == ["1 µs", "10 µs", "100 µs", "1 ms"]


@pytest.mark.parametrize("quantity", Quantity)
def test_every_dot_stands_at_its_value(quantity: Quantity) -> None:
    scene = build_sweep(sweep_session(), SweepOptions(quantity=quantity))
    view = View(scene.x_range, scene.y_range, Box(80, 20, 900, 500))
    drawn = lay_out(scene, view, FONT)
    for line in drawn.lines:
        assert len(line.dots) == len(line.line.dots)
        for dot, (x, y) in line.dots:
            back_x = 10 ** (view.x.low + (x - view.box.left) / view.box.width * view.x.span)
            place = view.y.low + (view.box.bottom - y) / view.box.height * view.y.span
            assert back_x == pytest.approx(dot.x)
            assert (10**place if scene.is_log else place) == pytest.approx(dot.y)


def test_names_of_lines_keep_off_the_dots() -> None:
    scene = build_sweep(sweep_session())
    view = View(scene.x_range, scene.y_range, Box(80, 20, 900, 500))
    drawn = lay_out(scene, view, FONT)
    assert {label.text.text for label in drawn.labels} == {"L2 60.0 MiB", "DRAM triad 4.38 TB/s"}
    for label in drawn.labels:
        for line in drawn.lines:
            assert not any(label.box.meets(Box(x, y, 0.1, 0.1)) for _, (x, y) in line.dots)


def test_what_is_zoomed_in_stays_inside() -> None:
    scene = build_sweep(sweep_session())
    box = Box(80, 20, 900, 500)
    drawn = lay_out(scene, View(Range(5.2, 6.4), Range(1e12, 3e12), box), FONT)
    places = [place for line in drawn.lines for part in (*line.bands, *line.paths) for place in part]
    assert places
    for x, y in places:
        assert box.left - 1 <= x <= box.right + 1
        assert box.top - 1 <= y <= box.bottom + 1


def test_a_polygon_is_cut_at_a_box() -> None:
    cut = clipped_polygon([(-1.0, 0.5), (2.0, 0.5), (2.0, 2.0), (-1.0, 2.0)], Box(0, 0, 1, 1))
    assert {(round(x, 9), round(y, 9)) for x, y in cut} == {(0, 0.5), (1, 0.5), (1, 1), (0, 1)}
    assert clipped_polygon([(5.0, 5.0), (6.0, 5.0), (6.0, 6.0)], Box(0, 0, 1, 1)) == []


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_svg_says_all_that_is_needed_to_read_it() -> None:
    found = texts(sweep_svg(sweep_session()))
    assert "vector_add fp32 on NVIDIA H200" in found
    assert {"1Ki", "1Mi", "n", "Bandwidth", "L2 60.0 MiB", "Triton second"} <= set(found)
    assert any("580.159.03" in text for text in found)


def test_text_from_a_file_stays_text() -> None:
    hostile = '<script>alert(1)</script>"\u202e'
    session = sweep_session(range(10, 13))
    session.points = tuple(
        replace(point, job=replace(point.job, workload=replace(point.job.workload, kernel=hostile)))
        for point in session.points
    )
    svg = sweep_svg(session, SweepOptions(hostile))
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(svg).iter()}
    assert "script" not in tags
    assert any("<script>alert(1)</script>" in text for text in texts(svg))
    assert "\u202e" not in svg


def test_the_table_has_a_row_a_size() -> None:
    scene = build_sweep(sweep_session(range(10, 13)))
    titles, *rows = sweep_table(scene)
    assert titles[0] == "n"
    assert [row[0] for row in rows] == ["1Ki", "2Ki", "4Ki", str(ODD)]
    assert rows[-1][1] == "–"
    assert aligned_text(sweep_table(scene)).count("\n") == 4


def test_switched_off_lines_stay_in_the_legend() -> None:
    whole = build_sweep(sweep_session())
    scene: SweepScene = build_sweep(sweep_session(), SweepOptions(hidden=frozenset({"eager"})))
    assert len(scene.lines) == len(scene.legend) - 1
    assert scene.x_range == whole.x_range
    assert math.isfinite(scene.y_range.high)


def with_interval(session: Session, at: int, low: float, high: float) -> Session:
    """The interval of one point's time, in shares of its median."""
    point = session.points[at]
    assert point.measured
    time = point.measured.time
    time = replace(time, low_s=time.median_s * low, high_s=time.median_s * high)
    outcome = replace(point.measured, time=time, flags=(Flag.UNSTABLE,))
    session.points = (*session.points[:at], replace(point, outcome=outcome), *session.points[at + 1 :])
    return session


def test_a_time_not_to_be_relied_on_is_marked_in_the_table_and_named_below() -> None:
    session = with_interval(sweep_session(range(10, 13)), 0, 0.5, 1.5)
    scene = build_sweep(session)
    _, first, *others = sweep_table(scene)
    assert [cell.startswith("! ") for cell in first] == [False, True, *[False] * 4]
    assert not any(cell.startswith("!") for row in others for cell in row)
    assert "! CUDA vectorised n=1024: unstable." in note_lines(scene)
    assert "! marks unstable." in note_text(scene)
    assert "!" not in note_text(build_sweep(sweep_session(range(10, 13))))


def test_a_wide_interval_is_whole_on_a_log_axis_and_said_where_it_is_cut() -> None:
    session = with_interval(sweep_session(range(10, 13)), 0, 0.2, 5.0)
    time = build_sweep(session, SweepOptions(quantity=Quantity.TIME))
    assert not time.is_cut
    assert time.y_range.low < time.y_place(time.lines[0].dots[0].low)
    assert time.y_range.high > time.y_place(time.lines[0].dots[0].high)
    assert "beyond the picture" not in note_text(time)
    rate = build_sweep(with_interval(session, 10, 0.01, 5.0))
    assert rate.is_cut
    assert "Some intervals reach beyond the picture." in note_text(rate)


@pytest.mark.parametrize("width", [640, 1000])
def test_the_words_under_the_title_are_whole_and_above_the_legend(width: int) -> None:
    svg = sweep_svg(with_interval(sweep_session(), 0, 0.5, 1.5), size=(width, 430))
    assert "…" not in svg
    words = " ".join(texts(svg))
    assert "rings at the axis" in words
    y_of = {e.text: float(e.get("y", "nan")) for e in ET.fromstring(svg).iter() if e.text and e.get("y")}
    under = [y for text, y in y_of.items() if "rings" in text or "caches cold" in text or "unstable" in text]
    assert max(under) + 10 < y_of["CUDA vectorised"]


def test_the_selected_line_is_named_at_its_ring() -> None:
    session = sweep_session()
    line = build_sweep(session).lines[0]
    for dot in line.dots:
        scene = build_sweep(session, SweepOptions(selected=dot.number))
        view = View(scene.x_range, scene.y_range, Box(0, 0, 900, 420))
        drawn = lay_out(scene, view, FONT)
        assert drawn.ring is not None
        [name] = [label for label in drawn.labels if label.text.text == line.label]
        ring = Box(drawn.ring[0] - 8, drawn.ring[1] - 8, 16, 16)
        assert not name.box.meets(ring)
        assert abs(name.box.left + name.box.width / 2 - ring.left) < name.box.width + 20


def test_the_name_of_a_level_stands_off_the_lines_where_there_is_room() -> None:
    session = load(ASSETS / "sessions" / "h200.roofscope")
    scene = build_sweep(session, SweepOptions("softmax", Dtype.BFLOAT16))
    for width, height in ((510, 140), (500, 160), (600, 200), (900, 300)):
        view = View(scene.x_range, scene.y_range, Box(0, 0, width, height))
        drawn = lay_out(scene, view, FONT)
        [name] = [label for label in drawn.labels if label.text.text.startswith("DRAM")]
        for line in drawn.lines:
            for path in line.paths:
                for one, other in pairwise(path):
                    assert not any(name.box.meets(part) for part in boxes_along(one, other, 1.0, 4.0))


@pytest.mark.parametrize("end", ["low_s", "high_s"])
def test_an_interval_that_reaches_zero_draws_nothing(end: str) -> None:
    """No reader lets one in: a rate over it would have no end."""
    session = sweep_session()
    first = session.points[0]
    assert first.measured is not None
    outcome = replace(first.measured, time=replace(first.measured.time, **{end: -0.0}))
    broken = replace(session, points=(replace(first, outcome=outcome), *session.points[1:]))
    [whole, other] = [sum(len(line.dots) for line in build_sweep(one).lines) for one in (session, broken)]
    assert other == whole - 1

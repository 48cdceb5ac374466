"""What the roofline shows, without pixels."""

import math

import msgspec
import pytest

from roofscope.app.presentation.roofline.caption import (
    EMPTY_TEXT,
    FILTERED_TEXT,
    UNTIMED_TEXT,
    count_line,
    empty_text,
)
from roofscope.app.presentation.roofline.points import ChartPoint, StripPoint, all_points
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartY, Range, build_scene
from roofscope.app.presentation.roofline.strip import strip_of
from roofscope.app.presentation.roofline.ticks import log_ticks
from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Dtype, Provider, WorkFormula
from roofscope.profiling.results.outcome import Flag, Measured
from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix, Source
from roofscope.tests.sessions import CEILINGS, SPEC_OF, ceiling, empty_session, make_session

SESSION = make_session(full=True)
POINTS = all_points(SESSION)


def showing(
    session: Session = SESSION, *, kernel: str | None = None, dtype: Dtype | None = None
) -> ChartOptions:
    """Options by which a chart shows these points of a session only."""
    kernels = frozenset({kernel}) if kernel else None
    return ChartOptions(shown=ViewFilter(kernels=kernels, dtype=dtype).numbers(session))


def session_with_copy() -> Session:
    """A session whose gelu computes nothing, as a copy does."""
    session = make_session()
    spec = msgspec.structs.replace(SPEC_OF["gelu"], work=WorkFormula("0", "n*s", "n*s"))
    session.specs = {**session.specs, "gelu": spec}
    session.points = tuple(
        msgspec.structs.replace(
            point,
            job=msgspec.structs.replace(
                point.job, work=spec.work_at(point.job.workload.sizes, point.job.workload.dtype)
            ),
        )
        if point.implementation.kernel == "gelu"
        else point
        for point in session.points
    )
    return session


def make_unstable(session: Session, kernel: str) -> None:
    """Flag the kernel's first measured point."""
    points = list(session.points)
    index = next(
        i for i, point in enumerate(points) if point.measured and point.job.workload.kernel == kernel
    )
    outcome = msgspec.structs.replace(points[index].measured, flags=(Flag.UNSTABLE,))  # type: ignore[type-var]
    points[index] = msgspec.structs.replace(points[index], outcome=outcome)
    session.points = tuple(points)


def test_what_has_no_time_is_counted_as_it_is_filtered() -> None:
    session = make_session(full=True)
    untimed = [point.job.workload.kernel for point in session.points if point.measured is None]
    assert build_scene(session, all_points(session)).untimed_count == len(untimed)
    for kernel in SPEC_OF:
        scene = build_scene(session, all_points(session), showing(session, kernel=kernel))
        assert scene.untimed_count == untimed.count(kernel)
    assert len(set(untimed)) > 1


def test_only_points_with_a_time_are_drawn() -> None:
    measured = {point.number for point in SESSION.points if isinstance(point.outcome, Measured)}
    scene = build_scene(SESSION, POINTS)
    assert {point.number for point in scene.points} == measured
    assert len(measured) < len(SESSION.points)


def test_a_point_stands_at_its_intensity_and_rate_with_its_interval() -> None:
    for point in POINTS:
        assert isinstance(point, ChartPoint)
        source = next(found for found in SESSION.points if found.number == point.number)
        assert source.measured is not None
        assert 10**point.x == pytest.approx(source.job.work.arithmetic_intensity)
        assert 10**point.y == pytest.approx(source.achieved_flop_rate)
        assert 10**point.y_low == pytest.approx(source.job.work.flop_count / source.measured.time.high_s)
        assert point.y_low < point.y < point.y_high


def test_axes_come_from_the_machine_and_not_from_the_points() -> None:
    few, many = make_session(), SESSION
    scenes = [
        build_scene(few, all_points(few)),
        build_scene(many, POINTS),
        build_scene(empty_session(ceilings=CEILINGS), []),
    ]
    assert len({(scene.x_range, scene.y_range) for scene in scenes}) == 1


def test_a_point_outside_widens_the_axes_by_whole_decades() -> None:
    assert Range(0.25, 4).widened_to([4.3, 2]) == Range(0.25, 4.5)
    assert Range(0.25, 4).widened_to([3.9, 0.5]) == Range(0.25, 4.25)  # its marker would be cut
    assert Range(0.25, 4).widened_to([-1.9]) == Range(-2.25, 4)
    assert Range(0, 4).widened_to([]) == Range(0, 4)


def test_without_ceilings_the_points_make_the_axes() -> None:
    session = make_session(ceilings=())
    scene = build_scene(session, all_points(session))
    assert not scene.has_ceilings
    assert not scene.lines
    for point in scene.points:
        assert scene.x_range.low < point.x < scene.x_range.high
        assert scene.y_range.low < point.y < scene.y_range.high


def test_ridges_lie_on_both_ceilings() -> None:
    session = empty_session(ceilings=(ceiling(Bound.DRAM, 4e12), ceiling(Bound.FP32, 50e12)))
    (ridge,) = build_scene(session, []).ridges
    assert (10**ridge.x, 10**ridge.y) == (pytest.approx(12.5), pytest.approx(50e12))


def test_measured_ceilings_are_drawn_and_nameplates_only_when_asked_or_alone() -> None:
    measured = build_scene(SESSION, POINTS)
    assert measured.sources == {Source.MEASURED_BURST}
    chosen = build_scene(SESSION, POINTS, ChartOptions(sources=frozenset({Source.NAMEPLATE})))
    assert {line.ceiling.source for line in chosen.lines} == {Source.NAMEPLATE}
    only = make_session(ceilings=[c for c in CEILINGS if c.source is Source.NAMEPLATE])
    assert build_scene(only, all_points(only)).sources == {Source.NAMEPLATE}
    assert build_scene(SESSION, POINTS, ChartOptions(sources=frozenset())).lines == ()


def test_sustained_points_bring_their_ceilings_and_do_not_replace_burst_ones() -> None:
    session = make_session()
    point = next(p for p in session.points if p.measured)
    job = msgspec.structs.replace(point.job, id="job-99", regime=Regime.SUSTAINED)
    hot = msgspec.structs.replace(point, number=999, job=job)
    session.points = (*session.points, hot)
    scene = build_scene(session, all_points(session))
    assert scene.sources == {Source.MEASURED_BURST, Source.MEASURED_SUSTAINED}
    assert scene.ghosts == ()
    assert {point.number, 999} <= {p.number for p in scene.points}


def test_points_that_are_all_sustained_have_the_roof_of_memory_too() -> None:
    """It was measured in bursts alone: memory keeps its clock under load."""
    session = make_session()
    session.points = tuple(
        msgspec.structs.replace(point, job=msgspec.structs.replace(point.job, regime=Regime.SUSTAINED))
        for point in session.points
    )
    assert not session.roofline.of(Bound.DRAM, Source.MEASURED_SUSTAINED)
    lines = build_scene(session, all_points(session)).lines
    assert any(line.ceiling.bound is Bound.DRAM for line in lines)
    assert {line.ceiling.source for line in lines} == {Source.MEASURED_BURST, Source.MEASURED_SUSTAINED}


def test_the_selected_points_pipe_is_lit_and_the_others_are_dim() -> None:
    def lit(options: ChartOptions) -> set[Bound]:
        lines = build_scene(SESSION, POINTS, options).lines
        return {line.ceiling.bound for line in lines if line.lit and not line.ceiling.bound.is_memory}

    matmul = next(p for p in POINTS if p.kernel == "matmul" and p.dtype is Dtype.BFLOAT16)
    assert lit(ChartOptions()) == {Bound.FP32, Bound.FP16, Bound.BF16}
    assert lit(ChartOptions(selected=matmul.number)) == {Bound.BF16}
    assert lit(showing(kernel="softmax")) == {Bound.FP32}
    assert lit(showing(dtype=Dtype.FLOAT16)) == {Bound.FP32, Bound.FP16}


MORE = (
    *CEILINGS,
    ceiling(Bound.SPECIAL, 4.15e12),
    ceiling(Bound.HALF2, 126e12),
    ceiling(Bound.INT8, 1.3e15),
)


def test_only_pipes_that_bound_a_point_are_drawn_until_the_user_asks_for_others() -> None:
    session = make_session(ceilings=MORE)
    points = all_points(session)

    def drawn(options: ChartOptions) -> set[Bound]:
        lines = build_scene(session, points, options).lines
        return {line.ceiling.bound for line in lines if not line.ceiling.bound.is_memory}

    of_points = {Bound.FP32, Bound.FP16, Bound.BF16}
    assert drawn(ChartOptions()) == of_points
    assert drawn(showing(kernel="softmax")) == of_points  # a filter dims, it does not redraw the machine
    assert drawn(ChartOptions(bounds=frozenset({Bound.HALF2, Bound.INT8}))) == {Bound.HALF2, Bound.INT8}
    assert set(build_scene(session, points).known_bounds) == {c.bound for c in MORE} - {Bound.DRAM}


def test_before_there_are_points_the_usual_pipes_are_drawn() -> None:
    def bounds(*ceilings: Ceiling) -> set[Bound]:
        return set(build_scene(empty_session(ceilings=ceilings), []).bounds)

    assert bounds(*MORE) == {Bound.FP32, Bound.TF32, Bound.FP16, Bound.BF16, Bound.FP8}
    assert bounds(ceiling(Bound.SPECIAL, 4.15e12)) == {Bound.SPECIAL}  # rather than none


def test_special_functions_move_the_axes_only_where_they_are_drawn() -> None:
    session = make_session(ceilings=MORE)
    points = all_points(session)
    without, plain = build_scene(session, points), build_scene(SESSION, POINTS)
    assert without.x_range == plain.x_range
    drawn = build_scene(session, points, ChartOptions(bounds=frozenset({Bound.SPECIAL})))
    assert drawn.x_range.low < without.x_range.low


def test_filters_hide_points_and_say_how_many() -> None:
    scene = build_scene(SESSION, POINTS, showing(kernel="softmax", dtype=Dtype.FLOAT32))
    assert {(point.kernel, point.dtype) for point in scene.points} == {("softmax", Dtype.FLOAT32)}
    assert scene.hidden_count == len(POINTS) - len(scene.points)


def test_the_target_is_the_limiting_ceiling_straight_above() -> None:
    point = next(p for p in POINTS if p.kernel == "gelu" and p.provider is Provider.EAGER)
    assert isinstance(point, ChartPoint)
    target = build_scene(SESSION, POINTS, ChartOptions(selected=point.number)).target
    assert target is not None
    assert target.ceiling.mix is Mix.COPY
    assert 10 ** (target.roof_y - point.x) == pytest.approx(4277e9)  # on the copy slope
    assert target.factor == pytest.approx(10 ** (target.roof_y - point.y))


def test_a_second_run_leaves_the_first_as_a_ghost() -> None:
    session = make_session()
    again = msgspec.structs.replace(session.points[0], number=1000)
    session.points = (*session.points, again)
    scene = build_scene(session, all_points(session))
    assert [point.number for point in scene.ghosts] == [session.points[0].number]
    assert scene.point(1000) in scene.points


def test_a_label_is_a_kernels_name_and_stands_at_its_best_point() -> None:
    scene = build_scene(SESSION, POINTS)
    assert {group.label for group in scene.groups} == {point.kernel for point in scene.points}
    for group in scene.groups:
        best = max(point.fraction or 0.0 for point in group.points)
        assert group.points[0].fraction == best


def test_of_a_single_kernel_the_implementations_are_named() -> None:
    scene = build_scene(SESSION, POINTS, showing(kernel="softmax"))
    assert {group.label for group in scene.groups} == {point.name for point in scene.points}
    assert len(scene.groups) > 3


def test_a_point_is_as_high_as_its_share_of_its_own_roof() -> None:
    scene = build_scene(SESSION, POINTS, ChartOptions(y=ChartY.ROOF))
    assert {point.number for point in scene.points} == {p.number for p in build_scene(SESSION, POINTS).points}
    for point in scene.points:
        source = next(found for found in SESSION.points if found.number == point.number)
        judged = verdict(source, SESSION)
        assert point.y == judged.fraction_of_roof
        assert point.y_low < point.y < point.y_high
        assert scene.y_range.low < point.y < scene.y_range.high
    assert scene.drawn_lines == ()


def test_points_without_a_roof_are_counted_and_not_drawn() -> None:
    session = make_session(ceilings=[c for c in CEILINGS if not c.bound.is_memory and c.bound is Bound.BF16])
    points = all_points(session)
    roofless = [point for point in points if isinstance(point, ChartPoint) and point.fraction is None]
    assert roofless
    scene = build_scene(session, points, ChartOptions(y=ChartY.ROOF))
    assert scene.unroofed_count == len(roofless)
    assert f"{len(roofless)} without a roof" in count_line(scene)
    assert not {point.number for point in roofless} & {point.number for point in scene.points}


def test_the_arrow_leads_to_all_of_the_roof() -> None:
    point = POINTS[0]
    target = build_scene(SESSION, POINTS, ChartOptions(selected=point.number, y=ChartY.ROOF)).target
    assert target is not None
    assert target.roof_y == 1.0


def test_a_sweep_is_a_path_in_the_order_of_sizes() -> None:
    assert build_scene(SESSION, POINTS).paths == ()
    scene = build_scene(SESSION, POINTS, showing(kernel="matmul"))
    assert scene.paths
    for path in scene.paths:
        assert len({(point.kernel, point.name, point.dtype) for point in path}) == 1
        assert [p.byte_count for p in path] == sorted(p.byte_count for p in path)
        assert len({point.sizes for point in path}) == len(path) > 1
    of_one = scene.paths[0][0]
    (path,) = build_scene(SESSION, POINTS, ChartOptions(selected=of_one.number)).paths
    assert of_one.number in {point.number for point in path}


def test_a_crowd_has_smaller_markers_and_the_best_is_drawn_last() -> None:
    scene = build_scene(SESSION, POINTS)
    shares = [point.fraction or 0.0 for point in scene.points]
    assert shares == sorted(shares)
    crowd = msgspec.structs.replace(scene, points=scene.points * 40)
    assert crowd.marker < scene.marker


def test_an_earlier_point_can_be_selected_as_well() -> None:
    session = make_session()
    session.points = (*session.points, msgspec.structs.replace(session.points[0], number=1000))
    earlier = session.points[0].number
    target = build_scene(session, all_points(session), ChartOptions(selected=earlier)).target
    assert target is not None
    assert target.point.number == earlier


def test_the_strip_draws_each_ceiling_that_judges_a_point_of_it() -> None:
    session = session_with_copy()
    strip = strip_of(build_scene(session, all_points(session)))
    assert strip is not None
    for point in strip.points:
        source = next(found for found in session.points if found.number == point.number)
        judged = verdict(source, session)
        assert judged.limiter in strip.ceilings
        assert judged.limiter is not None
        share = 10**point.x / judged.limiter.value  # as far along as the share that is written
        assert share == pytest.approx(judged.fraction_of_roof)


def test_kernels_without_flops_live_on_the_bandwidth_strip() -> None:
    session = session_with_copy()
    points = all_points(session)
    scene = build_scene(session, points)
    strip = strip_of(scene)
    assert strip is not None
    assert strip.kernels == ("gelu",)
    assert all(point.kernel != "gelu" for point in scene.points)
    for point in strip.points:
        assert isinstance(point, StripPoint)
        source = next(found for found in session.points if found.number == point.number)
        assert 10**point.x == pytest.approx(source.achieved_bandwidth)
        assert strip.x_range.low < point.x < strip.x_range.high
    assert strip_of(build_scene(SESSION, POINTS)) is None


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (-2, 4, ["0.01", "0.1", "1", "10", "100", "1 k", "10 k"]),
        (0.1, 1.6, ["2", "5", "10", "20"]),
        (math.log10(2.5), math.log10(9.5), ["3", "4", "5", "6", "7", "8", "9"]),
        (math.log10(1.22), math.log10(1.61), ["1.3", "1.4", "1.5", "1.6"]),
        (9, 9.1, ["1 G", "1.1 G", "1.2 G"]),
    ],
)
def test_ticks_stay_readable_at_every_zoom(low: float, high: float, labels: list[str]) -> None:
    assert [tick.label for tick in log_ticks(low, high) if tick.label] == labels


def test_ticks_are_where_their_label_says() -> None:
    for tick in log_ticks(0.2, 0.5):
        if tick.label:
            assert tick.position == pytest.approx(math.log10(float(tick.label)))
    assert len([tick for tick in log_ticks(-12, 12, label_count=5) if tick.label]) <= 6
    assert log_ticks(1, 1) == ()
    assert log_ticks(math.nan, 1) == ()


def test_a_chart_without_points_says_what_to_do_next() -> None:
    untimed = make_session(full=True)
    untimed.points = tuple(point for point in untimed.points if point.measured is None)
    texts = {
        EMPTY_TEXT: build_scene(empty_session(), ()),
        UNTIMED_TEXT: build_scene(untimed, ()),
        FILTERED_TEXT: build_scene(SESSION, POINTS, showing(kernel="no such kernel")),
    }
    for text, scene in texts.items():
        assert empty_text(scene) == text

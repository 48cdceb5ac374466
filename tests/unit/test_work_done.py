"""What thousands of points share is found once. Counted here; how long it takes is for benchmarks."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from roofscope.app.presentation.roofline import points as points_module
from roofscope.app.presentation.roofline.crowd import Columns, Crowd
from roofscope.app.presentation.roofline.points import ChartPoint, all_points, chart_point
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartY, build_scene
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results import session as session_module
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """Grows by one with each call of a function of a module or class."""
    calls: list[None] = []
    plain: Callable[..., Any] = getattr(owner, name)

    def counting(*args: Any, **named: Any) -> Any:
        calls.append(None)
        return plain(*args, **named)

    monkeypatch.setattr(owner, name, counting)
    return calls


def example() -> Session:
    return load(ASSETS / "sessions" / "h200.roofscope")


def test_all_points_of_an_origin_share_its_roofline(monkeypatch: pytest.MonkeyPatch) -> None:
    session = example()
    made = counted(monkeypatch, session_module, "_newest")
    for point in session.points:
        verdict(point, session)
    assert len(made) == len({point.origin for point in session.points}) < len(session.points)


def test_a_roofline_that_was_found_follows_its_session() -> None:
    session = example()
    point = next(point for point in session.points if point.measured and verdict(point, session).limiter)
    before = verdict(point, session)
    session.ceilings = tuple(msgspec.structs.replace(c, value=c.value / 2) for c in session.ceilings)
    after = verdict(point, session)
    assert before.fraction_of_roof
    assert after.fraction_of_roof == pytest.approx(2 * before.fraction_of_roof)
    session.ceilings = ()
    assert verdict(point, session).limiter is None
    assert not session.roofline.ceilings


def earlier_and_newest(points: list[ChartPoint]) -> tuple[list[int], list[int]]:
    """Numbers of the earlier points and the newest in the order of drawing, found point by point."""
    newest: dict[object, ChartPoint] = {}
    earlier: list[int] = []
    for point in points:
        series = (point.kernel, point.name, point.dtype, point.sizes, point.regime)
        if series in newest:
            earlier.append(newest[series].number)
        newest[series] = point
    drawn = sorted(newest.values(), key=lambda point: (point.fraction or 0.0, point.number))
    return earlier, [point.number for point in drawn]


def test_a_crowd_that_grows_is_drawn_as_one_made_at_once() -> None:
    session = example()
    again = (msgspec.structs.replace(p, number=1000 + p.number) for p in session.points[:50:2])
    session.points = (*session.points, *again)
    points = all_points(session)
    grown = Crowd(points[:100])
    for y in ChartY:
        build_scene(session, grown, ChartOptions(y=y))
    for point in points[100:]:
        grown.add(point)
    for options in (
        ChartOptions(),
        ChartOptions(y=ChartY.ROOF),
        ChartOptions(selected=points[7].number),
        ChartOptions(shown=frozenset(point.number for point in points[::3])),
        ChartOptions(shown=frozenset()),
    ):
        scene = build_scene(session, grown, options)
        assert scene == build_scene(session, points, options)
        shown = [p for p in points if isinstance(p, ChartPoint) and options.keeps(p.number)]
        found = [p.number for p in scene.ghosts], [p.number for p in scene.points]
        assert found == earlier_and_newest(shown)
        kept, plain = (
            grown.columns_of(scene.points, scene.ghosts),
            Columns.of((*scene.points, *scene.ghosts)),
        )
        assert np.array_equal(kept.places, plain.places)
        assert np.array_equal(kept.spans, plain.spans)
        assert np.array_equal(kept.providers, plain.providers)
        assert np.array_equal(kept.warns, plain.warns)


def test_a_selection_arranges_no_point_again() -> None:
    session = example()
    crowd = Crowd(all_points(session))
    scenes = [build_scene(session, crowd, ChartOptions(selected=number)) for number in (None, 1, 2, 3)]
    assert crowd.arranged_count == 1
    assert all(scene.has_points_of(scenes[0]) for scene in scenes)
    build_scene(session, crowd, ChartOptions(shown=frozenset((1, 2))))
    assert crowd.arranged_count == 2


def test_a_kept_verdict_is_what_a_chart_point_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    session = example()
    judged = {point.number: verdict(point, session) for point in session.points}
    plain = all_points(session)
    asked = counted(monkeypatch, points_module, "verdict")
    kept = [chart_point(point, session, lambda point: judged[point.number]) for point in session.points]
    assert [point for point in kept if point] == plain
    assert not asked

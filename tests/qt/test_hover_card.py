"""The card that says what stands under the pointer."""

import msgspec
import pytest
from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.tokens import DARK, LIGHT
from roofscope.app.window.chart.hover_card import HoverCard, point_html, points_html
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point
from roofscope.tests.qt.test_roofline_chart import open_chart
from roofscope.tests.sessions import make_session

SESSION = make_session(full=True)
MEASURED = [point for point in SESSION.points if point.measured]


def open_card(qtbot: QtBot, size: QSize) -> HoverCard:
    plot = QWidget()
    qtbot.addWidget(plot)
    plot.resize(size)
    card = HoverCard(plot, LIGHT)
    plot.show()
    return card


@pytest.mark.parametrize("size", [QSize(1400, 800), QSize(520, 420), QSize(300, 640)])
def test_the_card_stands_opposite_the_pointer_and_never_over_the_point(qtbot: QtBot, size: QSize) -> None:
    card = open_card(qtbot, size)
    for x in range(10, size.width(), 37):
        for y in range(10, size.height(), 37):
            card.show_point(MEASURED[0], SESSION, QPointF(x, y), None)
            assert card.width() == 220
            place = QRectF(card.geometry())
            assert card.parentWidget().rect().contains(card.geometry())
            if size.width() > 2 * 240 or card.height() < size.height() / 2 - 20:
                assert not place.adjusted(-6, -6, 6, 6).contains(x, y)


def test_several_points_are_listed_and_the_rest_counted(qtbot: QtBot) -> None:
    html = points_html(MEASURED[:13], SESSION, LIGHT)
    assert "13 points here" in html
    assert "and 5 more" in html
    assert html.count("<tr>") == 8
    assert all(point.implementation.label in html for point in MEASURED[:8])
    assert "more" not in points_html(MEASURED[:8], SESSION, DARK)
    card = open_card(qtbot, QSize(900, 600))
    card.show_points(MEASURED[:13], SESSION, QPointF(600, 300))
    assert card.isVisible()
    assert card.height() < 400


def test_the_workload_of_all_is_said_once() -> None:
    first = MEASURED[0]
    same = [point for point in MEASURED if point.job.workload == first.job.workload]
    assert len(same) > 2
    html = points_html(same, SESSION, LIGHT)
    assert html.count(first.job.workload.kernel) == 1


def test_names_from_a_file_stay_text() -> None:
    point = MEASURED[0]
    implementation = msgspec.structs.replace(point.implementation, variant="<img src=x>")
    hostile = msgspec.structs.replace(point, implementation=implementation)
    assert "<img" not in points_html([hostile, point], SESSION, LIGHT)


def test_the_card_has_the_users_note_and_tags(qtbot: QtBot) -> None:
    session = make_session()
    point = next(point for point in session.points if point.measured)
    assert "zebra" not in point_html(point, session, LIGHT)
    session.marks = {point.number: Mark(note="<b>zebra</b>", tags=("release",))}
    html = point_html(point, session, LIGHT)
    assert "release · &lt;b&gt;zebra" in html


def test_the_chart_lists_what_its_plot_finds(qtbot: QtBot) -> None:
    chart, model, _ = open_chart(qtbot, make_session())
    one = model.point(chart.scene.points[0].number)
    assert one is not None
    jobs = {point.number: point.job.id for point in model.session.points}
    near = tuple(point for point in chart.scene.points if jobs[point.number] == one.job.id)[:3]
    chart.plot.hovered.emit(near, None, QPointF(10, 10))
    assert "3 points here" in chart.card.html
    names = [point_named(model.session.points, point.number) for point in near]
    assert [chart.card.html.index(name) for name in names] == sorted(
        chart.card.html.index(name) for name in names
    )
    chart.plot.hovered.emit(near[:1], None, QPointF(10, 10))
    assert "points here" not in chart.card.html
    chart.plot.hovered.emit((), None, QPointF())
    assert not chart.card.isVisible()


def point_named(points: tuple[Point, ...], number: int) -> str:
    return next(point.implementation.label for point in points if point.number == number)

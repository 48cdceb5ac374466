"""The chart on the screen, as SVG and as PNG shows the same, each point at its value."""

import math
from shutil import which
from subprocess import run
from xml.etree import ElementTree as ET

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.roofline.scene import ChartY
from roofscope.app.presentation.tokens import LIGHT, MARKER_CORNERS, PROVIDER_COLOURS, PROVIDER_MARKERS
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.test_roofline_chart import open_chart
from roofscope.tests.recorded import kept

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["h200", "h200-tour", "h200-gelu"])
@pytest.mark.parametrize("y", list(ChartY))
def test_screen_svg_and_png_agree(qtbot: QtBot, name: str, y: ChartY) -> None:
    session = load(kept(name))
    chart, _, _ = open_chart(qtbot, session)
    chart.set_y(y)
    qtbot.waitUntil(lambda: bool(chart.plot.labels))
    svg = chart.picture().svg()
    root = ET.fromstring(svg)
    drawn = markers_of(root)
    frame = frame_of(root)
    # The same points, each within half a pixel of its value on the screen and in the file.
    view = chart.plot.view
    assert len(drawn) == len(chart.scene.points)
    rect = chart.plot.plot_rect()
    for point, at in zip(chart.scene.points, drawn, strict=True):
        across, up = (point.x - view.x.low) / view.x.span, (point.y - view.y.low) / view.y.span
        place = chart.plot.viewport_place(point.number)
        assert place.x() == pytest.approx(rect.left() + across * rect.width(), abs=0.5)
        assert place.y() == pytest.approx(rect.bottom() - up * rect.height(), abs=0.5)
        assert at[0] == pytest.approx(frame.left() + across * frame.width(), abs=0.5)
        assert at[1] == pytest.approx(frame.bottom() - up * frame.height(), abs=0.5)
    # The same names of the same ceilings.
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    layout = chart.plot.layout_now
    assert layout is not None
    for named in layout.names:
        for part in named.parts:
            assert part.text in texts
    # The picture is the drawing: markers that nothing lies over have their colour in the middle.
    png = QImage.fromData(chart.png(scale=2))
    rendered = rsvg(svg)
    for image in (png, *([rendered] if rendered else [])):
        seen = 0
        for index, point in enumerate(chart.scene.points):
            over = [
                other
                for number, other in enumerate(drawn)
                if number > index or chart.scene.points[number].warns
            ]
            if any(math.dist(drawn[index], other) < 16 for other in over):
                continue  # under a better point, or under a sign
            x, y_pixel = (round(2 * value) for value in drawn[index])
            assert image.pixelColor(x, y_pixel).name() == LIGHT.provider(point.provider).lower()
            seen += 1
        assert seen > 3


def markers_of(root: ET.Element) -> list[tuple[float, float]]:
    """Middles of the points' markers in the plot, in the order of drawing."""
    frame = frame_of(root)
    colours = set(PROVIDER_COLOURS.values())
    found: list[tuple[float, float]] = []
    for element in root.iter():
        if element.get("fill") not in colours or element.get("opacity"):
            continue
        if element.get("points"):
            corners = [tuple(map(float, corner.split(","))) for corner in element.get("points", "").split()]
            provider = next(p for p, colour in PROVIDER_COLOURS.items() if colour == element.get("fill"))
            outline = MARKER_CORNERS[PROVIDER_MARKERS[provider]]
            scale = (corners[1][0] - corners[0][0]) / (outline[1][0] - outline[0][0])
            middle = (corners[0][0] - scale * outline[0][0], corners[0][1] - scale * outline[0][1])
        else:
            middle = (float(element.get("cx", "0")), float(element.get("cy", "0")))
        if frame.contains(QPointF(*middle)):
            found.append(middle)
    return found


def frame_of(root: ET.Element) -> QRectF:
    """The plot's frame, the first that is only an outline."""
    rect = next(e for e in root.iter(f"{SVG}rect") if e.get("fill") == "none")
    return QRectF(*(float(rect.get(name, "0")) for name in ("x", "y", "width", "height")))


def rsvg(svg: str) -> QImage | None:
    """As librsvg renders it at twice the size; None where it is not on this machine."""
    program = which("rsvg-convert")
    if program is None:
        return None
    done = run([program, "--zoom", "2"], input=svg.encode(), capture_output=True, check=True)
    return QImage.fromData(done.stdout)

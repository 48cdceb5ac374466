"""Takes the pictures of README.md and docs/first-session.md: ``main.py -m roofscope.tests.pictures``.

The window is the real one on the shipped sessions, with no screen and no GPU. ``--gallery FOLDER`` takes
every pane instead, filled and empty, at two sizes and in three themes, to be looked at; with
QT_SCALE_FACTOR=2 in the environment as on a screen of 200 %.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from msgspec import Struct

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QImage, qRgb
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

from roofscope.app.window.application import Application, build_window
from roofscope.app.window.commands import CommandId
from roofscope.app.window.shell.projection_dialog import ProjectionDialog
from roofscope.profiling.devices.device import Device, DeviceState
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import ASSETS, UserPaths
from roofscope.profiling.results.debugging import DebugReport
from roofscope.profiling.results.marks import Mark
from roofscope.tests.qt.stand_ins import FakeDevices
from roofscope.tests.qt.test_debug import OUTPUT, STAGE, finding

_MOST_BYTES = 160_000
_COLOURS = 128
_PATIENCE_MS = 60_000


class Picture(Struct, frozen=True):
    """A point of a shipped session, and which part of the window shows what is said of it."""

    name: str
    session: str
    point: int
    shows: Callable[[Application], QWidget | QRect]
    folds: tuple[str, ...] = ("Time",)
    theme: CommandId = CommandId.THEME_LIGHT
    size: tuple[int, int] = (1280, 800)


def _chart_and_details(application: Application) -> QRect:
    """As high as the chart."""
    window, docks = application.window, application.window.docks
    details, centre = docks["Details"].geometry(), window.centralWidget().geometry()
    return QRect(centre.left(), centre.top(), details.right() - centre.left() + 1, centre.height())


def _window(application: Application) -> QWidget:
    return application.window


def _presented(application: Application) -> QWidget:
    application.selection.select(None)
    application.window.actions_of[CommandId.LAYOUT_PRESENT].trigger()
    QTest.qWait(500)
    return application.window.centralWidget()


def _pane(title: str) -> Callable[[Application], QWidget]:
    def shows(application: Application) -> QWidget:
        dock = application.window.docks[title]
        application.window.show_pane(title)
        application.window.resizeDocks([dock], [420], Qt.Orientation.Vertical)
        QTest.qWait(1500)  # what a thread reads or draws
        return dock

    return shows


def _counters(application: Application) -> QRect:
    """The details scrolled to what was counted, and the chart beside them."""
    details = application.window.docks["Details"]
    area = details.findChildren(QScrollArea)[0]
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    QTest.qWait(200)
    return _chart_and_details(application)


def _details(application: Application) -> QWidget:
    return application.window.docks["Details"]


def _laboratory(application: Application) -> QRect:
    """The tab with its pane, and the details beside it."""
    docks = application.window.docks
    docks["Compile"].raise_()
    lab = application.panes.compile_lab
    for _ in range(_PATIENCE_MS // 50):
        if lab.shown is not None:
            break
        QTest.qWait(50)
    application.window.resizeDocks([docks["Compile"]], [260], Qt.Orientation.Vertical)
    QTest.qWait(200)
    pane = docks["Compile"].geometry()
    return QRect(pane.left(), pane.top(), docks["Details"].geometry().left() - pane.left(), pane.height())


def _projection(application: Application) -> QWidget:
    application.window.actions_of[CommandId.PROJECT].trigger()
    dialog = application.window.findChildren(ProjectionDialog)[-1]
    dialog.choice.setCurrentIndex(dialog.choice.findText("RTX 4090"))
    return dialog


class StillDevices(FakeDevices):
    """Say nothing of clock and power: beside a CPU an invented clock would read as its own."""

    def state(self, device: Device) -> DeviceState:
        del device
        return DeviceState()


_DARK = CommandId.THEME_DARK
_LARGE = (1500, 940)
PICTURES = (
    Picture("window-light", "h200", 73, _window, size=_LARGE),
    Picture("window-dark", "h200", 73, _window, size=_LARGE, theme=_DARK),
    Picture("story-light", "h200-gelu", 6, _presented, size=(1100, 620)),
    Picture("story-dark", "h200-gelu", 6, _presented, size=(1100, 620), theme=_DARK),
    Picture("source", "h200", 73, _pane("Source"), size=_LARGE),
    Picture("sweep", "h200", 73, _pane("Sweep"), size=_LARGE),
    Picture("why-softmax", "h200", 75, _chart_and_details),
    Picture("why-gelu-double", "h200-gelu", 6, _chart_and_details),
    Picture("why-compile", "h200", 83, _details, ("What else to try",)),
    Picture("why-compile-lab", "h200", 83, _laboratory),
    Picture("why-power", "h200", 221, _details, ("What limits it",)),
    Picture("why-projection", "h200-gelu", 6, _projection),
    Picture("counters", "h100-counters", 14, _counters, ("Counters",)),
    Picture("parameters", "h200-parameters", 10, _pane("Parameters"), size=_LARGE),
    Picture("autotune", "h200-autotune", 3, _pane("Tuning"), size=_LARGE),
)


class Hung(Struct, frozen=True):
    """What the gallery shows of a session: some panes, or all, at one point."""

    session: str  # "": none
    point: int | None = None
    panes: tuple[str, ...] = ()
    prepare: Callable[[Application], None] = lambda _: None


def _with_pins(application: Application) -> None:
    """The point and the version after it, compared. In memory alone: a shipped session stays as it is."""
    for number, at in ((73, "2026-01-01T00:00:00Z"), (74, "2026-01-01T00:01:00Z")):
        application.model.set_mark(number, Mark(pinned_at=at))


def _with_findings(application: Application) -> None:
    workload = "bf16, rows=7, cols=1001"
    found = finding("kernels/softmax/triton_online.py", 24)
    application.panes.debug.begin("softmax / Triton online", workload)
    application.panes.debug.show_report(
        DebugReport("softmax/triton_online", workload, (STAGE,), (found,), (OUTPUT,))
    )
    application.panes.debug.set_running(is_running=False)


def _at_a_trace(application: Application) -> None:
    """At the first point of which the session has a trace."""
    points = application.model.session.points
    rows = (application.table.row_for(point.number) for point in points)
    application.selection.select(next(row.point.number for row in rows if row and row.has_trace))


GALLERY = (
    Hung("h200", 73),
    Hung(""),
    Hung("h200", 73, ("Compare",), _with_pins),
    Hung("h200", 73, ("Debug",), _with_findings),
    Hung("h200-parameters", 10, ("Parameters",)),
    Hung("h200-autotune", 3, ("Tuning",)),
    Hung("h200-tour", None, ("Trace",), _at_a_trace),
    Hung("h100-counters", 14, ("Details",)),
)


def take(picture: Picture, app: QApplication, folder: Path, places: Path) -> int:
    """Write one picture; returns its bytes."""
    application = _built(app, places)
    try:
        application.start((ASSETS / "sessions" / f"{picture.session}.roofscope",))
        application.window.resize(*picture.size)
        application.window.show()
        application.window.actions_of[picture.theme].trigger()
        _until(lambda: application.opening.is_over and not application.window.restyling.is_under_way)
        application.panes.details.set_open(picture.folds)
        application.window.resize(*picture.size)
        QTest.qWait(300)
        application.selection.select(picture.point)
        QTest.qWait(600)  # the chart moves to what is selected
        shown = picture.shows(application)
        QTest.qWait(300)
        image = application.window.grab(shown) if isinstance(shown, QRect) else shown.grab()
        path = folder / f"{picture.name}.png"
        _in_few_colours(image.toImage()).save(str(path), "PNG", 0)
        return path.stat().st_size
    finally:
        application.window.close()


def _until(is_so: Callable[[], bool]) -> None:
    for _ in range(_PATIENCE_MS // 50):
        if is_so():
            return
        QTest.qWait(50)
    raise TimeoutError("the window does not come to rest")


def _built(app: QApplication, places: Path) -> Application:
    paths = UserPaths(
        sessions=places / "sessions",
        settings=places / "window.json",
        ceilings=places / "ceilings",
        assets=places / "assets",
    )
    return build_window(app, paths, source=StillDevices((cpu_device(),)))


def _in_few_colours(image: QImage) -> QImage:
    """The commonest colours of a window, and the nearest of them for the rest: a third of the bytes."""
    plain = image.convertToFormat(QImage.Format.Format_RGB32)
    size = plain.width(), plain.height()
    pixels = np.frombuffer(plain.constBits(), np.uint8).reshape(size[1], plain.bytesPerLine() // 4, 4)
    colours, inverse, counts = np.unique(
        pixels[:, : size[0], :3].reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    kept = colours[np.argsort(-counts)[:_COLOURS]].astype(int)
    nearest = np.array([int(np.abs(kept - colour).sum(axis=1).argmin()) for colour in colours.astype(int)])
    indices = np.zeros((size[1], (size[0] + 3) // 4 * 4), np.uint8)  # lines of whole words
    indices[:, : size[0]] = nearest[inverse.reshape(size[1], size[0])]
    found = QImage(indices.tobytes(), *size, indices.shape[1], QImage.Format.Format_Indexed8).copy()
    found.setColorTable([qRgb(int(red), int(green), int(blue)) for blue, green, red in kept])
    return found


def gallery(app: QApplication, folder: Path) -> int:
    """Every pane; returns 0."""
    for hung in GALLERY:
        with tempfile.TemporaryDirectory() as places:
            application = _built(app, Path(places))
            name = hung.session
            application.start((ASSETS / "sessions" / f"{name}.roofscope",) if name else ())
            _show_all(application, hung, folder)
            application.window.close()
    return 0


def _show_all(application: Application, hung: Hung, folder: Path) -> None:
    window = application.window
    window.show()
    _until(lambda: application.opening.is_over)
    application.selection.select(hung.point)
    hung.prepare(application)
    themes = (CommandId.THEME_LIGHT, _DARK, CommandId.THEME_CONTRAST)
    for size, theme in product(((1280, 800), (2560, 1440)), themes):
        window.resize(*size)
        window.actions_of[theme].trigger()
        for title in hung.panes or window.docks:
            window.show_pane(title)
            QTest.qWait(1200)  # what a thread reads or draws
            if title == "Lesson":
                _until(lambda: not application.panes.lesson.is_reading)
            file = f"{hung.session or 'empty'}-{title.lower()}-{size[0]}-{theme.removeprefix('theme_')}.png"
            window.grab().save(str(folder / file))


def main(folder: Path, *, is_gallery: bool) -> int:
    """All pictures; returns 1 where one is larger than a page of documentation should load."""
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    folder.mkdir(parents=True, exist_ok=True)
    if is_gallery:
        return gallery(app, folder)
    code = 0
    for picture in PICTURES:
        with tempfile.TemporaryDirectory() as places:
            size = take(picture, app, folder, Path(places))
        sys.stdout.write(f"{picture.name}.png: {size / 1000:.0f} kB\n")
        code |= size > _MOST_BYTES
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=ASSETS / "screenshots")
    parser.add_argument("--gallery", action="store_true")
    chosen = parser.parse_args()
    raise SystemExit(main(chosen.folder, is_gallery=chosen.gallery))

"""Takes the pictures of docs/first-session.md: ``main.py -m roofscope.tests.pictures [FOLDER]``.

The window is the real one on the shipped sessions, with no screen and no GPU; what fake devices say of
themselves is cut off.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec import Struct

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QImage, qRgb
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from roofscope.app.window.application import Application, build_window
from roofscope.app.window.commands import CommandId
from roofscope.app.window.shell.projection_dialog import ProjectionDialog
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import ASSETS, UserPaths
from roofscope.tests.qt.conftest import FakeDevices

_SIZE = (1280, 800)
_MOST_BYTES = 80_000
_COLOURS = 128
_PATIENCE_MS = 60_000


class Picture(Struct, frozen=True):
    """A point of a shipped session, and which part of the window shows what is said of it."""

    name: str
    session: str
    point: int
    shows: Callable[[Application], QWidget | QRect]
    folds: tuple[str, ...] = ("Time",)


def _chart_and_details(application: Application) -> QRect:
    """As high as the chart."""
    window, docks = application.window, application.window.docks
    details, centre = docks["Details"].geometry(), window.centralWidget().geometry()
    return QRect(centre.left(), centre.top(), details.right() - centre.left() + 1, centre.height())


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
    dialog.choice.setCurrentText("RTX 4090")
    return dialog


PICTURES = (
    Picture("why-softmax", "h200", 75, _chart_and_details),
    Picture("why-gelu-double", "h200-gelu", 6, _chart_and_details),
    Picture("why-compile", "h200", 83, _details, ("What else to try",)),
    Picture("why-compile-lab", "h200", 83, _laboratory),
    Picture("why-power", "h200", 221, _details, ("What limits it",)),
    Picture("why-projection", "h200-gelu", 6, _projection),
)


def take(picture: Picture, app: QApplication, folder: Path, places: Path) -> int:
    """Write one picture; returns its bytes."""
    paths = UserPaths(
        sessions=places / "sessions",
        settings=places / "window.json",
        ceilings=places / "ceilings",
        assets=places / "assets",
    )
    application = build_window(app, paths, source=FakeDevices((cpu_device(),)))
    try:
        application.start((ASSETS / "sessions" / f"{picture.session}.roofscope",))
        application.window.resize(*_SIZE)
        application.window.show()
        application.window.actions_of[CommandId.THEME_LIGHT].trigger()
        application.panes.details.set_open(picture.folds)
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


def main(folder: Path = ASSETS / "screenshots") -> int:
    """All pictures; returns 1 where one is larger than a page of documentation should load."""
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    folder.mkdir(parents=True, exist_ok=True)
    code = 0
    for picture in PICTURES:
        with tempfile.TemporaryDirectory() as places:
            size = take(picture, app, folder, Path(places))
        sys.stdout.write(f"{picture.name}.png: {size / 1000:.0f} kB\n")
        code |= size > _MOST_BYTES
    return code


if __name__ == "__main__":
    raise SystemExit(main(*map(Path, sys.argv[1:2])))

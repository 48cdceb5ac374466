"""Sessions of before, each with its folder and date; those that are gone are greyed and can be removed."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMenu

from roofscope.app.window.background import Background
from roofscope.app.window.settings import Settings
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.plain_text import one_line

_MOST_LETTERS = 48  # of a folder


class Found(Struct, frozen=True):
    """A recorded file as it is now; ``changed_at`` is None where it is gone, or out of reach."""

    path: Path
    changed_at: datetime | None


class RecentMenu(QObject):
    """Looks at the files in the background: a disk of the network may take its time."""

    chosen = Signal(object)  # Path

    def __init__(self, menu: QMenu, settings: Settings, background: Background) -> None:
        super().__init__(menu)
        self._menu = menu
        self._settings = settings
        self._background = background
        self._menu.setToolTipsVisible(True)
        self._found: dict[Path, Found] = {}

    def refresh(self) -> None:
        paths = self._settings.recent_sessions
        self._fill([self._found.get(path, Found(path, datetime.now().astimezone())) for path in paths])
        if paths:
            self._background.ask(lambda: [_look(path) for path in paths], self._take)

    def _take(self, found: Sequence[Found]) -> None:
        self._found = {one.path: one for one in found}
        self._fill([one for one in found if one.path in self._settings.recent_sessions])

    def _fill(self, found: Sequence[Found]) -> None:
        self._menu.clear()
        for one in found:
            action = self._menu.addAction(entry_text(one).replace("&", "&&"))
            action.setToolTip(tip_text(str(one.path) if one.changed_at else f"{one.path} is not there now."))
            action.setEnabled(one.changed_at is not None)
            action.triggered.connect(lambda _checked=False, path=one.path: self.chosen.emit(path))
        missing = [one.path for one in found if one.changed_at is None]
        self._menu.addSeparator()
        if missing:
            text = f"&Remove {len(missing)} that {'is' if len(missing) == 1 else 'are'} not there"
            self._menu.addAction(text).triggered.connect(lambda: self._remove(missing))
        self._menu.addAction("&Clear this list").triggered.connect(lambda: self._remove(None))
        self._menu.setEnabled(bool(found))

    def _remove(self, paths: Sequence[Path] | None) -> None:
        kept = [path for path in self._settings.recent_sessions if paths is not None and path not in paths]
        self._settings.recent_sessions = tuple(kept)
        self.refresh()


def entry_text(found: Found) -> str:
    """``2026-11-21-0915   ~/runs, 21 Nov 09:15``."""
    folder = str(found.path.parent)
    home = str(Path.home())
    if folder == home or folder.startswith(f"{home}/"):
        folder = f"~{folder[len(home) :]}"
    if len(folder) > _MOST_LETTERS:
        folder = f"…{folder[-_MOST_LETTERS:]}"
    when = f"{found.changed_at:%d %b %Y %H:%M}" if found.changed_at else "not there"
    return f"{one_line(found.path.stem)}   {one_line(folder)}, {when}"


def _look(path: Path) -> Found:
    try:
        changed_at = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    except (OSError, ValueError, OverflowError):
        changed_at = None
    return Found(path, changed_at)

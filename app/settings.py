"""What the window remembers between starts, and where its files lie."""

from pathlib import Path

import platformdirs
from msgspec import Struct
from PySide6.QtCore import QByteArray, QSettings

from roofscope.app.places import session_folder
from roofscope.app.tokens import Scheme
from roofscope.profiling.ceiling_cache import default_folder

ASSETS = Path(__file__).resolve().parent.parent / "assets"

_LAYOUT_VERSION = 1  # raise when docks are renamed or rearranged: an older layout is then forgotten
_RECENT_COUNT = 8


class Places(Struct, frozen=True):
    """Folders and files of one user; tests and screenshots give temporary ones."""

    sessions: Path  # runs are written here
    settings: Path
    ceilings: Path  # measured ceilings kept between sessions
    assets: Path = ASSETS  # what came with the program is for viewing only

    @property
    def example(self) -> Path:
        """A session recorded on another machine, for the first start."""
        return self.assets / "sessions" / "h200.roofscope"

    @classmethod
    def of_user(cls) -> "Places":
        return cls(
            sessions=session_folder(),
            settings=platformdirs.user_config_path("roofscope", appauthor=False) / "window.ini",
            ceilings=default_folder(),
        )


class Settings:
    """Typed access to one settings file."""

    def __init__(self, path: Path) -> None:
        self._settings = QSettings(str(path), QSettings.Format.IniFormat)

    @property
    def scheme(self) -> Scheme:
        text = self._text("scheme")
        return Scheme(text) if text in set(Scheme) else Scheme.SYSTEM

    @scheme.setter
    def scheme(self, scheme: Scheme) -> None:
        self._settings.setValue("scheme", str(scheme))

    @property
    def recent_sessions(self) -> tuple[Path, ...]:
        """Newest first."""
        return tuple(Path(line) for line in self._text("recent_sessions").split("\n") if line)

    def remember_session(self, path: Path) -> None:
        others = [recent for recent in self.recent_sessions if recent != path]
        self._settings.setValue("recent_sessions", "\n".join(map(str, [path, *others][:_RECENT_COUNT])))

    @property
    def folder(self) -> Path:
        """Where the last file dialog was."""
        return Path(self._text("folder") or Path.home())

    @folder.setter
    def folder(self, folder: Path) -> None:
        self._settings.setValue("folder", str(folder))

    @property
    def layout(self) -> tuple[QByteArray, QByteArray]:
        """The window's geometry and arrangement of panes, each empty where none was saved."""
        saved = (self._settings.value(f"layout{_LAYOUT_VERSION}/{name}") for name in ("geometry", "state"))
        geometry, state = (value if isinstance(value, QByteArray) else QByteArray() for value in saved)
        return geometry, state

    def save_layout(self, geometry: QByteArray, state: QByteArray) -> None:
        self._settings.setValue(f"layout{_LAYOUT_VERSION}/geometry", geometry)
        self._settings.setValue(f"layout{_LAYOUT_VERSION}/state", state)

    def sync(self) -> None:
        self._settings.sync()

    def _text(self, key: str) -> str:
        value = self._settings.value(key)
        return value if isinstance(value, str) else ""

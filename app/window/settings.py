"""What the window remembers between starts."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from roofscope.app.presentation.tokens import Scheme

_LAYOUT_VERSION = 1  # raise when docks are renamed or rearranged: an older layout is then forgotten
_RECENT_COUNT = 8


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
    def kernel_folders(self) -> tuple[Path, ...]:
        """Folders of kernels that the user has added; which of them run is a matter of trust."""
        return tuple(Path(line) for line in self._text("kernel_folders").split("\n") if line)

    @kernel_folders.setter
    def kernel_folders(self, folders: Sequence[Path]) -> None:
        self._settings.setValue("kernel_folders", "\n".join(map(str, folders)))

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

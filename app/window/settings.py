"""What the window remembers between starts: one JSON file.

Not QSettings, which reads bytes into whatever type they name: of some that a bad disk had changed, Qt took up
to 130 s to make sense, at each start again.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct
from PySide6.QtCore import QByteArray

from roofscope.app.presentation.tokens import Scheme
from roofscope.app.window.habits import Habits
from roofscope.app.window.shell.details_fold import Fold
from roofscope.app.window.shell.docks import Layout
from roofscope.app.window.tables.column_choice import ColumnChoice
from roofscope.profiling.decoding import UnreadableError, decode

_VERSION = 1  # raise when an older program would misread the file
_LAYOUT_VERSION = 2  # raise when docks are renamed or rearranged: an older layout is then forgotten
_RECENT_COUNT = 8
_MOST_BYTES = 1 << 20
_MOST_LAYOUT_BYTES = 64 << 10

_Line = Annotated[str, msgspec.Meta(max_length=4096)]  # the longest path that Linux takes


class _Layout(Struct, frozen=True):
    """Qt's own bytes, in which a changed one may stand for a billion toolbars: so they have a digest."""

    version: int
    geometry: bytes
    state: bytes
    sha256: str

    @classmethod
    def of(cls, geometry: bytes, state: bytes) -> "_Layout":
        return cls(_LAYOUT_VERSION, geometry, state, _digest(geometry, state))

    @property
    def is_whole(self) -> bool:
        is_small = len(self.geometry) + len(self.state) <= _MOST_LAYOUT_BYTES
        return is_small and self.sha256 == _digest(self.geometry, self.state)


class _Remembered(Struct, frozen=True):
    """A new field needs a default, as older files lack it; it needs no new version."""

    version: int = _VERSION
    scheme: Scheme = Scheme.SYSTEM
    recent_sessions: tuple[_Line, ...] = ()  # newest first
    kernel_folders: tuple[_Line, ...] = ()
    folder: _Line = ""
    layout: _Layout | None = None
    habits: Habits = Habits()
    details: Fold = Fold.FOLLOW
    panes: Layout = Layout.MEASURE
    text_percent: Annotated[int, msgspec.Meta(ge=50, le=400)] = 100
    columns: ColumnChoice = ColumnChoice()
    open_facts: tuple[_Line, ...] = ("Time",)  # titles of the groups of the details that are unfolded


class Settings:
    """Typed access to one settings file. ``problems`` are sentences for the user; nothing is raised."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problems: list[str] = []
        self.on_problem: Callable[[str], object] = lambda _: None  # hears of those that come later
        self._is_kept = True  # until it cannot be written, which is said once
        self._values = self._first_read()

    @property
    def path(self) -> Path:
        return self._path

    @property
    def scheme(self) -> Scheme:
        return self._values.scheme

    @scheme.setter
    def scheme(self, scheme: Scheme) -> None:
        self._change(lambda values: msgspec.structs.replace(values, scheme=scheme))

    @property
    def details(self) -> Fold:
        """What the user wants of the details."""
        return self._values.details

    @details.setter
    def details(self, wish: Fold) -> None:
        self._change(lambda values: msgspec.structs.replace(values, details=wish))

    @property
    def panes(self) -> Layout:
        """For which work the panes were placed last."""
        return self._values.panes

    @panes.setter
    def panes(self, layout: Layout) -> None:
        self._change(lambda values: msgspec.structs.replace(values, panes=layout))

    @property
    def text_percent(self) -> int:
        """How large text is, of the desktop's."""
        return self._values.text_percent

    @text_percent.setter
    def text_percent(self, percent: int) -> None:
        self._change(lambda values: msgspec.structs.replace(values, text_percent=percent))

    @property
    def recent_sessions(self) -> tuple[Path, ...]:
        """Newest first."""
        return tuple(map(Path, self._values.recent_sessions))

    @recent_sessions.setter
    def recent_sessions(self, paths: Sequence[Path]) -> None:
        lines = tuple(map(_line, paths))
        self._change(lambda values: msgspec.structs.replace(values, recent_sessions=lines))

    def remember_session(self, path: Path) -> None:
        def with_it(values: _Remembered) -> _Remembered:
            others = [recent for recent in values.recent_sessions if recent != _line(path)]
            recent = (_line(path), *others)[:_RECENT_COUNT]
            return msgspec.structs.replace(values, recent_sessions=recent)

        self._change(with_it)

    @property
    def habits(self) -> Habits:
        """What the user is used to: the plan, and what the settings dialog asks for."""
        return self._values.habits

    @habits.setter
    def habits(self, habits: Habits) -> None:
        self._change(lambda values: msgspec.structs.replace(values, habits=habits))

    @property
    def kernel_folders(self) -> tuple[Path, ...]:
        """Folders of kernels that the user has added; which of them run is a matter of trust."""
        return tuple(map(Path, self._values.kernel_folders))

    @kernel_folders.setter
    def kernel_folders(self, folders: Sequence[Path]) -> None:
        lines = tuple(map(_line, folders))
        self._change(lambda values: msgspec.structs.replace(values, kernel_folders=lines))

    @property
    def folder(self) -> Path:
        """Where the last file dialog was."""
        return Path(self._values.folder or Path.home())

    @folder.setter
    def folder(self, folder: Path) -> None:
        self._change(lambda values: msgspec.structs.replace(values, folder=_line(folder)))

    @property
    def open_facts(self) -> tuple[str, ...]:
        """Titles of the groups of facts that the user left open."""
        return self._values.open_facts

    @open_facts.setter
    def open_facts(self, titles: Sequence[str]) -> None:
        self._change(lambda values: msgspec.structs.replace(values, open_facts=tuple(titles)))

    @property
    def layout(self) -> tuple[QByteArray, QByteArray]:
        """The window's geometry and arrangement of panes, each empty where none was saved."""
        saved = self._values.layout
        if saved is None or saved.version != _LAYOUT_VERSION:
            return QByteArray(), QByteArray()
        return QByteArray(saved.geometry), QByteArray(saved.state)

    def save_layout(self, geometry: QByteArray, state: QByteArray) -> None:
        layout = _Layout.of(bytes(geometry.data()), bytes(state.data()))
        self._change(lambda values: msgspec.structs.replace(values, layout=layout))

    @property
    def columns(self) -> ColumnChoice:
        """Of the results."""
        return self._values.columns

    def keep_columns(self, columns: ColumnChoice) -> None:
        self._change(lambda values: msgspec.structs.replace(values, columns=columns))

    def _read(self) -> _Remembered:
        """What the file holds. Raises OSError, UnreadableError."""
        with self._path.open("rb") as file:
            return decode(file.read(_MOST_BYTES + 1), _Remembered, most_bytes=_MOST_BYTES)

    def _first_read(self) -> _Remembered:
        """What cannot be used is said and kept beside: the first change would otherwise write over it."""
        try:
            values = self._read()
        except FileNotFoundError:
            return _Remembered()
        except OSError as error:
            self._set_aside("unreadable", f"cannot be read ({error.strerror})")
            return _Remembered()
        except UnreadableError as error:
            self._set_aside("damaged", f"are damaged ({error})")
            return _Remembered()
        if values.version > _VERSION:
            self._set_aside("newer", "were written by a newer Roofscope")
            return _Remembered()
        if values.layout and not values.layout.is_whole:
            self._tell("The kept arrangement of panes is damaged; they start as at first.")
            return msgspec.structs.replace(values, layout=None)
        return values

    def _set_aside(self, name: str, why: str) -> None:
        aside = self._path.with_name(f"{self._path.name}.{name}")
        try:
            self._path.replace(aside)
        except OSError:
            self._tell(f"The window's settings in {self._path} {why}; it starts with its first ones.")
        else:
            self._tell(f"The window's settings {why} and lie in {aside}; it starts with its first ones.")

    def _tell(self, problem: str) -> None:
        self.problems.append(problem)
        self.on_problem(problem)

    def _change(self, change: Callable[[_Remembered], _Remembered]) -> None:
        """What another window wrote meanwhile stays, but for what this one changes."""
        try:
            current = self._read()
        except (OSError, UnreadableError):
            current = self._values
        if current.version > _VERSION:  # a newer program runs beside this one: its file stays as it is
            self._values = change(self._values)
            return
        self._values = change(current)
        part = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(msgspec.json.encode(self._values))
            part.replace(self._path)
        except OSError as error:
            if self._is_kept:
                self._is_kept = False
                self._tell(f"The window's settings cannot be kept in {self._path}: {error.strerror}.")


def _line(path: Path) -> str:
    """A path as JSON can hold it; one of bytes that are no text would keep all else from being written."""
    return str(path).encode(errors="replace").decode()


def _digest(geometry: bytes, state: bytes) -> str:
    return hashlib.sha256(b"%d:" % len(geometry) + geometry + state).hexdigest()

"""What the File menu does with sessions: open, save, rename, put away, export; and those of before."""

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QInputDialog, QLabel

from roofscope.app.presentation.export import ExportError, export
from roofscope.app.presentation.report.file import write_report
from roofscope.app.window.background import Background
from roofscope.app.window.commands import CommandId
from roofscope.app.window.controller import Controller
from roofscope.app.window.notices import Topic
from roofscope.app.window.opening import load_or_say
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.settings import Settings
from roofscope.app.window.shell.file_dialogs import FileDialogs
from roofscope.app.window.shell.main_window import MainWindow, Panes
from roofscope.app.window.shell.recent_menu import RecentMenu
from roofscope.app.window.undo import Step, UndoSteps
from roofscope.profiling.paths import SUFFIX
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import SessionError, load


class SessionParts(Protocol):
    settings: Settings
    background: Background
    model: SessionModel
    controller: Controller
    window: MainWindow
    panes: Panes


class SessionCommands(QObject):
    def __init__(self, parts: SessionParts, dialogs: FileDialogs, steps: UndoSteps, example: Path) -> None:
        super().__init__(parts.window)
        self._parts = parts
        self._dialogs = dialogs
        self._steps = steps
        self._example = example
        self._wanted: Path | None = None  # the session asked for last
        self._recent = RecentMenu(parts.window.recent_menu, parts.settings, parts.background)
        self._recent.chosen.connect(self.open)
        self._list_examples()
        parts.controller.session_changed.connect(self._session_changed)
        parts.model.replaced.connect(lambda: parts.panes.cards.board.settle(Topic.SESSION))
        parts.panes.cards.example_asked.connect(self.open_example)
        parts.model.environment_changed.connect(self._session_changed)
        parts.model.point_added.connect(self._point_added)

    @property
    def handlers(self) -> Mapping[CommandId, Callable[[], object]]:
        parts = self._parts
        return {
            CommandId.OPEN: lambda: self._dialogs.ask_open(self.open),
            CommandId.EXAMPLE: self.open_example,
            CommandId.COMPARE: lambda: self._dialogs.ask_open(self.compare_with),
            CommandId.NEW: lambda: parts.controller.new_session(parts.panes.plan_bar.device()),
            CommandId.SAVE: self._save,
            CommandId.SAVE_AS: self._save_as,
            CommandId.EXPORT: lambda: self._dialogs.ask_export(parts.model.session.path.stem, self.export),
            CommandId.REPORT: lambda: self._dialogs.ask_report(parts.model.session.path.stem, self.report),
            CommandId.RENAME: self._ask_name,
            CommandId.TRASH: self.put_away,
        }

    def open(self, path: Path) -> None:
        """Show a session file, read in a thread; of several asked for meanwhile the last."""
        self._wanted = path

        def deliver(loaded: Session | SessionError | None) -> None:
            if self._wanted is path:
                self._parts.controller.open(path, loaded)

        self._parts.background.ask(lambda: load_or_say(path), deliver)

    def open_example(self) -> None:
        self.open(self._example)

    def _list_examples(self) -> None:
        """Every session that came with the program: no dialog begins in the folder where they lie."""
        menu = self._parts.window.example_menu
        paths = self._example.parent.glob(f"*{SUFFIX}")
        # By name: "h200-gelu.roofscope" comes before "h200.roofscope", so the palette took it for h200.
        for path in sorted(paths, key=lambda path: path.stem):
            menu.addAction(path.stem).triggered.connect(lambda _checked=False, path=path: self.open(path))
        menu.setEnabled(not menu.isEmpty())

    def export(self, path: Path) -> None:
        session, chart = copy.copy(self._parts.model.session), self._parts.panes.chart.picture()
        self._write(path, lambda: export(session, chart, path))

    def report(self, path: Path) -> None:
        session = copy.copy(self._parts.model.session)
        self._write(path, lambda: write_report(session, path))

    def compare_with(self, path: Path) -> None:
        """Set this session beside the one shown; on trouble say so."""

        def read() -> Session | str:
            try:
                return load(path.absolute())
            except SessionError as error:
                return str(error)

        self._parts.background.ask(read, self._compare)

    def rename(self, name: str) -> None:
        """The file keeps its folder and its kind."""
        path = self._parts.controller.keeper.path
        name = name.strip().removesuffix(SUFFIX)
        if path is None or name == path.stem:
            return
        if not name or "/" in name or name in (".", ".."):
            self._parts.panes.cards.notice(
                f"{name!r} is no name of a file; leave out what stands for folders.", Topic.FILE
            )
            return
        target = path.with_name(name + SUFFIX)
        rename = self._parts.controller.rename

        def go(to: Path, back_from: Path) -> bool:
            """Only where the session is still the one of the step."""
            is_shown = self._parts.model.session.path == back_from
            return is_shown and rename(to) and self._forget(back_from)

        self._steps.take("rename of the session", lambda: go(target, path), lambda: go(path, target))

    def put_away(self) -> None:
        """Without a question: it lies in the trash, and Undo brings it back."""
        controller = self._parts.controller
        if (trashed := controller.put_away()) is None:
            return
        self._forget(trashed.path)
        now = [trashed]

        def again() -> bool:
            if self._parts.model.session.path != trashed.path or not (found := controller.put_away()):
                return False
            now[0] = found
            return self._forget(trashed.path)

        text = f"removal of {trashed.path.stem}"
        self._steps.note(Step(text, again, lambda: controller.bring_back(now[0]), outlives=True))

    def _write(self, path: Path, write: Callable[[], None]) -> None:
        """In the background: hundreds of points take a second."""
        board, say = self._parts.panes.cards.board, self._parts.window.say
        if self._parts.controller.keeper.is_open_file(path):
            board.add(f"{path} is the open session and would be lost; choose another name.", Topic.FILE)
            return

        def question() -> str:
            try:
                write()
            except ExportError as error:
                return str(error)
            return ""

        def written(problem: str) -> None:
            if problem:
                board.add(problem, Topic.FILE)
            else:
                board.settle(Topic.FILE)
            say("" if problem else f"Written to {path}")

        say(f"Writing {path.name}...")
        self._parts.background.ask(question, written)

    def _compare(self, other: Session | str) -> None:
        cards = self._parts.panes.cards
        if isinstance(other, str):
            cards.notice(other, Topic.FILE)
            return
        if other.problems:
            cards.notice(" ".join(other.problems), Topic.FILE)
        self._parts.window.show_pane("Compare")
        self._parts.panes.compare.compare_with(other)

    def _ask_name(self) -> None:
        keeper = self._parts.controller.keeper
        if keeper.path is None or keeper.why_not_own:
            return
        dialog = QInputDialog(self._parts.window)
        dialog.setWindowTitle("Rename session")
        dialog.setLabelText(f"New name, in {keeper.path.parent}:")
        for shown in dialog.findChildren(QLabel):
            shown.setTextFormat(Qt.TextFormat.PlainText)
        dialog.setTextValue(keeper.path.stem)
        dialog.textValueSelected.connect(self.rename)
        dialog.resize(440, dialog.sizeHint().height())
        dialog.open()

    def _forget(self, path: Path) -> bool:
        others = [recent for recent in self._parts.settings.recent_sessions if recent != path]
        self._parts.settings.recent_sessions = tuple(others)
        self._recent.refresh()
        return True

    def _save(self) -> None:
        keeper = self._parts.controller.keeper
        is_kept = keeper.path and not keeper.is_in_memory and not self._parts.model.session.is_damaged
        if is_kept and not keeper.is_autosaved and not keeper.is_example:
            self._parts.window.say(f"Every result is already in {keeper.path}")
        else:
            self._save_as()

    def _save_as(self) -> None:
        keeper = self._parts.controller.keeper
        if keeper.path is None and not keeper.is_in_memory:
            text = "There is nothing to save yet; run something first."
            self._parts.panes.cards.notice(text, Topic.FILE)
            return
        self._dialogs.ask_save(self._parts.model.session.path.name, self._parts.controller.save_as)

    def _session_changed(self) -> None:
        parts = self._parts
        keeper, session = parts.controller.keeper, parts.model.session
        name = keeper.path.stem if keeper.path else "new session"
        where = f" - {session.device.name}" if session.device else ""
        parts.window.setWindowTitle(f"{name}{where} - Roofscope")
        if keeper.path and not keeper.is_example and not keeper.is_bare:
            parts.settings.remember_session(keeper.path)
        listed = parts.settings.recent_sessions
        if any(keeper.is_shipped(path) for path in listed):  # by an older window, or by another way to it
            parts.settings.recent_sessions = tuple(path for path in listed if not keeper.is_shipped(path))
        self._recent.refresh()
        self._offer_example()

    def _point_added(self) -> None:
        """The first point makes a file worth listing."""
        if self._parts.settings.recent_sessions[:1] != (self._parts.model.session.path,):
            self._session_changed()

    def _offer_example(self) -> None:
        """Say what is shown where it is not the user's own, and the way to it where there is nothing."""
        parts = self._parts
        keeper, session, cards = parts.controller.keeper, parts.model.session, parts.panes.cards
        if keeper.is_example:
            device = session.device.name if session.device else "another machine"
            cards.show_example(f"This is an example recorded on {device}, not on this machine.")
        elif not session.points and not parts.controller.is_running and self._example.is_file():
            cards.offer_example("Nothing is measured in this session yet.")
        else:
            cards.show_example(None)

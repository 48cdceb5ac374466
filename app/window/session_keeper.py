"""The open session file: looked at until something is to be written, then one writer."""

import os
from collections.abc import Callable
from pathlib import Path

from roofscope.app.window.session_model import SessionModel
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.host import environment
from roofscope.profiling.paths import new_session_path, rescue_folders
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.revision import revision_labels
from roofscope.profiling.results import session_writer
from roofscope.profiling.results.session import Session, timestamp
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.recorder import Recorder


class SessionKeeper:
    """Decides whether a run goes into the session that is open or into a new one."""

    def __init__(
        self,
        model: SessionModel,
        catalog: Callable[[], Catalog],
        cache: CeilingCache,
        folder: Path,
        assets: Path,
    ) -> None:
        self._model = model
        self._catalog = catalog
        self._cache = cache
        self._folder = folder
        self._assets = assets
        self._recorder: Recorder | None = None
        self.on_moved: Callable[[str], None] = lambda _: (
            None
        )  # the file was lost, and the run goes on elsewhere

    @property
    def path(self) -> Path | None:
        """The file shown; None for a session that is not written yet."""
        path = self._model.session.path
        return path if path.is_file() else None

    @property
    def is_in_memory(self) -> bool:
        """Whether no folder took the file of the run, so that its results are nowhere else."""
        return self._recorder is not None and self._recorder.store.is_in_memory

    @property
    def is_example(self) -> bool:
        """Whether the session came with the program: for viewing only."""
        return self._model.session.path.is_relative_to(self._assets)

    @property
    def is_autosaved(self) -> bool:
        """Whether the file lies where the program put it, and not where the user did."""
        return self._model.session.path.is_relative_to(self._folder)

    def is_open_file(self, target: Path) -> bool:
        """Whether this is the file shown, by whatever name.

        A copy put in its place would leave the writer with a file that has no name any more.
        """
        try:
            return self.path is not None and self.path.samefile(target)
        except OSError:  # no file there yet, or none that may be looked at
            return False

    def open(self, path: Path) -> None:
        """Show another session. Raises SessionError, and then the one shown stays."""
        if path.is_dir():
            raise SessionError(f"{path} is a folder; open a .roofscope file.")
        session = load(path.absolute())
        self.close()
        self._model.replace(session)

    def show_empty(self, device: Device | None) -> None:
        """Show a session without points; its file is made when something comes in."""
        self.close()
        path = new_session_path(self._folder)
        self._model.replace(Session(path, timestamp(), device=device))

    def recorder_for(self, device: Device) -> tuple[Recorder, str]:
        """The writer for results of this device, and why a new session was begun ("" when none was).

        Raises SessionError.
        """
        why_new = self.why_new(device)
        if self._recorder and not why_new:
            return self._recorder, ""
        if why_new:
            self.show_empty(device)
        path = self._model.session.path
        catalog = self._catalog()
        if path.exists():
            session_store = SessionStore.append(path)
        else:
            session_store = SessionStore.create(path, revision_labels(catalog))
        self._model.session.identity = session_store.identity
        folders = (self._folder, *rescue_folders())
        recorder = Recorder(
            session_store, catalog, device, self._cache, say=self._moved, rescue_folders=folders
        )
        self._recorder = recorder
        if self._model.session.environment is None:
            # Known before the worker greets, so that even a file left by a crash names its device.
            self._know_this_machine(device)
        if not self._model.session.has_measured_ceilings(self._recorder.setup):
            # Of none yet, or of another driver, power limit or torch: those stay with the points they judged.
            self._know_this_machine(device)
            for ceiling in self._recorder.known_ceilings():
                self._model.add_ceiling(ceiling, session_store.origin)
        return self._recorder, why_new

    def look(self) -> None:
        """Whether the file that a run writes still has every result; else the run goes on in another one."""
        if self._recorder:
            self._recorder.look()

    def _moved(self, sentence: str) -> None:
        if self._recorder and not self._recorder.store.is_in_memory:
            self._model.session.path = self._recorder.store.path
        self.on_moved(sentence)

    def _know_this_machine(self, device: Device) -> None:
        assert self._recorder is not None
        self._model.know_environment(self._recorder.add_environment(environment([device], [])))

    @property
    def has_measured_ceilings(self) -> bool:
        """Whether the session has ceilings of this machine as it is now, or as the worker sees it."""
        if self._recorder is None:
            return False
        session, seen = self._model.session, self._model.session.origin(self._recorder.store.origin)
        setups = (self._recorder.setup, *([seen.setup] if seen else []))
        return any(map(session.has_measured_ceilings, setups))

    def save_as(self, target: Path) -> None:
        """Copy the session to another file and carry on in that one. Raises SessionError."""
        session = self._model.session
        if self._recorder:
            self._recorder.store.save_as(target)
            self._recorder.store.close()
            self._recorder = None
        else:
            session_writer.copy(session.path, target)
        session.path = target.absolute()
        session.is_damaged, session.problems = False, ()  # only what is whole was copied

    def save_copy(self, target: Path) -> None:
        """Copy the session and carry on in the file that is open. Raises SessionError."""
        if self._recorder:
            self._recorder.store.save_as(target)

    def close(self) -> None:
        """Leave one plain file behind."""
        if self._recorder:
            self._recorder.close()
            self._recorder = None

    def why_new(self, device: Device) -> str:
        """Why results of this device cannot go into the session shown; "" when they can."""
        session = self._model.session
        if session.device and session.device.uuid != device.uuid:
            return f"the open one belongs to {session.device.name_beside([device])}"
        if self.is_example:
            return "the example is for viewing only"
        if session.why_fixed and self.path:
            return f"{self.path.name} {session.why_fixed}"
        if self.path and not self._recorder and not os.access(self.path, os.W_OK):
            return f"{self.path.name} is read-only"
        return ""

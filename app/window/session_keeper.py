"""The open session file: looked at until something is to be written, then one writer."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from roofscope.app.presentation.device_sheet import known_ceilings
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.trash import Trashed, put_into_trash
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.host import environment
from roofscope.profiling.paths import is_file, is_shipped, new_session_path, rescue_folders
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.revision import revision_labels
from roofscope.profiling.results import session_writer
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Session, timestamp
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.safe_store import SafeStore


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
        self._safe: SafeStore | None = None
        self._is_bare = False  # the file was made for a run that has brought nothing yet
        self._before: Session | None = None  # what was shown until that run
        self._recorders: dict[str, Recorder] = {}  # one a device, by its UUID
        self._read_as: tuple[Path, int, int, int] | None = None  # the file shown, when it was read
        self._unkept: set[int] = set()  # points whose marks no file has yet
        self._unkept_before: frozenset[int] = frozenset()  # of the session that a run may give back
        # Hears that the file was lost, and that the run goes on elsewhere.
        self.on_moved: Callable[[str], None] = lambda _: None

    @property
    def path(self) -> Path | None:
        """The file shown; None for a session that is not written yet."""
        path = self._model.session.path
        return path if is_file(path) else None

    @property
    def is_bare(self) -> bool:
        """Whether the file was made for a run that has brought nothing yet."""
        return self._is_bare

    @property
    def is_in_memory(self) -> bool:
        """Whether no folder took the file of the run, so that its results are nowhere else."""
        return self._safe is not None and self._safe.store.is_in_memory

    @property
    def is_example(self) -> bool:
        """Whether the session came with the program: for viewing only."""
        return self.is_shipped(self._model.session.path)

    def is_shipped(self, path: Path) -> bool:
        """Whether a file came with the program, by whatever way it was come to."""
        return is_shipped(path, self._assets)

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

    def open(self, path: Path, loaded: Session | SessionError | None = None) -> None:
        """Show another session; ``loaded`` is what a thread has read of it already.

        Raises SessionError, and then the one shown stays.
        """
        if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a folder is closed to us
            raise SessionError(f"{path} is a folder; open a .roofscope file.")
        if isinstance(loaded, SessionError):
            raise loaded
        state = _state_of(path.absolute())
        session = loaded or load(path.absolute())
        self.close()
        self._read_as = state
        self._before = None
        self._unkept.clear()
        self._model.replace(session)

    def show_empty(self, device: Device | None) -> None:
        """Show a session without points; its file is made when something comes in."""
        self.close()
        self._before = None
        self._unkept.clear()
        self._read_as = None
        path = new_session_path(self._folder)
        self._model.replace(Session(path, timestamp(), device=device))

    def recorder_for(self, device: Device, beside: Sequence[Device] = ()) -> tuple[Recorder, str]:
        """The writer for results of this device, and why a new session was begun ("" when none was).

        ``beside``: the devices of its run, which share a session. Raises SessionError.
        """
        why_new = self.why_new(device, beside)
        if (known := self._recorders.get(device.uuid)) and not why_new:
            return known, ""
        if why_new:
            before, unkept = self._model.session, frozenset(self._unkept)
            self.show_empty(device)
            self._before, self._unkept_before = before, unkept
        safe = self._safe = self._safe or self._open_store()
        self._model.session.identity = safe.store.identity
        recorder = self._recorders[device.uuid] = Recorder(safe, self._catalog(), device, self._cache)
        if self._model.session.environment is None:
            # Known before the worker greets, so that even a file left by a crash names its device.
            self._know_this_machine(device)
        if not self._model.session.has_measured_ceilings(recorder.setup):
            # Of none yet, or of another driver, power limit or torch: those stay with the points they judged.
            self._know_this_machine(device)
            for ceiling in recorder.known_ceilings():
                self._model.add_ceiling(ceiling, recorder.origin)
        return recorder, why_new

    def _open_store(self) -> SafeStore:
        path = self._model.session.path
        if path.exists():
            is_as_read = self._read_as is not None and self._read_as == _state_of(path)
            store = SessionStore.append(path, self._model.session if is_as_read else None)
        else:
            store = SessionStore.create(path, revision_labels(self._catalog()))
            self._is_bare = True
        return SafeStore(store, self._moved, (self._folder, *rescue_folders()))

    def look(self) -> None:
        """Whether the file that a run writes still has every result; else the run goes on in another one."""
        if self._safe:
            self._safe.look()

    def _moved(self, sentence: str) -> None:
        if self._safe and (path := self._safe.kept_path):
            self._model.session.path = path
        self.on_moved(sentence)

    def _know_this_machine(self, device: Device) -> None:
        origin = self._recorders[device.uuid].add_environment(environment([device], []))
        self._model.know_environment(origin)

    def known_ceilings(self, device: Device) -> tuple[Ceiling, ...]:
        """Of the session shown where it has some of the device, else those kept; the newest last."""
        session = self._model.session
        found = tuple(ceiling for ceiling in session.ceilings if ceiling.device_uuid == device.uuid)
        return found or known_ceilings(device, self._cache)

    def has_measured_ceilings(self, device: Device) -> bool:
        """Whether the session has ceilings of the device as it is now, or as the worker sees it."""
        if (recorder := self._recorders.get(device.uuid)) is None:
            return False
        session, seen = self._model.session, self._model.session.origin(recorder.origin)
        setups = (recorder.setup, *([seen.setup] if seen else []))
        return any(map(session.has_measured_ceilings, setups))

    def catalog_changed(self) -> None:
        """Files of the kernels were edited: what is recorded from now on has the new ones."""
        for recorder in self._recorders.values():
            recorder.catalog_changed(self._catalog())

    def keep_marks(self, marks: Mapping[int, Mark]) -> str:
        """Commit what the user says of points; else say why it is in memory only. Raises SessionError."""
        if why := self._why_fixed:
            is_first = not self._unkept
            self._unkept.update(marks)
            text = f"Pins, notes and tags last until this session closes, because {why}; save a copy of it."
            return text if is_first else ""
        self._safe = self._safe or self._open_store()
        self._safe.keep(lambda store: store.add_marks(marks))
        return ""

    def keep_counters(self, number: int, counters: Counters) -> str:
        """Commit what was counted of a point; else say why it is in memory only. Raises SessionError."""
        if why := self._why_fixed:
            return f"What was counted lasts until this session closes, because {why}; save a copy of it."
        self._safe = self._safe or self._open_store()
        self._safe.keep(lambda store: store.add_counters(number, counters))
        return ""

    def _keep_marks_in(self, target: Path) -> None:
        """Those that the file could not take, in its copy."""
        if self._unkept:
            with SessionStore.append(target) as store:
                for number in sorted(self._unkept):
                    store.add_mark(number, self._model.mark(number))
            self._unkept.clear()

    def save_as(self, target: Path) -> None:
        """Copy the session to another file and carry on in that one. Raises SessionError."""
        session = self._model.session
        if self._safe:
            self._safe.store.save_as(target)
            self._safe.store.close()
            self._safe = None
            self._recorders.clear()
        else:
            session_writer.copy(session.path, target)
        self._keep_marks_in(target)
        session.path = target.absolute()
        session.is_damaged, session.problems = False, ()  # only what is whole was copied

    def save_copy(self, target: Path) -> None:
        """Copy the session and carry on in the file that is open. Raises SessionError."""
        if self._safe:
            self._safe.store.save_as(target)

    def rename(self, target: Path) -> None:
        """Give the file another name. Raises SessionError, and then it has its own."""
        path = self._own_path()
        if os.path.lexists(target):
            raise SessionError(f"{target} exists already; choose another name.")
        self.close()
        try:
            path.rename(target)
        except (OSError, ValueError) as error:
            raise SessionError(f"{path} cannot be renamed: {_why(error)}.") from error
        self._model.session.path = target

    def put_away(self) -> Trashed:
        """Put the file into the trash and show an empty session. Raises SessionError."""
        path = self._own_path()
        self.close()
        try:
            trashed = put_into_trash(path)
        except OSError as error:
            raise SessionError(f"{path} cannot be put into the trash: {_why(error)}.") from error
        self.show_empty(self._model.session.device)
        return trashed

    @property
    def why_not_own(self) -> str:
        """Why the file shown is not one to rename or to put away, as a sentence; "" where it is."""
        if self.is_example:
            return "The example came with the program and stays as it is."
        return "" if self.path else "There is no file yet: nothing was measured."

    def _own_path(self) -> Path:
        path = self.path
        if self.why_not_own or path is None:
            raise SessionError(self.why_not_own)
        return path

    def note_gain(self) -> None:
        """A result has come in: the file is worth keeping, and stays what is shown."""
        self._is_bare, self._before = False, None

    def take_back(self) -> bool:
        """After a run that brought nothing: remove the file made for it, and show what was shown before.

        Tells whether anything else is shown now.
        """
        if not self._is_bare:
            return False
        before, device = self._before, self._model.session.device
        self.close()
        if before is None:
            self.show_empty(device)
        else:
            self._before = None
            self._unkept = set(self._unkept_before)
            self._model.replace(before)
        return True

    def close(self) -> None:
        """Leave one plain file behind, or none where nothing has come in."""
        self._recorders.clear()
        if self._safe and self._is_bare:
            self._is_bare = False
            store, self._safe = self._safe.store, None
            store.close()
            if not store.is_in_memory:
                store.path.unlink(missing_ok=True)
        if self._safe:
            self._safe.close()
            self._safe = None

    def why_new(self, device: Device, beside: Sequence[Device] = ()) -> str:
        """Why results of this device cannot go into the session shown; "" when they can.

        They can where it has results of the device, or of one that is used beside it.
        """
        session = self._model.session
        here = {one.uuid for one in session.devices}
        if session.device and here.isdisjoint(one.uuid for one in (device, *beside)):
            return f"the open one belongs to {session.device.name_beside([device])}"
        return self._why_fixed

    @property
    def why_nothing_deleted(self) -> str:
        """Why no point of the session shown is deleted, as a sentence; "" where it can be."""
        why = self._why_fixed
        return f"Nothing is deleted, because {why}; hide points instead." if why else ""

    @property
    def _why_fixed(self) -> str:
        """Why nothing can be added to the session shown, whatever it is; "" when it can."""
        session = self._model.session
        if self.is_example:
            return "the example is for viewing only"
        if session.why_fixed and self.path:
            return f"{self.path.name} {session.why_fixed}"
        if self.path and not self._safe and not os.access(self.path, os.W_OK):
            return f"{self.path.name} is read-only"
        return ""


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _state_of(path: Path) -> tuple[Path, int, int, int] | None:
    """By which a file is known to be as it was; None for one that cannot be looked at."""
    try:
        found = path.stat()
    except OSError:
        return None
    return path, found.st_ino, found.st_size, found.st_mtime_ns

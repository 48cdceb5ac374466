"""The user's own folders of kernels in the window: those recorded, and of these the ones that may run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

from msgspec import Struct

from roofscope.app.window.background import Background
from roofscope.app.window.settings import Settings
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.kernel_files import FileFault, printable
from roofscope.profiling.planning.one_file.form import FormFault, is_form
from roofscope.profiling.planning.one_file.parts import survey_form
from roofscope.profiling.planning.survey import Survey, survey
from roofscope.profiling.planning.trust import Trust, whose


class FolderState(Struct, frozen=True):
    """A recorded folder as it is now. Nothing of it has been opened where ``why_not`` says something."""

    path: Path
    survey: Survey | None = None  # None: it cannot be looked at
    why_not: str = ""  # why it is not used, in a clause


class KernelFolders:
    """A folder is used while it is as it was when the user trusted it."""

    def __init__(
        self, settings: Settings, trust: Trust, background: Background, given: Sequence[Path] = ()
    ) -> None:
        """``given`` are folders that the caller vouches for."""
        self._background = background
        self._settings = settings
        self._trust = trust
        self._given = [folder.resolve() for folder in given]
        self._given_up = Event()
        self.states: tuple[FolderState, ...] = ()

    @property
    def roots(self) -> tuple[Path, ...]:
        """What is used besides the program's own kernels."""
        return self._roots(self.states)

    @property
    def root_names(self) -> tuple[str, ...]:
        """As the worker takes them."""
        return tuple(map(str, self.roots))

    @property
    def recorded(self) -> tuple[Path, ...]:
        return self._settings.kernel_folders

    def looked(
        self, recorded: Sequence[Path], known: Catalog | None
    ) -> tuple[tuple[FolderState, ...], Catalog]:
        """The folders and all kernels that may run, as they are now; takes as long as a slow disk does."""
        states = tuple(map(self._state, recorded))
        known = known if known and known.folders else None  # the first scan's is empty
        return states, scan((LIBRARY, *self._roots(states)), known, self._given_up)

    def look(
        self, known: Catalog, deliver: Callable[[Catalog], object], give_up: Callable[[], object]
    ) -> None:
        """The same from a thread: hundreds of files are read."""
        recorded = self.recorded

        def take(answer: tuple[tuple[FolderState, ...], Catalog]) -> None:
            self.states, catalog = answer
            deliver(catalog)

        self._background.ask(lambda: self.looked(recorded, known), take, give_up)

    def give_up(self) -> None:
        """End what is under way in a thread: nobody waits for it any more."""
        self._given_up.set()

    def trust(self, found: Survey) -> None:
        """Record a folder, and use it from now on. Raises TrustError, and then nothing has changed."""
        self._trust.add(found)
        others = [path for path in self.recorded if path != found.folder]
        self._settings.kernel_folders = (*others, found.folder)

    def remove(self, folder: Path) -> None:
        """Record it no longer. It stays trusted where the command line names it."""
        self._settings.kernel_folders = tuple(path for path in self.recorded if path != folder)

    def _roots(self, states: Sequence[FolderState]) -> tuple[Path, ...]:
        used = [state.survey.folder for state in states if state.survey and not state.why_not]
        return tuple(dict.fromkeys([*self._given, *used]))

    def _state(self, path: Path) -> FolderState:
        try:
            found = survey_form(path) if is_form(path) else survey(path)
        except (FileFault, FormFault) as error:
            return FolderState(path, None, f"it cannot be read: {error}")
        if self._trust.covers(found):
            return FolderState(path, found)
        return FolderState(path, found, whose(found) or "it was not trusted yet")


def not_used_text(state: FolderState) -> str:
    """One sentence of a folder that is left out."""
    return f"{printable(state.path)} is not used: {state.why_not}. See Kernel folders in the File menu."

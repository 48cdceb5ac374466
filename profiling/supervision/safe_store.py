"""A run's session file, and another one where that is lost or full.

The other one gets every result, and the user reads so at once.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_storable import NotStorable
from roofscope.profiling.results.session_writer import SessionStore

Result = TypeVar("Result")

_ONE_TRACE = " 1 trace is lost; record it again."
_ONE_CODE = " The generated code of 1 point is lost"


class SafeStore:
    """The store of the file that the run is in now; the recorders of several devices share it."""

    def __init__(
        self,
        store: SessionStore,
        say: Callable[[str], None] = lambda _: None,
        rescue_folders: Sequence[Path] = (),
    ) -> None:
        """``say`` is given a sentence once ``store`` is that of another file, because the first one was lost.

        That is made beside the first one, else in the first of ``rescue_folders`` that takes it.
        """
        self.store = store
        self._say = say
        self._rescue_folders = rescue_folders
        self._said_lost = Counter[str]()  # traces and generated code, by their table

    @property
    def kept_path(self) -> Path | None:
        """The file that has the results; None where no folder took one, and they are in memory."""
        return None if self.store.is_in_memory else self.store.path

    def look(self) -> None:
        """Whether all is still in the file; where it is not, go on in another one."""
        if why := self.store.loss():
            self._move(f"{self.store.path} {why}.")

    def close(self) -> None:
        """Close the file, with every result in it. What was in memory only is tried once more."""
        if why := self.store.loss(at_the_end=True):
            self._move(f"{self.store.path} {why}.")
        if self.store.is_in_memory:
            self.store = self.store.rescued(self._folders)
            count = self.store.result_count
            if self.store.is_in_memory:
                self._say(f"No folder took a file: {count} results of this run are lost.")
            else:
                self._say(f"All {count} results of this run are now in {self.store.path}.")
        self.store.close()

    @property
    def _folders(self) -> list[Path]:
        """Where the run may go on, the best first."""
        return [self.store.path.parent, *self._rescue_folders]

    def keep(self, add: Callable[[SessionStore], Result]) -> Result:
        """Add to the file; where it cannot be written, to the next that can, in the end in memory.

        Raises NotStorable for what no file takes.
        """
        self.look()
        folders, why = self._folders, ""
        while True:
            try:
                result = add(self.store)
            except NotStorable:
                raise
            except SessionError as error:
                if self.store.is_in_memory:
                    raise
                unfit = self.store.path if why else None  # made a moment ago, and could not grow
                why = why or str(error)
                self.store = self.store.rescued(folders)
                if not self.store.is_in_memory:
                    folders = folders[folders.index(self.store.path.parent) + 1 :]
                if unfit:
                    unfit.unlink(missing_ok=True)
            else:
                if why:
                    self._tell(why)
                return result

    def _move(self, why: str) -> None:
        self.store = self.store.rescued(self._folders)
        self._tell(why)

    def _tell(self, why: str) -> None:
        count = self.store.result_count
        lost = self.store.lost_counts - self._said_lost
        self._said_lost = Counter(self.store.lost_counts)
        kept = f"the {count} results so far" if count > 1 else f"all {'other ' * bool(lost)}results so far"
        if self.store.is_in_memory:
            text = f"{why} No folder takes another file: {kept} are in memory only; save them elsewhere."
        else:
            text = f"{why} The run goes on in {self.store.path}, which has {kept}."
        self._say(text + _lost_words(lost))


def _lost_words(lost: Counter[str]) -> str:
    """Traces and generated code were in the file alone."""
    words = ""
    if count := lost["trace"]:
        words += f" {count} traces are lost; record them again." if count > 1 else _ONE_TRACE
    if count := lost["code"]:
        words += f" The generated code of {count} points is lost" if count > 1 else _ONE_CODE
        words += f"; measure {'them' if count > 1 else 'it'} again to have it."
    return words

"""Which line of the user's own files is being run, or has raised."""

import linecache
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from roofscope.profiling.paths import LIBRARY, PACKAGE
from roofscope.profiling.results.debugging import Line

_MOST_CODE = 200  # letters of a line
_INSTALLED = ("site-packages", "dist-packages")


class UserLines:
    """``files`` are the user's own, with what lies in their folders."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._folders = tuple({str(file.resolve().parent) for file in files})
        self._is_own: dict[str, bool] = {}

    def here(self) -> Line | None:
        """The innermost line of the user's that is being run."""
        frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            if self.is_own(frame.f_code.co_filename):
                return line_at(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return None

    def of_error(self, error: BaseException) -> Line | None:
        """The innermost line of the user's that an error went through; the first cause comes first."""
        chain: list[BaseException] = []
        at: BaseException | None = error
        while at is not None and at not in chain:
            chain.append(at)
            at = at.__cause__ or at.__context__
        for one in reversed(chain):
            for frame in reversed(traceback.extract_tb(one.__traceback__)):
                if self.is_own(frame.filename):
                    return line_at(frame.filename, frame.lineno or 0)
        return None

    def is_own(self, file: str) -> bool:
        known = self._is_own.get(file)
        if known is None:
            known = self._is_own[file] = self._look(file)
        return known

    def _look(self, file: str) -> bool:
        if file.startswith("<") or any(part in _INSTALLED for part in Path(file).parts):
            return False
        path = Path(file).resolve()
        if path.is_relative_to(PACKAGE) and not path.is_relative_to(LIBRARY):
            # A user's folder may lie within a checkout of ours; our own code does not lie in one of theirs.
            return str(path.parent) in self._folders
        return any(path.is_relative_to(folder) for folder in (*self._folders, str(LIBRARY)))


def line_at(file: str, number: int) -> Line:
    return Line(file, number, linecache.getline(file, number).strip()[:_MOST_CODE])

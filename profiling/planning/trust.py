"""Which folders of kernels the user trusts. Kernels are programs: they run with all that the user may do.

A folder is trusted once, by its path and the owners of what is in it. Where another owner's files appear, or
others may write to it who could not, it is asked for again.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from roofscope.profiling.planning.kernel_files import MOST_ENTRIES, FileFault, printable, read_file
from roofscope.profiling.planning.survey import Survey, user_name

VARIABLE = "ROOFSCOPE_TRUST"  # folders, as in PATH: for machines where nobody can be asked
_MOST = 1000  # folders that are remembered


class TrustError(Exception):
    """A folder cannot be trusted for good; the text is one sentence."""


class TrustedFolder(Struct, frozen=True):
    path: str
    owners: tuple[int, ...] = ()  # other than the user and root, when it was trusted
    is_open: bool = False  # others could write to it already

    @classmethod
    def of(cls, found: Survey) -> "TrustedFolder":
        return cls(str(found.folder), tuple(sorted(found.foreign)), found.is_open)

    def covers(self, found: Survey) -> bool:
        """Whether a folder as it is now has nothing that was not there when it was trusted."""
        return (
            self.path == str(found.folder)
            and set(found.foreign) <= set(self.owners)
            and (self.is_open or not found.is_open)
        )


class _Trusted(Struct, frozen=True):
    folders: tuple[TrustedFolder, ...] = ()


class Trust:
    """The file of trusted folders; one that cannot be read trusts none."""

    def __init__(self, file: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._file = file
        named = environment.get(VARIABLE, "").split(os.pathsep)
        self._by_variable = {os.path.realpath(name) for name in named if name}

    @property
    def folders(self) -> tuple[TrustedFolder, ...]:
        with suppress(FileFault, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return msgspec.json.decode(read_file(self._file), type=_Trusted).folders
        return ()

    def covers(self, found: Survey) -> bool:
        """Whether a folder as it is now was trusted, or is named by the environment."""
        if str(found.folder) in self._by_variable:
            return True
        return found.is_whole and any(known.covers(found) for known in self.folders)

    def add(self, found: Survey) -> None:
        """Trust a folder as it is now. Raises TrustError, also where it is too large to be looked at."""
        if not found.is_whole:
            raise TrustError(
                f"{printable(found.folder)} holds more than {MOST_ENTRIES} files, too many to be looked at, "
                f"so it cannot be trusted for good; name a smaller folder, or name it in {VARIABLE}."
            )
        added = TrustedFolder.of(found)
        others = [known for known in self.folders if known.path != added.path]
        self._write([*others, added][-_MOST:])

    def remove(self, folder: Path) -> bool:
        """Trust it no longer; whether it was. Raises TrustError."""
        path = os.path.realpath(folder)
        before = self.folders
        left = [known for known in before if known.path != path]
        if len(left) < len(before):
            self._write(left)
        return len(left) < len(before)

    def _write(self, folders: Iterable[TrustedFolder]) -> None:
        """Whole or not at all: another program that reads it meanwhile sees the old one."""
        content = msgspec.json.format(msgspec.json.encode(_Trusted(tuple(folders))), indent=2)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=self._file.parent, delete=False) as file:
                try:
                    file.write(content + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                    Path(file.name).replace(self._file)
                except BaseException:
                    Path(file.name).unlink(missing_ok=True)
                    raise
        except OSError as error:
            why = error.strerror or error
            message = f"{printable(self._file)}, where trust is remembered, cannot be written: {why}."
            raise TrustError(message) from error


def whose(found: Survey) -> str:
    """Why a folder is not simply the user's own, in a clause with its subject; "" where it is."""
    reasons: list[str] = []
    if found.foreign:
        owners = " and ".join(user_name(number) for number in sorted(found.foreign)[:3])
        part = "" if found.owner in found.foreign else "in part "
        reasons.append(f"it belongs {part}to {owners}")
    if found.is_open:
        reasons.append("others may write to it")
    if not found.is_whole:
        reasons.append("it holds too many files to look at")
    return ", and ".join(reasons)


def what_runs(found: Survey) -> str:
    """Such as ``3 kernels in 14 files``."""
    kernels, files = len(found.kernels), found.file_count
    return f"{kernels} kernel{'s' * (kernels != 1)} in {files} file{'s' * (files != 1)}"

"""Digests of the code that a measurement or its verdict depends on, over what was read of each folder."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.kernel_files import FileFault, KernelFiles, read_file, read_folder
from roofscope.profiling.providers import VARIANT, Family, Provider

SHARED = LIBRARY / "shared"  # what several kernels use
JUDGE = "reference.py"
_ROLES = ("__init__", "spec", "reference", "eager", "autograd")
_HELPERS = (".py", ".cuh")
_IMPORT = re.compile(r"^\s*(?:from|import)\s+roofscope\.kernels\.(\w+)\.(\w+)", re.MULTILINE)


class Hasher:
    """Makes the digests of one scan, which reads what kernels share and import once."""

    def __init__(self) -> None:
        try:
            self.shared = read_folder(SHARED)
        except FileFault:  # of an installation that has lost it: what needs it says so when it is built
            self.shared = KernelFiles(SHARED, {}, {})
        self._library = _digest_of_helpers(self.shared)
        self._read: Callable[[Path], bytes | None] = cache(_read_or_none)

    def helpers(self, files: KernelFiles) -> bytes:
        """Of the files that all implementations here may use: an edit of one is an edit of each."""
        return self._library + _digest_of_helpers(files)

    def source(self, provider: Provider, stem: str, contents: Sequence[bytes], helpers: bytes) -> str:
        """Of what an implementation is built from."""
        digest = hashlib.sha256(stem.encode())
        for content in (*contents, *self._imported(contents)):
            digest.update(content)
        if provider.facts.family is not Family.PYTORCH:
            digest.update(helpers)
        return digest.hexdigest()

    def judge(self, files: KernelFiles) -> str:
        """Of ``reference.py`` and of what it imports."""
        own = files.contents[JUDGE]
        return hashlib.sha256(b"".join((own, *self._imported([own])))).hexdigest()

    def catalog(self, folders: Iterable[KernelFiles]) -> str:
        """Of specs, references and all other code that affects a measurement or its verdict."""
        digest = hashlib.sha256()
        for files in (*folders, self.shared):
            for name, content in files.contents.items():
                digest.update(f"{files.folder.name}/{name}:".encode())
                digest.update(hashlib.sha256(content).digest())
            for name, fault in files.faults.items():  # a file that can be read again is an edit too
                digest.update(f"{files.folder.name}/{name}:{fault}".encode("utf-8", "backslashreplace"))
        return digest.hexdigest()

    def _imported(self, contents: Iterable[bytes]) -> Iterable[bytes]:
        """Contents of the library's files that these import, directly or through others, each once."""
        waiting, seen = list(contents), set[Path]()
        while waiting:
            for folder, stem in _IMPORT.findall(waiting.pop(0).decode("utf-8", "replace")):
                path = LIBRARY / folder / f"{stem}.py"
                if path in seen:
                    continue
                seen.add(path)
                if (content := self._read(path)) is not None:
                    waiting.append(content)
                    yield content


def _read_or_none(path: Path) -> bytes | None:
    try:
        return read_file(path)
    except FileFault:
        return None


def _digest_of_helpers(files: KernelFiles) -> bytes:
    digest = hashlib.sha256()
    for name, content in files.contents.items():
        path = Path(name)
        if path.suffix in _HELPERS and path.stem not in _ROLES and not VARIANT.fullmatch(path.stem):
            digest.update(content)
    return digest.digest()

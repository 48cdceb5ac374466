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
# ``from roofscope.kernels.softmax.eager import run``; ``from roofscope.kernels.shared import padding, rows``.
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+roofscope\.kernels\.(\w+)\.(\w+)", re.MULTILINE)
_NAMES = re.compile(
    r"^[ \t]*from[ \t]+roofscope\.kernels\.(\w+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)", re.MULTILINE
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"(\w+/[\w.]+)"', re.MULTILINE)
_MENTION = re.compile(r"roofscope\.kernels|roofscope\s+import[^\n]*\bkernels\b|import_module|__import__")
_ANY_INCLUDE = re.compile(r"#[ \t]*include[ \t]+(?!<)")


class Hasher:
    """Makes the digests of one scan, which reads what kernels share and import once."""

    def __init__(self) -> None:
        try:
            self.shared = read_folder(SHARED)
        except FileFault:  # of an installation that has lost it: what needs it says so when it is built
            self.shared = KernelFiles(SHARED, {}, {})
        self._library = b"".join(self.helpers(self.shared))
        self._read: Callable[[Path], bytes | None] = cache(_read_or_none)
        self._names: Callable[[bytes], tuple[list[str], bool]] = cache(_named_in)

    def helpers(self, files: KernelFiles) -> tuple[bytes, ...]:
        """The files that all implementations of a folder may use: an edit of one is an edit of each."""
        return tuple(content for name, content in sorted(files.contents.items()) if _is_helper(Path(name)))

    def source(
        self, provider: Provider, stem: str, contents: Sequence[bytes], helpers: Sequence[bytes]
    ) -> str:
        """Of what an implementation is built from: its files, and those of the library that these name."""
        own = contents if provider.facts.family is Family.PYTORCH else (*contents, *helpers)
        digest = hashlib.sha256(stem.encode())
        for content in (*own, *self._named(own)):
            digest.update(content)
        return digest.hexdigest()

    def judge(self, files: KernelFiles) -> str:
        """Of ``reference.py`` and of what it imports."""
        own = files.contents[JUDGE]
        return hashlib.sha256(b"".join((own, *self._named([own])))).hexdigest()

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

    def _named(self, contents: Iterable[bytes]) -> Iterable[bytes]:
        """Contents of the library's files that these import or include, directly or not, each once.

        All that kernels share counts where a text may name files in a way that is not read here.
        """
        waiting, seen, is_told = list(contents), set[Path](), True
        while waiting:
            named, is_whole = self._names(waiting.pop(0))
            is_told &= is_whole
            for path in (LIBRARY / name for name in named):
                if path in seen:
                    continue
                seen.add(path)
                if (content := self._read(path)) is not None:
                    waiting.append(content)
                    yield content
        if not is_told:
            yield self._library


def _named_in(content: bytes) -> tuple[list[str], bool]:
    """The library's files that a text imports or includes, and whether these are all that it may mean."""
    text = content.decode("utf-8", "replace")
    modules, lists = _IMPORT.findall(text), _NAMES.findall(text)
    lines = len(modules) + len(lists)
    for folder, names in lists:
        modules += [(folder, name) for name in re.findall(r"\w+", re.sub(r"\bas\s+\w+", "", names))]
    includes: list[str] = _INCLUDE.findall(text)
    is_whole = len(_MENTION.findall(text)) == lines and len(_ANY_INCLUDE.findall(text)) == len(includes)
    return [*(f"{folder}/{stem}.py" for folder, stem in modules), *includes], is_whole


def _read_or_none(path: Path) -> bytes | None:
    try:
        return read_file(path)
    except FileFault:
        return None


def _is_helper(path: Path) -> bool:
    return path.suffix in _HELPERS and path.stem not in _ROLES and not VARIANT.fullmatch(path.stem)

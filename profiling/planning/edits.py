"""Which implementations an edit concerns: by the hashes that stand for their files, and by what they include.

A hash holds every file that an implementation may use; an edit of a header would concern each implementation
beside it. Those that never name the header are left alone.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.file_watch import Saved
from roofscope.profiling.planning.kernel_files import FileFault, printable, read_folder
from roofscope.profiling.planning.one_file.form import is_form
from roofscope.profiling.planning.source_hash import JUDGE, SHARED
from roofscope.profiling.planning.spec import Implementation, KernelSpec, Provider

_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](?:[^>"\n]*/)?([^>"/\n]+)[>"]', re.MULTILINE)
_IMPORT = re.compile(r"^\s*(?:from|import)\b.*", re.MULTILINE)
_FILE = re.compile(r"\b(\w+)\.py\b")  # such as load_module(folder / "widths.py")
_WORD = re.compile(r"\w+")
_OWN = ("spec.py", JUDGE)  # concern every implementation of their kernel


class Edits(Struct, frozen=True):
    """What a save has brought. ``said`` are sentences on what cannot be measured, and why its points stay."""

    implementations: tuple[Implementation, ...] = ()  # to be measured, as their files are now
    said: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()  # names of files that were saved as they were


class _Print(Struct, frozen=True):
    """What a measurement of an implementation rests on."""

    implementation: Implementation
    judge: str
    spec: KernelSpec


class EditedKernels:
    """Remembers each implementation as it was last, also of a kernel that cannot be used meanwhile."""

    def __init__(self, catalog: Catalog) -> None:
        self._known = _prints(catalog)

    def take(self, catalog: Catalog, saved: Saved) -> Edits:
        """What these files have changed; without torch.compile's versions, whose builds take seconds each."""
        before, now = self._known, _prints(catalog)
        self._known = {**before, **now}
        changed = [found for key, found in now.items() if before.get(key) != found]
        concerned = [
            found.implementation
            for found in changed
            if found.implementation.provider is not Provider.COMPILE
            and _is_concerned(catalog, before.get(found.implementation.key), found, saved)
        ]
        gone = [key for key in before if key not in now]
        for key in gone:  # of a kernel that cannot be used its versions may come back as they were
            if catalog.kernel(key.partition("/")[0]):
                del self._known[key]
        said = [*_problems(catalog, saved), *_gone(catalog, gone, saved)]
        names = () if changed or said else tuple(sorted(_shown(path) for path in saved.written))
        return Edits(tuple(concerned), tuple(said), names)


def files_of(catalog: Catalog, implementations: Iterable[Implementation]) -> frozenset[Path]:
    """Those that are only theirs, by which it is known whether another save concerns the same."""
    found: set[Path] = set()
    for implementation in implementations:
        if kernel := catalog.kernel(implementation.kernel):
            found |= {*kernel.paths(implementation), *(kernel.folder / name for name in _OWN)}
    return frozenset(found)


def _prints(catalog: Catalog) -> dict[str, _Print]:
    return {
        implementation.key: _Print(implementation, kernel.judge, kernel.spec)
        for kernel in catalog.kernels
        for implementation in kernel.implementations
    }


def _is_concerned(catalog: Catalog, before: _Print | None, now: _Print, saved: Saved) -> bool:
    """Whether what has changed is more than a helper that the implementation never names."""
    kernel = catalog.kernel(now.implementation.kernel)
    if kernel is None:
        return False
    if kernel.form:  # its hash holds the files that run, and no other
        return True
    if before is None:  # also of a folder that is used only now, of which nothing was saved
        return any(path.parent == kernel.folder for path in saved.written)
    if (before.judge, before.spec) != (now.judge, now.spec):
        return True
    own = frozenset(kernel.paths(now.implementation))
    of_others = {path for one in kernel.implementations for path in kernel.paths(one)} - own
    helpers = {path for path in saved.paths - of_others if path.parent in (kernel.folder, SHARED)}
    if own & saved.paths or not helpers:
        return True
    texts = _texts(kernel)
    if helpers & _named(own, texts):
        return True
    every = frozenset(path for one in kernel.implementations for path in kernel.paths(one))
    # What none of them names may be loaded in a way that no text shows.
    unnamed = {path for path in helpers if path.parent == kernel.folder} - _named(every, texts)
    return bool(unnamed)


def _texts(kernel: Kernel) -> dict[Path, str]:
    """What an implementation may name, and what it says itself: its folder and what our kernels share."""
    found: dict[Path, str] = {}
    for folder in (kernel.folder, SHARED):
        try:
            files = read_folder(folder)
        except FileFault:
            continue
        found |= {folder / name: data.decode("utf-8", "replace") for name, data in files.contents.items()}
    return found


def _named(files: Iterable[Path], texts: Mapping[Path, str]) -> frozenset[Path]:
    """Of these texts those that the files name, directly or through others."""
    found, waiting = set[Path](), [path for path in files if path in texts]
    while waiting:
        text = texts[waiting.pop()]
        included, words = set(_INCLUDE.findall(text)), set(_FILE.findall(text))
        words.update(*map(_WORD.findall, _IMPORT.findall(text)))
        for path in texts:
            if path not in found and (path.name in included or (path.suffix == ".py" and path.stem in words)):
                found.add(path)
                waiting.append(path)
    return frozenset(found)


def _problems(catalog: Catalog, saved: Saved) -> list[str]:
    """Of the files that were saved, and of their kernels as a whole."""
    folders = {path.parent for path in saved.paths}
    places = {printable(path) for path in (*saved.written, *folders)}
    forms = {printable(path) for path in catalog.folders if is_form(path) and path.parent in folders}
    return [
        f"{problem.message} Its points stay."
        for problem in catalog.problems
        if problem.path in places or problem.path in forms
    ]


def _gone(catalog: Catalog, keys: Iterable[str], saved: Saved) -> list[str]:
    """Of implementations whose files were taken away; what is left out has a problem of its own."""
    stems = {path.stem for path in saved.gone}
    lost = [key for key in keys if key.partition("/")[2] in stems and catalog.kernel(key.partition("/")[0])]
    kernels = sorted({path.parent.name for path in saved.gone if path.name in _OWN})
    said = [f"{key} is gone; its points stay." for key in lost]
    return said + [f"{name} has lost a file that it needs; its points stay." for name in kernels]


def _shown(path: Path) -> str:
    return printable(f"{path.parent.name}/{path.name}")

"""Finds kernels by file name. Runs each ``spec.py`` (torch-free), imports no implementation."""

import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.domain import DomainError, read_domain
from roofscope.profiling.planning.spec import Implementation, KernelSpec, Provider
from roofscope.profiling.planning.spec_check import spec_error

SHARED = LIBRARY / "shared"  # what several kernels use
_ROLES = ("__init__", "spec", "reference", "eager", "autograd")
_JUDGE = "reference.py"
_HELPERS = (".py", ".cuh")
_CODE = (*_HELPERS, ".cu")
_IMPORT = re.compile(r"^\s*(?:from|import)\s+roofscope\.kernels\.(\w+)\.(\w+)", re.MULTILINE)
_SPEC_MODULE = re.compile(r"roofscope\.kernels\.\w+\.spec")
_VARIANT = re.compile(r"(triton|cuda_ext|cuda|library)_([a-z0-9_]+)")
_FORMER_PACKAGES = ("profiling", "kernels")  # as files from before the package roofscope import them
_MODES = ("default", "reduce_overhead", "max_autotune", "max_autotune_no_cudagraphs")  # of torch.compile


class SourceFile(Struct, frozen=True):
    """A file an implementation is built from."""

    name: str
    sha256: str
    text: str


class CatalogProblem(Struct, frozen=True):
    """A folder or file that was left out, and one sentence why."""

    path: str
    message: str


class Kernel(Struct, frozen=True):
    """A kernel's spec, folder and implementations."""

    spec: KernelSpec
    folder: Path
    implementations: tuple[Implementation, ...]
    contents: dict[str, bytes] = {}  # by file name, as they were hashed
    judge: str = ""  # hash of reference.py and of what it imports
    left_out: tuple[CatalogProblem, ...] = ()  # files of it that cannot be used

    def implementation(self, stem: str) -> Implementation | None:
        return next((found for found in self.implementations if found.stem == stem), None)

    def sources(self, implementation: Implementation) -> tuple[SourceFile, ...]:
        """The files behind an implementation, as its hash has them: they may have been edited since."""
        return tuple(_source(path.name, self.contents[path.name]) for path in self.paths(implementation))

    def is_unchanged(self, implementation: Implementation) -> bool:
        """Whether the files, read now, are those that its hash stands for, and its judge is as it was."""
        try:
            if _judge_of(self.folder) != self.judge:
                return False
            contents = [path.read_bytes() for path in self.paths(implementation)]
            shared = _digest_of_helpers(SHARED) + _digest_of_helpers(self.folder)
        except OSError:
            return False
        hashed = _hash(implementation.provider, implementation.stem, contents, shared)
        return hashed == implementation.source_hash

    def paths(self, implementation: Implementation) -> tuple[Path, ...]:
        return _paths(self.folder, implementation.provider, implementation.stem)


class Catalog(Struct, frozen=True):
    """All kernels found, in alphabetical order, and what was wrong with the rest."""

    kernels: tuple[Kernel, ...]
    problems: tuple[CatalogProblem, ...]
    hash: str  # of all code in the kernels' folders and in what they share; compared across an ssh link

    def kernel(self, name: str) -> Kernel | None:
        return next((kernel for kernel in self.kernels if kernel.spec.name == name), None)


def scan(roots: Sequence[Path] = (LIBRARY,)) -> Catalog:
    """Read every kernel's folder at the roots; a later root wins a name clash."""
    kernels: dict[str, Kernel] = {}
    problems: list[CatalogProblem] = []
    folders = [path.parent for root in roots for path in spec_paths(root)]
    digest = _digest_of_code([*folders, SHARED])  # first, so that an edit from now on shows at the next scan
    library = _digest_of_helpers(SHARED)
    _forget_specs()
    for folder in folders:
        found = _load_kernel(folder, library)
        if isinstance(found, Kernel):
            kernels[found.spec.name] = found
            problems += [*found.left_out, *_unpaired(found)]
        else:
            problems.append(found)
    return Catalog(tuple(kernels[name] for name in sorted(kernels)), tuple(problems), digest)


def spec_paths(root: Path) -> list[Path]:
    """The ``spec.py`` of each folder under a root, or of the root itself where it is one kernel's folder."""
    own = root / "spec.py"
    return [own] if own.exists() else sorted(root.glob("*/spec.py"))


def load_module(path: Path) -> ModuleType:
    """Execute a kernel's Python file under the name ``<root>.<kernel>.<stem>``.

    By location and not by import, so that a kernel folder may lie anywhere.
    """
    name = ".".join((path.parent.parent.name, path.parent.name, path.stem))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_kernel(folder: Path, library: bytes) -> Kernel | CatalogProblem:
    try:
        spec = load_module(folder / "spec.py").SPEC
    except Exception as error:  # noqa: BLE001 - whatever a user's file raises must not take the program down
        return CatalogProblem(
            str(folder), f"{folder.name}/spec.py cannot be used: {describe_load_error(error)}."
        )
    if not isinstance(spec, KernelSpec) or spec.name != folder.name:
        return CatalogProblem(
            str(folder), f"{folder.name}/spec.py must define SPEC, a KernelSpec named {folder.name!r}."
        )
    if fault := spec_error(spec):
        return CatalogProblem(str(folder), f"{folder.name}/spec.py cannot be used: {fault}.")
    if not (folder / _JUDGE).is_file():
        return CatalogProblem(
            str(folder), f"{folder.name} has no {_JUDGE}, without which nothing in it can be verified."
        )
    shared = library + _digest_of_helpers(folder)
    judge = _judge_of(folder)
    contents: dict[str, bytes] = {}
    implementations: list[Implementation] = []
    left_out: dict[str, CatalogProblem] = {}
    for provider, variant in _versions(folder):
        stem = f"{provider}_{variant}" if variant else str(provider)
        names = [path.name for path in _paths(folder, provider, stem)]
        for name in names:
            if name not in contents:  # read once: eager.py is behind several, and may be edited meanwhile
                contents[name] = (folder / name).read_bytes()
        digest = _hash(provider, stem, [contents[name] for name in names], shared)
        try:  # of a pair, the launcher states it
            domain = read_domain(names[-1], contents[names[-1]].decode("utf-8", "replace"), spec)
        except DomainError as error:
            path = folder / names[-1]
            left_out[names[-1]] = CatalogProblem(
                str(path), f"{folder.name}/{names[-1]} is left out: {error}."
            )
            continue
        implementations.append(Implementation(spec.name, provider, variant, digest, domain))
    return Kernel(spec, folder, tuple(implementations), contents, judge, tuple(left_out.values()))


def describe_load_error(error: Exception) -> str:
    """What a user's file raised when it was loaded, in a clause."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _FORMER_PACKAGES:
        return f"{error}; what a kernel's file needs is imported from roofscope"
    return f"{type(error).__name__}: {error}"


def _versions(folder: Path) -> list[tuple[Provider, str]]:
    """Provider and variant of every implementation whose files are there."""
    found: list[tuple[Provider, str]] = []
    if (folder / "eager.py").exists():
        found += [(Provider.EAGER, ""), *((Provider.COMPILE, mode) for mode in _MODES)]
    for path in sorted(folder.iterdir()):
        if match := _VARIANT.fullmatch(path.stem):
            provider = Provider(match[1])
            files = _paths(folder, provider, path.stem)
            if path == files[0] and all(file.exists() for file in files):
                found.append((provider, match[2]))
    return found


def _hash(provider: Provider, stem: str, contents: Iterable[bytes], shared: bytes) -> str:
    """``shared``: digest of the files that every kernel, and every implementation of this one, may use."""
    digest = hashlib.sha256(stem.encode())
    own = list(contents)
    for content in (*own, *_imported(own)):
        digest.update(content)
    if provider not in (Provider.EAGER, Provider.COMPILE):
        digest.update(shared)
    return digest.hexdigest()


def _judge_of(folder: Path) -> str:
    own = (folder / _JUDGE).read_bytes()
    return hashlib.sha256(b"".join((own, *_imported([own])))).hexdigest()


def _forget_specs() -> None:
    """Load specs again that other specs import: each must be what its file holds now."""
    for name in list(sys.modules):  # a copy: another thread of the window may be importing
        if _SPEC_MODULE.fullmatch(name):
            sys.modules.pop(name, None)


def _imported(contents: Iterable[bytes]) -> Iterable[bytes]:
    """Contents of the library's files that these import, directly or through others, each once."""
    waiting, seen = list(contents), set[Path]()
    while waiting:
        for folder, stem in _IMPORT.findall(waiting.pop(0).decode("utf-8", "replace")):
            path = LIBRARY / folder / f"{stem}.py"
            if path not in seen and path.is_file():
                seen.add(path)
                waiting.append(path.read_bytes())
                yield waiting[-1]


def _digest_of_code(folders: Iterable[Path]) -> str:
    """A digest of specs, references and all other code that affects a measurement or its verdict."""
    digest = hashlib.sha256()
    for path in (path for folder in folders for path in sorted(folder.iterdir())):
        if path.suffix in _CODE and path.is_file():
            digest.update(f"{path.parent.name}/{path.name}:".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _digest_of_helpers(folder: Path) -> bytes:
    """A digest of the files that several implementations use: an edit of one of them is an edit of each."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _HELPERS and path.stem not in _ROLES and not _VARIANT.fullmatch(path.stem):
            digest.update(path.read_bytes())
    return digest.digest()


def _unpaired(kernel: Kernel) -> Iterable[CatalogProblem]:
    used = {path for implementation in kernel.implementations for path in kernel.paths(implementation)}
    for source in sorted(kernel.folder.glob("cuda_*.cu")):
        if source not in used:
            yield CatalogProblem(str(source), f"{source.name} has no launcher {source.stem}.py beside it.")


def _paths(folder: Path, provider: Provider, stem: str) -> tuple[Path, ...]:
    match provider:
        case Provider.EAGER | Provider.COMPILE:
            return (folder / "eager.py",)
        case Provider.TRITON | Provider.LIBRARY:
            return (folder / f"{stem}.py",)
        case Provider.CUDA:
            return (folder / f"{stem}.cu", folder / f"{stem}.py")
        case Provider.CUDA_EXT:
            return (folder / f"{stem}.cu",)


def _source(name: str, content: bytes) -> SourceFile:
    return SourceFile(name, hashlib.sha256(content).hexdigest(), content.decode("utf-8", "replace"))

"""Finds kernels by file name. A child process reads each ``spec.py``; no implementation is imported."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event

from msgspec import Struct

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.domain import DomainError, read_domain
from roofscope.profiling.planning.kernel_files import (
    FileFault,
    KernelFiles,
    is_text,
    kernel_folders,
    printable,
    read_folder,
)
from roofscope.profiling.planning.loading import describe_load_error, load_module
from roofscope.profiling.planning.one_file.form import FormFault, is_form
from roofscope.profiling.planning.one_file.parts import Entry, Parts, kernel_name, read_parts
from roofscope.profiling.planning.parameters import ParameterError, read_parameters
from roofscope.profiling.planning.source_hash import JUDGE, Hasher
from roofscope.profiling.planning.spec import Implementation, KernelSpec, Provider
from roofscope.profiling.planning.spec_reader import SpecFault, SpecReader
from roofscope.profiling.providers import VARIANT, provider_of

__all__ = [
    "Catalog",
    "CatalogProblem",
    "Kernel",
    "SourceFile",
    "describe_load_error",
    "load_module",  # kernels import it from here: another line in them would be another hash of each
    "scan",
]
COMPILE_MODES = (
    "default",
    "reduce_overhead",
    "max_autotune",
    "max_autotune_no_cudagraphs",
)  # of torch.compile


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
    form: Path | None = None  # of a kernel in one file of the user's, as it stands
    entries: dict[str, Entry] = {}  # by stem, how such a file is called
    names: dict[str, tuple[str, ...]] = {}  # by stem, which of its files an implementation is built from

    def implementation(self, stem: str) -> Implementation | None:
        return next((found for found in self.implementations if found.stem == stem), None)

    def sources(self, implementation: Implementation) -> tuple[SourceFile, ...]:
        """The files behind an implementation, as its hash has them: they may have been edited since."""
        names = self.names.get(implementation.stem) or [path.name for path in self.paths(implementation)]
        return tuple(_source(Path(name).name, self.contents[name]) for name in names)

    def is_unchanged(self, implementation: Implementation) -> bool:
        """Whether the files, read now, are those that its hash stands for, and its judge is as it was."""
        if self.form:
            return self._is_form_unchanged(self.form, implementation)
        hasher = Hasher()
        try:
            files = read_folder(self.folder)
            if hasher.judge(files) != self.judge:
                return False
            contents = [files.contents[path.name] for path in self.paths(implementation)]
        except (FileFault, KeyError):  # gone, or no longer to be read
            return False
        helpers = hasher.helpers(files)
        hashed = hasher.source(implementation.provider, implementation.stem, contents, helpers)
        return hashed == implementation.source_hash

    def _is_form_unchanged(self, form: Path, implementation: Implementation) -> bool:
        try:
            parts = read_parts(form)
        except (FormFault, FileFault):
            return False
        return implementation.declared in parts.implementations and parts.judge == self.judge

    def paths(self, implementation: Implementation) -> tuple[Path, ...]:
        if self.form:
            return tuple(self.folder / name for name in self.names[implementation.stem])
        names = implementation.provider.file_names(implementation.stem)
        return tuple(self.folder / name for name in names)


class Catalog(Struct, frozen=True):
    """All kernels found, in alphabetical order, and what was wrong with the rest."""

    kernels: tuple[Kernel, ...]
    problems: tuple[CatalogProblem, ...]
    hash: str  # of all code in the kernels' folders and in what they share; compared across an ssh link
    folders: tuple[Path, ...] = ()  # all that were looked at

    def kernel(self, name: str) -> Kernel | None:
        return next((kernel for kernel in self.kernels if kernel.spec.name == name), None)


def scan(
    roots: Sequence[Path] = (LIBRARY,), known: Catalog | None = None, given_up: Event | None = None
) -> Catalog:
    """Read every kernel's folder at the roots; a later root wins a name clash, which is said.

    What is wrong with a folder is a problem of that folder. ``known`` is what an earlier scan found, and
    comes back where no code has changed since. ``given_up`` ends it soon, with whatever it has.
    """
    problems: list[CatalogProblem] = []
    forms = {path: _read_form(path) for path in dict.fromkeys(roots) if is_form(path)}
    folders = _folders([root for root in roots if root not in forms], problems)
    with SpecReader(folders, given_up) as specs:
        if known is None:
            specs.start()  # its process reads while this one does
        hasher = Hasher()
        read = {folder: _read(folder) for folder in folders}
        found = [files for files in read.values() if isinstance(files, KernelFiles)]
        found += [parts.files for parts in forms.values() if isinstance(parts, Parts)]
        digest = hasher.catalog(found)
        looked_at = (*folders, *forms)
        if known and (known.hash, known.folders) == (digest, looked_at):
            return known
        kernels: dict[str, Kernel] = {}
        problems += [_left_out(hasher.shared, name) for name in hasher.shared.faults]
        for folder, spec in zip(folders, specs.answers(), strict=True):
            loaded = _load_kernel(read[folder], spec, hasher)
            problems += _clash(folder, folder.name, loaded, kernels)
            if isinstance(loaded, Kernel):
                kernels[loaded.spec.name] = loaded
                problems += loaded.left_out
    for path, parts in forms.items():
        made = parts if isinstance(parts, CatalogProblem) else _kernel_of(path, parts)
        problems += _clash(path, kernel_name(path), made, kernels)
        if isinstance(made, Kernel):
            kernels[made.spec.name] = made
        if not isinstance(parts, CatalogProblem) and parts.warning:
            problems.append(_problem(path, f"{path.name}: {parts.warning}."))
    return Catalog(tuple(kernels[name] for name in sorted(kernels)), tuple(problems), digest, looked_at)


def _read_form(path: Path) -> Parts | CatalogProblem:
    try:
        return read_parts(path)
    except (FormFault, FileFault) as error:
        return _problem(path, f"{path.name} cannot be used: {error}.")


def _kernel_of(path: Path, parts: Parts) -> Kernel:
    return Kernel(
        parts.spec,
        path.parent,
        parts.implementations,
        parts.files.contents,
        parts.judge,
        form=path,
        entries=parts.entries,
        names=parts.names,
    )


def _folders(roots: Sequence[Path], problems: list[CatalogProblem]) -> list[Path]:
    """Every kernel's folder once; what is wrong with a root itself goes to the problems."""
    folders: dict[Path, Path] = {}  # by what they are, however they are named
    for root in roots:
        try:
            for folder in kernel_folders(root):
                folders.setdefault(folder.resolve(), folder)
        # RuntimeError: a loop of links, up to Python 3.12; ValueError: a name that no system takes.
        except (OSError, RuntimeError, ValueError) as error:
            problems.append(_problem(root, f"{root} cannot be read: {error}."))
    return list(folders.values())


def _read(folder: Path) -> KernelFiles | CatalogProblem:
    if not is_text(folder):
        return _problem(folder, f"{folder} is left out: its name is not UTF-8.")
    try:
        return read_folder(folder)
    except FileFault as error:
        return _problem(folder, f"{folder} cannot be read: {error}.")


def _load_kernel(
    files: KernelFiles | CatalogProblem, spec: KernelSpec | SpecFault, hasher: Hasher
) -> Kernel | CatalogProblem:
    if isinstance(files, CatalogProblem):
        return files
    folder = files.folder
    if fault := files.faults.get("spec.py"):
        return _problem(folder, f"{folder.name}/spec.py cannot be used: {fault}.")
    if isinstance(spec, SpecFault) and spec.is_spec:
        return _problem(folder, f"{folder.name}/spec.py cannot be used: {spec.text}.")
    if isinstance(spec, SpecFault) or spec.name != folder.name:
        return _problem(
            folder, f"{folder.name}/spec.py must define SPEC, a KernelSpec named {folder.name!r}."
        )
    if fault := files.faults.get(JUDGE):
        return _problem(folder, f"{folder.name}/{JUDGE} cannot be used: {fault}.")
    if JUDGE not in files.contents:
        return _problem(folder, f"{folder.name} has no {JUDGE}, without which nothing in it can be verified.")
    helpers = hasher.helpers(files)
    implementations: list[Implementation] = []
    left_out = {name: _left_out(files, name) for name in files.faults}
    left_out |= {problem.path: problem for problem in (*_unpaired(files), *_misnamed(files))}
    for provider, variant in _versions(files):
        stem = f"{provider}_{variant}" if variant else str(provider)
        names = provider.file_names(stem)
        contents = [files.contents[name] for name in names]
        digest = hasher.source(provider, stem, contents, helpers)
        try:  # of a pair, the launcher states it
            text = contents[-1].decode("utf-8", "replace")
            domain = read_domain(names[-1], text, spec)
            parameters = read_parameters(names[-1], text)
        except (DomainError, ParameterError) as error:
            left_out[names[-1]] = _left_out(files, names[-1], str(error))
            continue
        implementations.append(Implementation(spec.name, provider, variant, digest, domain, parameters))
    used = {name for found in implementations for name in found.provider.file_names(found.stem)}
    kept = {name: files.contents[name] for name in sorted(used)}
    return Kernel(spec, folder, tuple(implementations), kept, hasher.judge(files), tuple(left_out.values()))


def _clash(
    path: Path, name: str, loaded: Kernel | CatalogProblem, kernels: Mapping[str, Kernel]
) -> Iterable[CatalogProblem]:
    """The folder's or form's own problem, and what becomes of an earlier kernel of its name."""
    before = kernels.get(name)
    hidden = before and (before.form or before.folder)
    if isinstance(loaded, Kernel):
        if hidden:
            yield _problem(hidden, f"{name} is there twice: {path} is used, {hidden} is hidden.")
    elif hidden:
        message = f"{loaded.message.rstrip('.')}; {name} stands for {hidden} meanwhile."
        yield CatalogProblem(loaded.path, printable(message))
    else:
        yield loaded


def _problem(path: Path, message: str) -> CatalogProblem:
    return CatalogProblem(printable(path), printable(message))


def _left_out(files: KernelFiles, name: str, fault: str = "") -> CatalogProblem:
    message = f"{files.folder.name}/{name} is left out: {fault or files.faults[name]}."
    return _problem(files.folder / name, message)


def _versions(files: KernelFiles) -> list[tuple[Provider, str]]:
    """Provider and variant of every implementation whose files are there."""
    plain: list[tuple[Provider, str]] = []  # PyTorch: the version that others are compared with comes first
    compiled: list[tuple[Provider, str]] = []
    found: list[tuple[Provider, str]] = []
    if "eager.py" in files.contents:
        plain.append((Provider.EAGER, ""))
        compiled += ((Provider.COMPILE, mode) for mode in COMPILE_MODES)
    for name in files.contents:
        stem = Path(name).stem
        if match := VARIANT.fullmatch(stem):
            provider = Provider(match[1])
            names = provider.file_names(stem)
            if name == names[0] and all(other in files.contents for other in names):
                (plain if provider is Provider.EAGER else found).append((provider, match[2]))
    return [*plain, *compiled, *found]


def _unpaired(files: KernelFiles) -> Iterable[CatalogProblem]:
    for name in files.contents:
        stem = Path(name).stem
        provider = provider_of(stem)
        if provider is None or name not in provider.file_names(stem)[:-1]:
            continue
        launcher = provider.file_names(stem)[-1]
        if launcher not in files.contents and launcher not in files.faults:
            yield _problem(files.folder / name, f"{name} has no launcher {launcher} beside it.")


def _misnamed(files: KernelFiles) -> Iterable[CatalogProblem]:
    """Files that begin as an implementation's do and go on as none may."""
    for name in files.contents:
        stem = Path(name).stem
        provider = provider_of(stem)
        if provider and "_" in stem and name in provider.file_names(stem) and not VARIANT.fullmatch(stem):
            yield _left_out(files, name, "the name of an idea has a to z, 0 to 9 and _ alone")


def _source(name: str, content: bytes) -> SourceFile:
    return SourceFile(name, hashlib.sha256(content).hexdigest(), content.decode("utf-8", "replace"))

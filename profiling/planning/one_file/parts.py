"""From a form to what a catalog knows of a kernel: its spec, its implementations and where each is."""

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from roofscope.profiling.planning.domain import DomainError, checked_domain
from roofscope.profiling.planning.kernel_files import FileFault, KernelFiles, printable, read_file
from roofscope.profiling.planning.one_file.cpp_offers import cpp_offers
from roofscope.profiling.planning.one_file.form import (
    ENDING,
    SOURCES,
    Form,
    FormFault,
    form_of,
    line_of,
    read_form,
    split_call,
    tensor_of,
)
from roofscope.profiling.planning.one_file.given_inputs import defines
from roofscope.profiling.planning.one_file.imports import beside, look_beside
from roofscope.profiling.planning.one_file.named_files import unnamed_builds
from roofscope.profiling.planning.one_file.offers import Offer
from roofscope.profiling.planning.one_file.python_offers import python_offers
from roofscope.profiling.planning.parameters import Parameter, ParameterError, read_parameters
from roofscope.profiling.planning.spec import (
    Axis,
    Dtype,
    Implementation,
    KernelSpec,
    Preset,
    Provider,
    TensorSpec,
    Tolerance,
    WorkFormula,
)
from roofscope.profiling.planning.spec_check import spec_error
from roofscope.profiling.planning.survey import Survey, survey_file

PRESET = "form"  # the name of a form's sizes
TOLERANCES = {Dtype.FLOAT32: 2e-5, Dtype.FLOAT16: 2e-3, Dtype.BFLOAT16: 1.6e-2}
REFERENCE = "reference"  # in the place of a stem
_MODES = ("default", "reduce_overhead", "max_autotune", "max_autotune_no_cudagraphs")
BY_FILE = re.compile(r"([^:()]+\.py):([A-Za-z_][\w.]*)")
_STALE = (
    "its REFERENCE, SIZES, INPUTS or OUTPUTS were edited after FLOPS, READS and WRITES were derived of them; "
    "correct these three, then delete DERIVED and DERIVED_OF"
)

_OLD = (
    "its work was derived before forms said what of (DERIVED_OF), and counts as stated; `roofscope run` with "
    "its file derives it again, or delete DERIVED"
)


class Entry(Struct, frozen=True):
    """How one function of a user's file is called."""

    file: str
    call: str
    offer: Offer | None  # None: the call is an expression of torch, which stands in the form
    form: str
    line: int  # of the call in the form
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    grid: str = ""
    block: str = ""
    shared_bytes: str = ""
    made_by: str = ""  # of a class, the file whose get_init_inputs it is made of


class Parts(Struct, frozen=True):
    """What a form and its files come to."""

    spec: KernelSpec
    implementations: tuple[Implementation, ...]
    entries: dict[str, Entry]  # by stem, and of the reference
    files: KernelFiles  # all that a hash is made of
    names: dict[str, tuple[str, ...]]  # by stem, the files behind an implementation
    judge: str
    warning: str = ""  # a clause


def read_parts(path: Path) -> Parts:
    """Raises FormFault and FileFault."""
    try:
        return _read_parts(path)
    except (FormFault, FileFault):
        raise
    # Half a character that stands for no byte, an expression that is nested too deeply for Python.
    except (ValueError, RecursionError, MemoryError) as error:
        raise FormFault(f"Python cannot read it: {str(error) or type(error).__name__}") from error


def _read_parts(path: Path) -> Parts:
    text = read_file(path)
    form = form_of(text.decode("utf-8", "replace"))
    sources = {name: _source(path.parent, name) for name in (form.file, *form.others)}
    spec = _spec(path, form)
    offers = {name: _by_name(name, content) for name, content in sources.items()}
    contents = {path.name: text, **sources}
    contents |= beside(path.parent, contents.values())
    line = line_of(text.decode("utf-8", "replace"), "CALL")
    entries: dict[str, Entry] = {}
    names: dict[str, tuple[str, ...]] = {}
    implementations: list[Implementation] = []
    others = [name for name in contents if name != path.name and name not in sources]
    for written in form.calls:
        elsewhere, call = split_call(written)
        file = elsewhere or form.file
        source = path.parent / file
        offer = offers[file].get(called(call))
        if offer is None:
            raise FormFault(
                f"{file} has no function {called(call)!r}; it has {', '.join(offers[file]) or 'none'}"
            )
        name = f"{Path(file).stem}_{offer.name}" if elsewhere else offer.name
        variant = re.sub(r"\W", "_", name).lower().strip("_") or "run"
        provider = offer.kind.provider
        stem = f"{provider}_{variant}"
        if stem in entries:
            raise FormFault(f"it calls {offer.name} twice; a call stands for one version")
        entries[stem] = Entry(
            str(source), call, offer, str(path), line, spec.inputs, spec.outputs,
            form.grid, form.block, form.shared_bytes, _made_by(source, path.parent, form, offer),
        )  # fmt: skip
        names[stem] = (file, *others)
        digest = _digest(
            stem, call, form.grid, form.block, form.shared_bytes, *map(contents.get, names[stem])
        )
        declared = spec_domain(form, spec), _parameters(file, sources[file])
        implementations.append(Implementation(spec.name, provider, variant, digest, *declared))
    reference_line = line_of(text.decode("utf-8", "replace"), "REFERENCE")
    judging = reference_entry(path, form, spec.inputs, spec.outputs, reference_line)
    if judging.offer:
        other = form.reference.strip().rpartition(":")[0]
        file = Path(judging.file)
        needed = {other: read_file(file)}
        for name, found in beside(file.parent, [*needed.values()]).items():
            needed.setdefault(str(Path(other).parent / name), found)
        contents = {**needed, **contents}
        shown = tuple(needed)
    else:
        shown = (path.name,)
    judge = _digest(form.reference, *(contents[name] for name in shown if judging.offer))
    # The reference takes all sizes, but where work was derived as numbers nobody knows it at others.
    domain = spec_domain(form, spec) if form.is_fixed else ""
    eager = (Implementation(spec.name, Provider.EAGER, "", judge, domain),)
    modes = tuple(Implementation(spec.name, Provider.COMPILE, mode, judge, domain) for mode in _MODES)
    for one in (*eager, *modes):
        entries[one.stem], names[one.stem] = judging, shown
    entries[REFERENCE] = judging
    files = KernelFiles(path.parent, contents, {})
    warning = _OLD if form.is_old else _STALE if form.is_stale else _unnamed_text(contents)
    return Parts(spec, (*eager, *modes, *implementations), entries, files, names, judge, warning)


def _source(folder: Path, name: str) -> bytes:
    if problem := _name_fault(name):
        raise FormFault(problem)
    try:
        return read_file(folder / name)
    except FileFault as error:
        raise FormFault(f"its file {name} cannot be read: {error}") from error


def _by_name(name: str, content: bytes) -> dict[str, Offer]:
    return {offer.name: offer for offer in offers_of(name, content.decode("utf-8", "replace"))}


def _parameters(name: str, content: bytes) -> tuple[Parameter, ...]:
    """What the user's file declares. Raises FormFault."""
    try:
        return read_parameters(name, content.decode("utf-8", "replace"))
    except ParameterError as error:
        raise FormFault(f"of {name}, {error}") from error


def _unnamed_text(contents: Mapping[str, bytes]) -> str:
    """That code will run of which its text does not say where it lies, as a clause; "" for what names all."""
    for name, content in contents.items():
        if not name.endswith(".py") or name.endswith(ENDING):
            continue
        try:
            lines = unnamed_builds(ast.parse(content))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if lines:
            return (
                f"line {lines[0]} of {printable(name)} builds or loads code of files that no literal names; "
                "they were not shown, and an edit of them is not noticed"
            )
    return ""


def offers_of(name: str, source: str) -> tuple[Offer, ...]:
    """What a file offers. Raises FormFault where it cannot be read."""
    if not name.endswith(".py"):
        return cpp_offers(source)
    try:
        return python_offers(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = str(error) or "it is nested too deeply"
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else where
        raise FormFault(f"Python cannot read {name}: {where}") from error


def called(call: str) -> str:
    """The function that a call is of: ``softmax`` of ``softmax(x, 3)``."""
    return call.partition("(")[0].strip()


def kernel_name(path: Path) -> str:
    """Such as ``add.py`` of ``add.roofscope.py``: no kernel of the library is hidden by a user's file."""
    stem = path.name.removesuffix(ENDING)
    return stem if Path(stem).suffix in SOURCES else f"{stem}.py"


def spec_domain(form: Form, spec: KernelSpec) -> str:
    try:
        return checked_domain(form.domain, spec) if form.domain else ""
    except DomainError as error:
        raise FormFault(str(error)) from error


def _spec(path: Path, form: Form) -> KernelSpec:
    tolerance = {**TOLERANCES, **form.tolerance}
    inputs = tuple(tensor_of(*one) for one in form.inputs.items())
    outputs = tuple(tensor_of(*one) for one in form.outputs.items())
    if not form.calls or not inputs or not outputs:
        raise FormFault("it needs a CALL, INPUTS and OUTPUTS")
    spec = KernelSpec(
        name=kernel_name(path),
        title=form.file,
        formula=form.reference,
        axes=tuple(Axis(name, name, minimum=1) for name in form.sizes),
        inputs=inputs,
        outputs=outputs,
        work=WorkFormula(form.flops, form.reads, form.writes, "" if form.is_stale else form.derived),
        tolerance=Tolerance(*(tolerance[dtype] for dtype in Dtype)),
        presets=(Preset(PRESET, form.sizes),),
        odd_sizes=form.odd_sizes,
        large_magnitude=form.magnitude,
        pipe=form.pipe,
        multiplies=form.multiplies,
        dtypes=form.dtypes,
    )
    if fault := spec_error(spec):
        raise FormFault(fault)
    return spec


def reference_entry(
    path: Path, form: Form, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...], line: int
) -> Entry:
    """How the reference is called. Raises FormFault."""
    match = BY_FILE.fullmatch(form.reference.strip())
    common = (str(path), line, inputs, outputs)
    if match is None:
        return Entry(str(path), form.reference, None, *common)
    file = path.parent / match[1]
    try:
        offers = offers_of(file.name, read_file(file).decode("utf-8", "replace"))
    except FileFault as error:
        raise FormFault(f"its reference {match[1]} cannot be read: {error}") from error
    offer = next((one for one in offers if one.name == match[2]), None)
    if offer is None:
        raise FormFault(f"its reference {match[1]} has no function {match[2]!r}")
    call = f"{match[2]}({', '.join(form.inputs)})"
    made_by = _made_by(file, path.parent, form, offer)
    return Entry(str(file), call, offer, *common, made_by=made_by)


def _made_by(file: Path, folder: Path, form: Form, offer: Offer) -> str:
    """The file whose ``get_init_inputs`` a class is made of: its own, or else the reference's."""
    if not offer.is_class:
        return ""
    paths = [file]
    if match := BY_FILE.fullmatch(form.reference.strip()):
        paths.append(folder / match[1])
    for one in paths:
        try:
            if defines(read_file(one).decode("utf-8", "replace"), "get_init_inputs"):
                return str(one)
        except FileFault:
            pass  # what cannot be read is refused when it is loaded
    return ""


def _name_fault(name: str) -> str:
    if Path(name).name != name or name.startswith("."):
        return f"it names {name!r}; FILE must be the name of a file beside the form"
    return "" if Path(name).suffix in SOURCES else f"FILE is {name!r}; known are {', '.join(SOURCES)}"


def _digest(*parts: str | bytes | None) -> str:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part or b""
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def survey_form(form: Path) -> Survey:
    """Look at all that would run by a form. Raises FormFault and FileFault."""
    said = read_form(form)
    return survey_file(form, files_of_form(form, said))


class Running(NamedTuple):
    files: tuple[Path, ...]
    folders: frozenset[Path]  # that were looked into


def files_of_form(path: Path, form: Form) -> list[Path]:
    """All that runs by a form. Raises FormFault where that is too much."""
    return [*look_for_running(path.parent / form.file, form.reference, form.others).files]


def running_files(source: Path, reference: str) -> list[Path]:
    """The files that run with a user's file: those beside it that it needs, and the reference's.

    Raises FormFault where there are too many.
    """
    return [*look_for_running(source, reference).files]


def look_for_running(source: Path, reference: str, others: Iterable[str] = ()) -> Running:
    """``others``: names of files beside it that run as well. Raises FormFault."""
    found: list[Path] = []
    folders: set[Path] = set()
    match = BY_FILE.fullmatch(reference.strip())
    paths = [source, *(source.parent / name for name in others)]
    paths += [source.parent / match[1]] if match else []
    for path in paths:
        folders.add(path.parent)
        try:
            content = read_file(path)
        except FileFault:
            continue  # what cannot be read is refused when it is read
        needed = look_beside(path.parent, [content])
        found += [path, *(path.parent / name for name in needed.contents)]
        folders |= needed.folders
    return Running(tuple(dict.fromkeys(found)), frozenset(folders))

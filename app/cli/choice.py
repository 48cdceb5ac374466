"""From words of the command line to jobs; every mistake is one sentence."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import TypeVar

import msgspec
import typer

from roofscope.app.cli.errors import refuse, unknown
from roofscope.app.cli.output import say
from roofscope.app.cli.targets import check_session_target
from roofscope.app.cli.trusting import require_folder, trusted_folder
from roofscope.app.presentation.words import parse_dtype, parse_size_list, parse_sizes
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.discovery import default_device
from roofscope.profiling.paths import LIBRARY, UserPaths, new_session_path
from roofscope.profiling.planning.catalog import Catalog, Kernel, scan
from roofscope.profiling.planning.kernel_files import FileFault, is_text, kernel_folders, printable
from roofscope.profiling.planning.plan import SWEEP, Job, PlanError, Quality, Regime, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Distribution, Dtype, Provider

Choice = TypeVar("Choice", bound=StrEnum)


def choose_session(out: Path | None) -> Path:
    """The session file to write; one of the program's own if none is named.

    Only under its own suffix: the picture of ``a.svg`` would be written over the session.
    """
    if out is None:
        return new_session_path(UserPaths.of_user().sessions)
    check_session_target(out)
    return out


def choose_labels(words: Iterable[str]) -> dict[str, str]:
    """From words such as ``commit=3f2a``."""
    labels: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals):
            refuse(f"The label {word!r} is no key=value; write it like commit=3f2a.")
        if key in labels:
            refuse(f"The label {key!r} is given twice; a session has one value for it.")
        labels[key] = value
    return labels


def choose_kernels(catalog: Catalog, names: Sequence[str]) -> list[Kernel]:
    """Kernels by name; all of them for ``all`` or no name."""
    found: list[Kernel] = []
    for name in dict.fromkeys(names):
        if name == "all":
            continue
        kernel = catalog.kernel(name)
        if kernel is None:
            if any(Path(problem.path).name == name for problem in catalog.problems):
                refuse(f"{name} was left out, as said above; mend that first.")
            unknown("kernel", name, [kernel.spec.name for kernel in catalog.kernels])
        found.append(kernel)
    return list(catalog.kernels) if not names or "all" in names else found


def choose_versions(
    catalog: Catalog, names: Sequence[str], stems: Sequence[str]
) -> tuple[list[Kernel], list[str]]:
    """Kernels and stems from words such as ``softmax`` or ``softmax/triton_online``.

    A kernel that is named with versions keeps these only.
    """
    parted = [name.partition("/") for name in names]
    for name, (kernel, _, stem) in zip(names, parted, strict=True):
        if not kernel or "/" in stem:
            refuse(
                f"{printable(name)!r} names no file of a kind that can be run (.py, .cu), and no kernel "
                "such as softmax or softmax/triton_online."
            )
    kernels = choose_kernels(catalog, [name for name, _, _ in parted])
    named: dict[str, list[str]] = {}
    for name, slash, stem in parted:
        if slash:
            named.setdefault(name, []).append(stem)
    if not named:
        return kernels, list(stems)
    if stems or len(named) < len(kernels):
        refuse("Name versions behind each kernel, as in softmax/triton_online, or by --implementation.")
    narrowed: list[Kernel] = []
    for kernel in kernels:
        wanted = named[kernel.spec.name]
        for stem in wanted:
            if kernel.implementation(stem) is None:
                unknown(
                    f"version of {kernel.spec.name}", stem, [found.stem for found in kernel.implementations]
                )
        kept = tuple(found for found in kernel.implementations if found.stem in wanted)
        narrowed.append(msgspec.structs.replace(kernel, implementations=kept))
    return narrowed, [stem for wanted in named.values() for stem in wanted]


def choose_folders(folders: Sequence[Path], *, is_trusted: bool = False) -> list[Path]:
    """The user's folders of kernels, or folders of one kernel, as they are known to the worker.

    Only those that are the user's own or trusted: with ``is_trusted`` they are from now on.
    """
    for folder in folders:
        name = printable(folder)
        require_folder(folder, "--kernels takes a folder of kernels")
        if not is_text(folder.resolve()):
            refuse(f"{name} has a name that is not UTF-8, which a session cannot hold; rename it.")
        try:
            found = kernel_folders(folder)
        except FileFault as error:
            refuse(f"{name} cannot be read: {error}.")
        if not found:
            refuse(f"{name} holds no kernel; a kernel is a folder with a spec.py, as under kernels/.")
    return [trusted_folder(folder, is_trusted=is_trusted) for folder in folders]


def scan_kernels(folders: Sequence[Path] = ()) -> Catalog:
    """Our kernels and the user's; what was left out is said on stderr."""
    catalog = scan([LIBRARY, *folders])
    for problem in catalog.problems:
        say(problem.message, err=True, colour=typer.colors.YELLOW)
    return catalog


def choose_device(devices: tuple[Device, ...], name: str | None, default: Device) -> Device:
    """A device by torch's name for it; ``cuda`` means ``cuda:0``."""
    if name is None:
        return default
    wanted = "cuda:0" if name == "cuda" else name
    found = next((device for device in devices if device.id == wanted), None)
    if found is None:
        here = ", ".join(device.id for device in devices)
        refuse(f"There is no device {name!r}; there {'is' if len(devices) == 1 else 'are'} {here}.")
    return found


def choose_devices(devices: tuple[Device, ...], names: str | None) -> tuple[Device, ...]:
    """One or several, by ``cuda:0,cuda:2``, or ``all`` for every GPU; the default where none is named."""
    default = default_device(devices)
    if names == "all":
        return tuple(device for device in devices if device.kind is default.kind)
    words = [word.strip() for word in (default.id if names is None else names).split(",")]
    chosen = tuple(dict.fromkeys(choose_device(devices, word, default) for word in words))
    if len({device.kind for device in chosen}) > 1:
        refuse("The CPU and GPUs cannot share a plan: its sizes and versions suit one kind; run it on each.")
    return chosen


def file_of_each(devices: Sequence[Device], path: Path) -> dict[Device, Path]:
    """Where what is written of each device goes: of several each into a file of its own (``a-cuda0.svg``)."""
    if len(devices) == 1:
        return {devices[0]: path}
    return {device: path.with_stem(f"{path.stem}-{device.id.replace(':', '')}") for device in devices}


def choose_sizes(words: Iterable[str], presets: Sequence[str], device: Device) -> list[SizeChoice]:
    """Presets, or the sizes of the options laid over the one preset."""
    names = list(dict.fromkeys(presets)) or ["large" if device.kind is DeviceKind.CUDA else "medium"]
    by_default = not presets
    if choices := size_choices(words):
        return [SizeChoice(_base_of(names), sizes, by_default) for sizes in choices]
    return [SizeChoice(name, or_any=by_default) for name in names]


def size_choices(options: Iterable[str]) -> list[dict[str, int]]:
    """The workloads that ``--size`` options ask for, in the order written.

    Options that name the same axes are alternatives, as the lists within one option are (``n=1024; n=2048``).
    Options that name different axes are combined, each with each.
    """
    alternatives: dict[frozenset[str], list[dict[str, int]]] = {}
    for option in options:
        lists = _lists_of(option)
        axes = frozenset(axis for sizes in lists for axis in sizes)
        for others in alternatives:
            if (shared := axes & others) and axes != others:
                refuse(
                    f"--size names {' and '.join(sorted(shared))} alone and beside other axes; write each "
                    "workload out, as in --size 'rows=4,cols=8; rows=16,cols=8'."
                )
        alternatives.setdefault(axes, []).extend(lists)
    if not alternatives:
        return []
    combined = [
        {axis: size for sizes in choice for axis, size in sizes.items()}
        for choice in product(*alternatives.values())
    ]
    return [sizes for number, sizes in enumerate(combined) if sizes not in combined[:number]]


def sizes_of(options: Iterable[str]) -> dict[str, int]:
    """The sizes of one workload, or of none."""
    choices = size_choices(options)
    if len(choices) > 1:
        refuse(f"--size names {len(choices)} workloads; name one.")
    return choices[0] if choices else {}


def _lists_of(option: str) -> tuple[dict[str, int], ...]:
    try:
        return parse_sizes(option) or parse_size_list(option)  # which says what is wrong with it
    except PlanError as error:
        refuse(str(error))


def _base_of(presets: Sequence[str]) -> str:
    """The preset that sizes are laid over: what would be dropped is refused."""
    if len(presets) > 1:
        refuse(
            f"--size goes over one preset, not over {' and '.join(presets)}; give one of them, or no size."
        )
    if presets[0] == SWEEP:
        refuse(f"--preset {SWEEP} brings its own sizes; leave it out or leave --size out.")
    return presets[0]


def one_of(kind: type[Choice], what: str) -> Callable[[str], Choice]:
    """For an option that takes a member by its value."""

    def parse(word: str) -> Choice:
        found = next((member for member in kind if word in (member, hyphenated(member))), None)
        return found or unknown(what, word, map(hyphenated, kind))

    return parse


def hyphenated(name: str) -> str:
    """A name of several words as one word, which needs no quotes: ``known-duration``."""
    return name.replace(" ", "-")


def dtype_of(word: str) -> Dtype:
    """For an option; what typer says of it names the option."""
    dtype = parse_dtype(word)
    if dtype is None:
        known = ", ".join(f"{dtype} ({dtype.label})" for dtype in Dtype)
        raise typer.BadParameter(f"there is no element type {word!r}; choose from {known}.")
    return dtype


def make_jobs(
    kernels: Sequence[Kernel],
    device: Device,
    *,
    providers: Sequence[Provider],
    implementations: Sequence[str],
    all_modes: bool,
    dtypes: Sequence[Dtype],
    sizes: Sequence[SizeChoice],
    quality: Quality,
    regime: Regime,
    fill: Distribution = Distribution.UNIFORM,
    keeps_code: bool = False,
    architecture: str = "",
) -> tuple[Job, ...]:
    """The plan, or a refusal."""
    stems = {found.stem for kernel in kernels for found in kernel.implementations}
    for stem in implementations:
        if stem not in stems:
            unknown("implementation", stem, sorted(stems))
    try:
        return plan_jobs(
            kernels,
            device=device.id,
            dtypes=tuple(dict.fromkeys(dtypes)),
            size_choices=sizes,
            providers=providers,
            stems=implementations,
            all_modes=all_modes,
            quality=quality,
            regime=regime,
            fill=fill,
            keeps_code=keeps_code,
            architecture=architecture,
        )
    except PlanError as error:
        refuse(str(error))

"""From words of the command line to jobs; every mistake is one sentence."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import typer

from roofscope.app.cli.errors import refuse, unknown
from roofscope.app.presentation.words import DTYPE_TEXTS, parse_dtype, parse_size_list
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.paths import SUFFIX, UserPaths, new_session_path
from roofscope.profiling.planning.catalog import Catalog, Kernel, spec_paths
from roofscope.profiling.planning.plan import SWEEP, Job, PlanError, Quality, Regime, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider

Choice = TypeVar("Choice", bound=StrEnum)


def choose_session(out: Path | None) -> Path:
    """The session file to write; one of the program's own if none is named.

    Only under its own suffix: the picture of ``a.svg`` would be written over the session.
    """
    if out is None:
        return new_session_path(UserPaths.of_user().sessions)
    if out.suffix != SUFFIX:
        refuse(f"{out} does not end in {SUFFIX}; name a session file, such as {out.stem or 'a'}{SUFFIX}.")
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


def choose_libraries(folders: Sequence[Path]) -> list[Path]:
    """The user's folders of kernels, or folders of one kernel, as they are known to the worker."""
    for folder in folders:
        if not folder.is_dir():
            refuse(f"There is no folder {folder}; --library takes a folder of kernels.")
        if not spec_paths(folder):
            refuse(f"{folder} holds no kernel; a kernel is a folder with a spec.py, as under kernels/.")
    return [folder.resolve() for folder in folders]


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


def choose_sizes(words: Iterable[str], presets: Sequence[str], device: Device) -> list[SizeChoice]:
    """Presets, or ``axis=number`` words laid over the one preset."""
    names = list(dict.fromkeys(presets)) or ["large" if device.kind is DeviceKind.CUDA else "medium"]
    by_default = not presets
    if sizes := sizes_of(words):
        return [SizeChoice(_base_of(names), sizes, by_default)]
    return [SizeChoice(name, or_any=by_default) for name in names]


def sizes_of(words: Iterable[str]) -> dict[str, int]:
    """By axis, from words such as ``rows=4096``."""
    sizes: dict[str, int] = {}
    for word in words:
        try:
            sizes |= parse_size_list(word)
        except PlanError as error:
            refuse(str(error))
    return sizes


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
        if word not in list(kind):
            unknown(what, word, map(str, kind))
        return kind(word)

    return parse


def dtype_of(word: str) -> Dtype:
    """For an option; what typer says of it names the option."""
    dtype = parse_dtype(word)
    if dtype is None:
        known = ", ".join(f"{dtype} ({DTYPE_TEXTS[dtype]})" for dtype in Dtype)
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
        )
    except PlanError as error:
        refuse(str(error))

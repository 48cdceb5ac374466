"""What ``run`` is asked for, and the plan that follows, also where it goes on with each save."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from roofscope.app.cli.choice import choose_devices, choose_sizes, choose_versions, make_jobs
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.own_file import FileOptions, OwnFile, is_file_word
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.grid import parse_settings, with_settings
from roofscope.profiling.planning.plan import Job, PlanError, Quality, Regime
from roofscope.profiling.planning.spec import Distribution, Dtype, Provider
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.architecture import (
    DEFAULT_ARCHITECTURE,
    UnknownArchitecture,
    architecture_named,
)


class RunOptions(Struct, frozen=True):
    """What the user asks for, as it was written."""

    kernels: Sequence[str] = ()
    providers: Sequence[Provider] = ()
    implementations: Sequence[str] = ()
    all_modes: bool = False
    dtypes: Sequence[Dtype] = ()
    sizes: Sequence[str] = ()
    presets: Sequence[str] = ()
    device: str | None = None
    quality: Quality = Quality.QUICK
    regime: Regime = Regime.BURST
    fill: Distribution = Distribution.UNIFORM
    fresh_ceilings: bool = False
    folders: Sequence[Path] = ()
    trust: bool = False
    labels: Sequence[str] = ()
    out: Path | None = None
    append: bool = False
    svg: bool = False
    plot: Path | None = None
    table: bool = False
    strict: bool = False
    as_json: bool = False
    patience: float = 1.0
    retry_paused: bool = False
    shared_gpu: bool = False
    keep_code: bool = False
    file: FileOptions = FileOptions()
    watch: bool = False
    settings: Sequence[str] = ()
    debug: bool = False
    interpret: bool = False
    architecture: str | None = None
    trace: bool = False


class Plan(NamedTuple):
    """The kernels and versions that were named, and the jobs that measure them."""

    kernels: list[Kernel]
    stems: list[str]
    jobs: tuple[Job, ...]


def choose_plan(options: RunOptions, catalog: Catalog, own: Sequence[OwnFile], device: Device) -> Plan:
    """The plan on a device, of the catalog's kernels and the user's own files; or a refusal."""
    names = [word for word in options.kernels if not is_file_word(word)] + [file.kernel for file in own]
    kernels, stems = choose_versions(catalog, names, options.implementations)
    jobs = make_jobs(
        kernels,
        device,
        providers=options.providers,
        implementations=stems,
        all_modes=options.all_modes,
        dtypes=options.dtypes,
        sizes=choose_sizes(options.sizes, options.presets, device),
        quality=options.quality,
        regime=options.regime,
        fill=options.fill,
        keeps_code=options.keep_code,
        architecture=choose_architecture(options),
    )
    try:
        jobs = with_settings(jobs, parse_settings(options.settings))
    except PlanError as error:
        refuse(str(error))
    return Plan(kernels, stems, jobs)


def choose_run_devices(options: RunOptions) -> tuple[Device, ...]:
    """Those named, or the default; the CPU where nothing is to run on a GPU."""
    devices = local_devices()
    if not options.interpret:
        return choose_devices(devices, options.device)
    chosen = choose_devices(devices, options.device or "cpu")
    if any(device.kind is not DeviceKind.CPU for device in chosen):
        refuse("--interpret runs on the CPU; leave --device out, or leave --interpret out to measure.")
    return chosen


def choose_architecture(options: RunOptions) -> str:
    """For which code is compiled without a GPU; "" where everything is timed on the device at hand."""
    if not options.interpret:
        if options.architecture:
            refuse("--arch says what to compile for without a GPU; give --interpret as well.")
        return ""
    try:
        return architecture_named(options.architecture or DEFAULT_ARCHITECTURE)
    except UnknownArchitecture as error:
        refuse(f"--arch: {error}")


def know_origins(judged: Session) -> None:
    """What the file knows when a device's first point comes: its worker's environment, ceilings of before.

    New ceilings are measured after all points. Raises SessionError.
    """
    known = load(judged.path)
    judged.origins = known.origins
    judged.ceilings, judged.ceiling_origins = known.ceilings, known.ceiling_origins

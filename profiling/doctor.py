"""What is available on this machine, what is missing, and the exact fix. Imports neither torch nor Qt."""

import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes.util import find_library
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.devices import host
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.paths import cache_folder as user_cache_folder
from roofscope.profiling.planning.catalog import CatalogProblem, scan
from roofscope.profiling.providers import Provider

Version = tuple[int, int]

OLDEST_PYTHON: Version = (3, 11)
_PEERS = ("liger-kernel", "quack-kernels", "flash-attn-4", "cuda-cccl")  # of the extra `peers`
LEAST_FREE_BYTES = 2 * 10**9  # inductor and Triton keep what they build


class CheckState(StrEnum):
    OK = "ok"
    WARNING = "warning"  # works, with a caveat
    MISSING = "missing"  # something the program can do is not available


class Part(StrEnum):
    """What a script may require to be here."""

    WINDOW = "window"
    SCREEN = "screen"
    GPU = "gpu"
    TORCH = "torch"
    TRITON = "triton"
    CUDA = "cuda"  # cuda-core and NVRTC
    NVCC = "nvcc"  # and ninja
    CXX = "c++"  # for torch.compile on the CPU


class Check(Struct, frozen=True):
    """One thing looked at. ``fix`` is a command or a sentence, empty when all is well."""

    name: str
    state: CheckState
    finding: str
    fix: str = ""
    gives: Part | None = None  # what is here by this finding


def examine(kernel_roots: Sequence[Path] = (LIBRARY,), cache_folder: Path | None = None) -> tuple[Check, ...]:
    """Look at everything, most basic first. Takes a few tens of milliseconds."""
    python = sys.version_info[:2]
    gpu_checks, driver_cuda, has_gpu = _examine_gpus()
    return (
        check_python(python),
        check_window(host.package_version("pyside6-essentials"), python),
        check_screen(host.screen(sys.platform, os.environ)),
        *gpu_checks,
        check_torch(host.package_version("torch"), torch_cuda_version(), driver_cuda),
        check_triton(host.package_version("triton"), sys.platform),
        check_cuda_cpp(host.package_version("cuda-core"), nvrtc()),
        check_extensions(host.cuda_toolkit(), host.ninja()),
        check_peers({package: host.package_version(package) for package in _PEERS}),
        *check_optional_providers(host.package_version),
        *check_compilers(host.c_compiler(), host.cxx_compiler(), host.python_header(), has_gpu=has_gpu),
        check_disk(cache_folder or user_cache_folder("ceilings")),
        *check_kernels(scan(kernel_roots).problems),
    )


def check_python(version: Version) -> Check:
    found = f"Python {_dotted(version)}"
    if version >= OLDEST_PYTHON:
        return Check("Python", CheckState.OK, found)
    return Check(
        "Python",
        CheckState.MISSING,
        f"{found}; Roofscope needs {_dotted(OLDEST_PYTHON)} or later.",
        "uv sync --python 3.12",
    )


def check_window(pyside: str | None, python: Version) -> Check:
    """PySide6 6.12 loses a reference to None at each void call.

    Python 3.12 made None immortal and survives it; Python 3.11 aborts after some thousands of calls.
    """
    name = "Window (PySide6)"
    if pyside is None:
        return Check(
            name,
            CheckState.MISSING,
            "PySide6 is not installed; the command line works.",
            "uv sync --extra window",
        )
    if python < (3, 12) and _version(pyside) >= (6, 12):
        return Check(
            name,
            CheckState.MISSING,
            f"PySide6 {pyside} aborts on Python {_dotted(python)}.",
            'uv pip install "pyside6-essentials<6.12", or use Python 3.12 or later.',
        )
    return Check(name, CheckState.OK, f"PySide6 {pyside}", gives=Part.WINDOW)


def check_screen(screen: str) -> Check:
    if screen:
        return Check("Screen", CheckState.OK, screen, gives=Part.SCREEN)
    return Check(
        "Screen",
        CheckState.WARNING,
        "Neither DISPLAY nor WAYLAND_DISPLAY is set, so no window can open; the command line works.",
        "Log in with a desktop, or use `ssh -X`; else run `roofscope run`.",
    )


def check_gpus(devices: Iterable[Device]) -> Iterator[Check]:
    """One line per GPU, and one for whatever disturbs a measurement on it."""
    for device in devices:
        capability = _dotted(device.compute_capability) if device.compute_capability else "unknown"
        finding = f"{device.name}, compute capability {capability}"
        yield Check(f"GPU {device.id}", CheckState.OK, finding, gives=Part.GPU)
        if device.processes:
            pids = ", ".join(str(process.pid) for process in device.processes)
            yield Check(
                f"GPU {device.id} shared",
                CheckState.WARNING,
                f"Other processes compute on it (pid {pids}); timings will be disturbed.",
                f"End them, or choose another GPU: `ps -fp {pids.replace(', ', ',')}` tells what they are.",
            )
        if device.mig_enabled:
            yield Check(
                f"GPU {device.id} MIG",
                CheckState.WARNING,
                "MIG is enabled: this is a slice of a GPU, and its clocks and power belong to the whole.",
                "Measure on a whole GPU where you can; `nvidia-smi -mig 0` as administrator turns MIG off.",
            )


def check_visible(setting: str | None, present: int, visible: int) -> Check | None:
    """What CUDA_VISIBLE_DEVICES does, if it is set."""
    if setting is None:
        return None
    name, finding = "CUDA_VISIBLE_DEVICES", f"{setting!r} shows {visible} of {present} GPUs."
    if visible or not present:
        return Check(name, CheckState.OK, finding)
    return Check(name, CheckState.MISSING, finding, "unset CUDA_VISIBLE_DEVICES")


def check_torch(version: str | None, cuda: str | None, driver_cuda: Version | None) -> Check:
    """``cuda`` is what torch was built for, None for a CPU build; ``driver_cuda`` the driver's newest."""
    if version is None:
        return Check(
            "torch", CheckState.MISSING, "torch is not installed; nothing can be measured.", "uv sync"
        )
    if cuda is None:
        state = CheckState.MISSING if driver_cuda else CheckState.OK
        fix = "uv sync --reinstall-package torch" if driver_cuda else ""
        gives = None if driver_cuda else Part.TORCH
        return Check("torch", state, f"torch {version}, built for the CPU only", fix, gives)
    if driver_cuda and driver_cuda[0] < _version(cuda)[0]:
        return Check(
            "torch",
            CheckState.MISSING,
            f"torch {version} is built for CUDA {cuda}; the driver runs up to CUDA {_dotted(driver_cuda)}.",
            "Update the NVIDIA driver, or install a torch built for the driver's CUDA.",
        )
    return Check("torch", CheckState.OK, f"torch {version}, built for CUDA {cuda}", gives=Part.TORCH)


def check_without_gpu(triton: str | None, nvrtc_found: object) -> Check:
    """What can be learned of GPU code here all the same."""
    compiled = " and ".join(name for name, here in (("Triton", triton), ("CUDA", nvrtc_found)) if here)
    if not compiled:
        finding = "Neither Triton nor NVRTC is here, so GPU code can be neither verified nor compiled."
        return Check("Without a GPU", CheckState.MISSING, finding, "uv sync")
    verifies = "verifies Triton in its interpreter and " if triton else ""
    finding = f"`roofscope run KERNEL --interpret` {verifies}compiles {compiled} for a GPU that is not here."
    return Check("Without a GPU", CheckState.OK, finding)


def check_triton(version: str | None, platform: str) -> Check:
    if version:
        return Check("Triton", CheckState.OK, f"Triton {version}", gives=Part.TRITON)
    fix = "uv sync" if platform == "linux" else "Triton exists for Linux only; run Roofscope there."
    return Check("Triton", CheckState.MISSING, "Triton is not installed; its kernels are left out.", fix)


def check_cuda_cpp(cuda_core: str | None, nvrtc_found: str | None) -> Check:
    name = "CUDA C++ (cuda-core, NVRTC)"
    if cuda_core is None:
        return Check(name, CheckState.MISSING, "cuda-core is not installed; CUDA C++ is left out.", "uv sync")
    if nvrtc_found is None:
        return Check(
            name,
            CheckState.MISSING,
            f"cuda-core {cuda_core} is here, but no NVRTC to compile with.",
            "uv pip install nvidia-cuda-nvrtc",
        )
    return Check(name, CheckState.OK, f"cuda-core {cuda_core}, {nvrtc_found}", gives=Part.CUDA)


def check_extensions(toolkit: Path | None, ninja: str | None) -> Check:
    """Only sources written as extensions of PyTorch need it: its absence is no fault."""
    name = "CUDA extensions (nvcc, ninja)"
    if toolkit and ninja:
        return Check(name, CheckState.OK, f"{toolkit}, {ninja}", gives=Part.NVCC)
    fix = "`uv pip install ninja`" if toolkit else "the CUDA toolkit, or CUDA_HOME if it is elsewhere,"
    return Check(
        name, CheckState.OK, f"left out, and only `cuda_ext` implementations need them: {fix} brings them"
    )


def check_peers(versions: Mapping[str, str | None]) -> Check:
    """None of our kernels needs one, so the absence of any is no fault."""
    name = "Libraries to compare with"
    here = [f"{package} {version}" for package, version in versions.items() if version]
    absent = [package for package, version in versions.items() if not version]
    if not absent:
        return Check(name, CheckState.OK, ", ".join(here))
    without = f"no {', '.join(absent)}, which only comparisons need: `uv sync --extra peers` brings them"
    return Check(name, CheckState.OK, "; ".join([*([", ".join(here)] if here else []), without]))


def check_optional_providers(version: Callable[[str], str | None]) -> Iterator[Check]:
    """One line for each package that only implementations of one provider need."""
    for provider in Provider:
        for package in provider.facts.packages:
            if package.is_optional:
                fix = f"`uv sync --extra {package.extra}` adds it"
                missing = f"not installed, and only `{provider}` implementations need it: {fix}"
                found = version(package.distribution)
                yield Check(package.name, CheckState.OK, f"{package.name} {found}" if found else missing)


def check_compilers(c: str | None, cxx: str | None, header: Path | None, *, has_gpu: bool) -> Iterator[Check]:
    """Triton builds its launchers with a C compiler, torch.compile its CPU kernels with a C++ one."""
    if has_gpu or c:
        yield _tool("C compiler (Triton)", c, "apt install gcc, or set CC.")
    yield _tool("C++ compiler (torch.compile)", cxx, "apt install g++, or set CXX.", Part.CXX)
    python = _dotted(sys.version_info[:2])
    fix = f"apt install python{python}-dev, or let uv bring Python: `uv sync --managed-python`."
    yield _tool("Python.h (Triton, torch.compile)", str(header) if header else None, fix)


def check_disk(folder: Path) -> Check:
    """Room where ceilings and compiled kernels are kept. The folder need not exist yet."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if not os.access(existing, os.W_OK):
        fix = "Make it writable, or set XDG_CACHE_HOME to a folder that is."
        return Check("Cache", CheckState.WARNING, f"{existing} cannot be written.", fix)
    if free < LEAST_FREE_BYTES:
        finding = f"Only {free / 1e9:.1f} GB free in {existing}; compiled kernels need about 2 GB."
        return Check("Cache", CheckState.WARNING, finding, "Free some space, or set XDG_CACHE_HOME.")
    return Check("Cache", CheckState.OK, f"{free / 1e9:.0f} GB free in {existing}")


def check_kernels(problems: Sequence[CatalogProblem]) -> Iterator[Check]:
    for problem in problems:
        yield Check("Kernel library", CheckState.WARNING, problem.message, f"Mend or remove {problem.path}.")
    if not problems:
        yield Check("Kernel library", CheckState.OK, "all kernels load")


def torch_cuda_version() -> str | None:
    """CUDA version torch was built for, read from its files because importing it takes seconds."""
    try:
        path = importlib.metadata.distribution("torch").locate_file("torch/version.py")
        text = Path(str(path)).read_text(encoding="utf-8")
    except (importlib.metadata.PackageNotFoundError, OSError):
        return None
    match = re.search(r"^cuda\b[^=]*=\s*'([\d.]+)'", text, re.MULTILINE)
    return match[1] if match else None


def nvrtc() -> str | None:
    """The NVRTC that cuda-core would load: a wheel's, or the system's."""
    for name in ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu13", "nvidia-cuda-nvrtc-cu12"):
        if version := host.package_version(name):
            return f"NVRTC {version}"
    return find_library("nvrtc")


def _examine_gpus() -> tuple[list[Check], Version | None, bool]:
    """The checks on driver and GPUs, the newest CUDA the driver runs, and whether a GPU may be used."""
    try:
        with NvmlReader() as reader:
            devices, present = reader.devices(), reader.gpu_count
            driver, cuda = reader.driver_version, reader.cuda_version
    except NvmlUnavailable as error:
        fix = "With an NVIDIA GPU, install its driver (580 or later); without one all runs on the CPU."
        checks = [Check("NVIDIA driver", CheckState.MISSING, str(error), fix)]
        return [*checks, check_without_gpu(host.package_version("triton"), nvrtc())], None, False
    finding = f"driver {driver}, CUDA up to {_dotted(cuda) if cuda else 'unknown'}"
    checks = [Check("NVIDIA driver", CheckState.OK, finding), *check_gpus(devices)]
    if not present:
        fix = "Check `nvidia-smi`; in a container, start it with the GPUs."
        checks.append(Check("GPU", CheckState.MISSING, "The driver sees no GPU.", fix))
    if not devices:
        checks.append(check_without_gpu(host.package_version("triton"), nvrtc()))
    if visible := check_visible(os.environ.get("CUDA_VISIBLE_DEVICES"), present, len(devices)):
        checks.append(visible)
    return checks, cuda, bool(devices)


def _tool(name: str, found: str | None, fix: str, gives: Part | None = None) -> Check:
    if found:
        return Check(name, CheckState.OK, found, gives=gives)
    return Check(name, CheckState.MISSING, "not found", fix)


def _version(text: str) -> Version:
    """Major and minor of a version such as ``6.11.3`` or ``13``."""
    major, minor = [*map(int, re.findall(r"\d+", text)), 0, 0][:2]
    return major, minor


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version[:2]))

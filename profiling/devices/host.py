"""Facts of this machine that need neither torch nor a GPU: the CPU, the compilers, the packages."""

import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import socket
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from roofscope import __version__
from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState
from roofscope.profiling.devices.environment import Environment, Package
from roofscope.profiling.providers import packages

CPU_ID = "cpu"
_SCREENS = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
_CPUINFO = Path("/proc/cpuinfo")
_SYSTEM_CPUS = Path("/sys/devices/system/cpu")
_MEMORY_LIMITS = (  # of control groups, version 2 and 1
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_PACKAGES = (
    "torch",
    *(package.distribution for package in packages()),
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "nvidia-cublas",
    "nvidia-cudnn-cu13",
    "liger-kernel",
    "quack-kernels",
    "flash-attn-4",
    "cuda-cccl",
    "flashinfer-python",
    "nvidia-cutlass-dsl",  # torch 2.15 runs its own copy of QuACK where it finds a version that it knows
    "nvidia-ml-py",
    "numpy",
    "msgspec",
    "pyside6-essentials",
    "pyqtgraph",
)


def cpu_device() -> Device:
    """The CPU as this process may use it. Torch runs on it under the id ``cpu``."""
    model = cpu_model()
    identity = hashlib.sha256(f"{model}\n{socket.gethostname()}".encode()).hexdigest()
    return Device(
        id=CPU_ID,
        kind=DeviceKind.CPU,
        name=model,
        uuid=f"cpu-{identity[:16]}",
        core_count=available_core_count(),
        max_clock_hz=_frequency_hz("max"),
        memory_bytes=available_memory_bytes(),
        last_level_cache_bytes=last_level_cache_bytes(),
    )


def screen(platform: str, variables: Mapping[str, str]) -> str:
    """Where Qt would open a window, or was asked to draw without a screen; "" where it cannot."""
    if platform != "linux":
        return "present"
    return next((variables[name] for name in _SCREENS if variables.get(name)), "")


def cpu_state() -> DeviceState:
    """Live state of the CPU; utilisation is measured since the last call (0 on the first)."""
    memory = psutil.virtual_memory()
    return DeviceState(
        clock_hz=_frequency_hz("current"),
        utilization=psutil.cpu_percent(interval=None) / 100,
        memory_used_bytes=memory.total - memory.available,
    )


def cpu_model(cpuinfo: Path = _CPUINFO) -> str:
    """The CPU's name as its maker gives it; the architecture where it gives none (many ARM boards)."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        text = ""
    if match := re.search(r"^model name\s*:\s*(\S.*)$", text, re.MULTILINE):
        return " ".join(match[1].split())
    return platform.processor() or f"{platform.machine()} CPU"


def available_core_count(cpus: Path = _SYSTEM_CPUS) -> int | None:
    """Physical cores among the logical CPUs this process may run on."""
    if not hasattr(os, "sched_getaffinity"):  # macOS, Windows
        return psutil.cpu_count(logical=False)
    allowed = os.sched_getaffinity(0)
    siblings: set[str] = set()
    for cpu in allowed:
        try:
            siblings.add((cpus / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip())
        except OSError:  # topology hidden by a container
            return len(allowed)
    return len(siblings)


def last_level_cache_bytes(cpus: Path = _SYSTEM_CPUS) -> int | None:
    """Size of the last cache level that this process's CPUs share, all instances together."""
    instances: dict[str, int] = {}
    level = 0
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    for folder in (folder for cpu in allowed for folder in (cpus / f"cpu{cpu}" / "cache").glob("index*")):
        try:
            found = int((folder / "level").read_text())
            size = _kibibytes((folder / "size").read_text())
            shared = (folder / "shared_cpu_list").read_text().strip()
        except (OSError, ValueError):  # an entry without a size: no data cache
            continue
        if found > level:
            level, instances = found, {}
        if found == level:
            instances[shared] = size
    return sum(instances.values()) or None


def available_memory_bytes() -> int:
    """Memory this process may use: the machine's, or its control group's limit where that is lower."""
    limits = [psutil.virtual_memory().total]
    for path in _MEMORY_LIMITS:
        try:
            limits.append(int(path.read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return min(limits)


def c_compiler() -> str | None:
    """Path of the C compiler that Triton takes for its launchers: $CC, gcc or clang."""
    return _first_program((os.environ.get("CC"), "gcc", "clang"))


def cxx_compiler() -> str | None:
    """Path of the C++ compiler that torch.compile takes for the CPU: $CXX, g++ or clang++."""
    return _first_program((os.environ.get("CXX"), "g++", "clang++", "c++"))


def cuda_toolkit() -> Path | None:
    """Folder with nvcc and the CUDA headers: $CUDA_HOME, $CUDA_PATH, nvcc's own, /usr/local/cuda."""
    folders = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    if nvcc := shutil.which("nvcc"):
        folders.append(Path(nvcc).resolve().parent.parent)
    for folder in (*folders, Path("/usr/local/cuda")):
        if (folder / "bin" / "nvcc").exists() and (folder / "include" / "cuda_runtime.h").exists():
            return folder
    return None


def ninja() -> str | None:
    """Path of ninja: on the PATH, or the package's of this environment, also where that is not active."""
    return shutil.which("ninja") or shutil.which("ninja", path=sysconfig.get_path("scripts"))


def python_header() -> Path | None:
    """Python.h of this interpreter; launchers and CPU kernels are compiled against it."""
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    return header if header.exists() else None


def package_version(name: str) -> str | None:
    """Version of an installed distribution, which is not imported."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def operating_system() -> str:
    """Such as ``Debian GNU/Linux 12 (bookworm), kernel 6.1.0-18-amd64``."""
    if sys.platform != "linux":
        return platform.platform()
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = "Linux"
    return f"{name}, kernel {platform.release()}"


def environment(devices: Iterable[Device], missing: Iterable[str]) -> Environment:
    """Where outcomes come from: this host with these devices."""
    versions = ((name, package_version(name)) for name in _PACKAGES)
    return Environment(
        host=socket.gethostname(),
        operating_system=operating_system(),
        python=platform.python_version(),
        packages=tuple(Package(name, version) for name, version in versions if version),
        devices=tuple(devices),
        missing=tuple(missing),
        roofscope_version=__version__,
    )


def _first_program(names: Iterable[str | None]) -> str | None:
    return next((path for name in names if name and (path := shutil.which(name))), None)


def _kibibytes(text: str) -> int:
    """Bytes of a sysfs size such as ``32768K``."""
    if not (match := re.fullmatch(r"(\d+)([KMG]?)", text.strip())):
        raise ValueError(f"{text!r} is no size.")
    return int(match[1]) * {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}[match[2]]


def _frequency_hz(which: str) -> float | None:
    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError):  # hidden by the hypervisor or the container
        return None
    return (getattr(frequency, which) or 0) * 1e6 or None if frequency else None

"""The environment as the worker sees it: devices that torch can really use, described by NVML."""

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, cast

import psutil
import torch
from msgspec.structs import replace

from roofscope.profiling.devices import host
from roofscope.profiling.devices.device import Device, DeviceKind, lanes_per_multiprocessor
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable, same_gpu
from roofscope.profiling.roofline.nameplate import nameplate_gap

_SETTLING_PAUSE_S = 0.25
_SETTLING_PAUSES = 8


def read_environment() -> Environment:
    """CUDA devices in torch's order, then the CPU; and one sentence per capability that is missing."""
    missing: list[str] = []
    # NVML before CUDA: every process seen now is another's, whatever its number in this container.
    described, nvml_problem = _read_nvml()
    gpus = list(_cuda_devices(described, missing))
    if gpus and nvml_problem:
        missing.append(nvml_problem)
    devices = [*gpus, host.cpu_device()]
    missing += _missing_tools(has_gpu=bool(gpus))
    missing += filter(None, map(nameplate_gap, devices))
    return replace(host.environment(devices, missing), cuda_version=torch.version.cuda)


class _Properties(Protocol):
    """The fields that are read of torch.cuda.get_device_properties, which has no types."""

    name: str
    uuid: object
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    L2_cache_size: int


def runs_on(compute_capability: tuple[int, int], architectures: Sequence[str]) -> bool:
    """Whether a torch built for these architectures (``sm_80``, ``compute_120``) has code for a GPU.

    Machine code runs on the same major and an equal or higher minor; PTX on anything newer.
    """
    major, minor = compute_capability
    for architecture in architectures:
        kind, _, digits = architecture.rstrip("af").partition("_")
        built = (int(digits[:-1]), int(digits[-1]))
        if built[0] == major and built[1] <= minor:
            return True
        if kind == "compute" and built <= (major, minor):
            return True
    return False


def _read_nvml() -> tuple[tuple[Device, ...], str]:
    """The GPUs, and one sentence where NVML does not answer."""
    try:
        with NvmlReader() as reader:
            return settled(reader.devices), ""
    except NvmlUnavailable as error:
        return (), str(error)


def settled(
    read: Callable[[], tuple[Device, ...]], pause: Callable[[float], None] = time.sleep
) -> tuple[Device, ...]:
    """Read again for two seconds while the driver still lists a process that has ended.

    The worker before this one may have been killed a moment ago: it is not somebody else.
    """
    devices = read()
    for _ in range(_SETTLING_PAUSES):
        if all(psutil.pid_exists(process.pid) for device in devices for process in device.processes):
            break
        pause(_SETTLING_PAUSE_S)
        devices = read()
    return devices


def _cuda_devices(described: Sequence[Device], missing: list[str]) -> Iterator[Device]:
    if torch.version.cuda is None:
        missing.append(
            f"torch {torch.__version__} is built without CUDA, so GPUs cannot be used; "
            "install a CUDA build with `uv sync`."
        )
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0:
        missing.append(_no_cuda_device(described, [str(warning.message) for warning in said]))
    for index in range(count):
        device = _cuda_device(index, described)
        if device.compute_capability and not runs_on(device.compute_capability, torch.cuda.get_arch_list()):
            major, minor = device.compute_capability
            missing.append(
                f"torch {torch.__version__} has no code for {device.name} "
                f"(compute capability {major}.{minor}); install a torch built for it."
            )
        yield device


def _cuda_device(index: int, described: Sequence[Device]) -> Device:
    """NVML's description of the GPU with torch's UUID, completed by what only CUDA knows."""
    properties = cast(_Properties, torch.cuda.get_device_properties(index))  # pyright: ignore[reportUnknownMemberType]
    device = next((device for device in described if same_gpu(device.uuid, properties.uuid)), None)
    if device is None:
        device = Device(
            id="",
            kind=DeviceKind.CUDA,
            name=properties.name,
            uuid=f"GPU-{properties.uuid}",
            memory_bytes=properties.total_memory,
        )
    capability = (properties.major, properties.minor)
    lanes = lanes_per_multiprocessor(capability)
    count = properties.multi_processor_count
    return replace(
        device,
        id=f"cuda:{index}",
        compute_capability=capability,
        multiprocessor_count=count,
        core_count=device.core_count or (count * lanes if lanes else None),
        last_level_cache_bytes=properties.L2_cache_size,
    )


def _no_cuda_device(described: Sequence[Device], warned: Sequence[str]) -> str:
    setting = os.environ.get("CUDA_VISIBLE_DEVICES")
    if setting is not None and not described:
        return (
            f"CUDA_VISIBLE_DEVICES is {setting!r}, which shows no GPU to this program; unset it to use one."
        )
    if not described:
        return "No CUDA device was found here, so everything is measured on the CPU."
    names = ", ".join(device.name for device in described)
    reason = f" ({warned[0].splitlines()[0].strip().rstrip('.')})" if warned else ""
    return (
        f"torch {torch.__version__} cannot use {names} with driver {described[0].driver_version}{reason}; "
        f"update the driver to one for CUDA {torch.version.cuda}, or install a torch for an older CUDA."
    )


def _missing_tools(*, has_gpu: bool) -> Iterator[str]:
    if has_gpu and not host.package_version("triton"):
        yield "Triton is not installed, so Triton and torch.compile are left out; run `uv sync`."
    if has_gpu and not host.package_version("cuda-core"):
        yield "cuda-core is not installed, so CUDA C++ implementations are left out; run `uv sync`."
    if has_gpu and not host.c_compiler():
        yield "No C compiler was found, which Triton needs for its launchers; install gcc or set CC."
    if not host.cxx_compiler():
        yield "No C++ compiler was found, which torch.compile needs for the CPU; install g++ or set CXX."
    if not host.python_header():
        yield f"Python.h was not found, which {_users(has_gpu)} for each build; install python3-dev."


def _users(has_gpu: bool) -> str:
    return "Triton and torch.compile need" if has_gpu else "torch.compile needs"


def free_bytes(device: Device) -> int:
    """Free bytes: of a GPU with what torch holds unused, of a CPU within what the container allows."""
    if device.kind is DeviceKind.CUDA:
        free, _ = torch.cuda.mem_get_info(device.id)
        return free + torch.cuda.memory_reserved(device.id) - torch.cuda.memory_allocated(device.id)
    available = psutil.virtual_memory().available
    return min(available, device.memory_bytes or available)

"""Which CPUs the worker of each of several GPUs gets, so that they do not disturb one another.

One worker compiles while another times: on shared cores, the launches of the second wait for the first.
"""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable

_SYSTEM_CPUS = Path("/sys/devices/system/cpu")
_FEWEST_CORES = 2  # for one that launches and one that compiles; with fewer each, nobody is kept to any


def shares_of(devices: Sequence[Device]) -> list[frozenset[int]]:
    """For each device logical CPUs of its NUMA node that no other has; all empty where there are too few."""
    if not hasattr(os, "sched_getaffinity"):  # macOS, Windows
        return [frozenset() for _ in devices]
    return share([_near(device) for device in devices], frozenset(os.sched_getaffinity(0)), siblings_of)


def keep_to(cpus: frozenset[int]) -> None:
    """Keep this thread, and all that it starts from now on, to these CPUs; to any where there are none."""
    if cpus and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # one was taken away meanwhile: then to those of before
            os.sched_setaffinity(0, cpus)


@contextmanager
def kept_to(cpus: frozenset[int]) -> Generator[None]:
    """The same for what is started inside."""
    before = frozenset(os.sched_getaffinity(0)) if cpus and hasattr(os, "sched_getaffinity") else cpus
    keep_to(cpus)
    try:
        yield
    finally:
        keep_to(before)


def share(
    near: Sequence[frozenset[int]], allowed: frozenset[int], siblings: Callable[[int], frozenset[int]]
) -> list[frozenset[int]]:
    """Whole cores, with both their threads, each to the device nearby that has the fewest."""
    wanted = [own & allowed or allowed for own in near]
    cores = sorted({frozenset(siblings(cpu) & allowed) for cpu in allowed}, key=min)
    given: list[list[frozenset[int]]] = [[] for _ in near]
    for core in cores:
        takers = [index for index, own in enumerate(wanted) if core & own]
        if takers:
            given[min(takers, key=lambda index: len(given[index]))].append(core)
    if any(len(own) < _FEWEST_CORES for own in given):
        return [frozenset() for _ in near]
    return [frozenset[int]().union(*own) for own in given]


def siblings_of(cpu: int, cpus: Path = _SYSTEM_CPUS) -> frozenset[int]:
    """The threads of a CPU's core, itself among them; itself alone where a container hides it."""
    try:
        text = (cpus / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
        return frozenset({cpu, *_numbers(text.strip())})
    except (OSError, ValueError):
        return frozenset({cpu})


def _numbers(text: str) -> list[int]:
    """Of a list such as ``0-3,8``."""
    ranges = (part.partition("-") for part in text.split(",") if part)
    return [cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)]


def _near(device: Device) -> frozenset[int]:
    if device.kind is DeviceKind.CPU:
        return frozenset()
    try:
        with NvmlReader() as reader:
            return reader.near_cpus(device.uuid)
    except NvmlUnavailable:
        return frozenset()

"""Calls of one kernel each, from 2 us to 5 ms, on which the headline is compared with other instruments."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.spec import Dtype, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Call
from roofscope.profiling.worker.ceilings.probes import Probes
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.timing.gpu_clock import GpuClock

_SPINS_S = (5e-6, 20e-6, 100e-6)
_MULTIPLY_ADDS = ((512, "1 ms"), (2560, "5 ms"))  # rounds; milliseconds on GPUs with 128 lanes and 2 GHz


@dataclass(frozen=True)
class Case:
    """A call and its inputs."""

    label: str
    call: Call
    make: Callable[[], InputSet]
    bytes_per_call: int


def single_kernels(rig: Rig, probes: Probes | None) -> list[Case]:
    """Thirteen calls, or eleven without our own multiply-add kernel.

    One has a quarter of a million small blocks, which CUPTI slows.
    """
    return [
        *(_negate(rig, exponent) for exponent in (18, 20, 22, 24, 26)),
        *(_add(rig, exponent) for exponent in (24, 26)),
        _softmax(rig),
        *_naive_gelu(rig, 26),
        _matmul(rig, 2048, torch.bfloat16),
        _matmul(rig, 4096, torch.float32),
        *(_multiply_add(rig, probes, *entry) for entry in _MULTIPLY_ADDS if probes),
    ]


def cases_for_counters(rig: Rig, probes: Probes | None) -> list[Case]:
    """A few calls, because Nsight Compute takes seconds."""
    return [
        _negate(rig, 22),
        _negate(rig, 26),
        _softmax(rig),
        *(_multiply_add(rig, probes, *entry) for entry in _MULTIPLY_ADDS[:1] if probes),
        *_naive_gelu(rig, 26),
    ]


def known_durations(rig: Rig) -> list[Case]:
    """Kernels that spin for a given time; none without a kernel to spin."""
    clock = rig.instruments.clock
    return [_spin(rig, clock, duration_s) for duration_s in _SPINS_S] if clock else []


def _spin(rig: Rig, clock: GpuClock, duration_s: float) -> Case:
    def call(x: torch.Tensor) -> torch.Tensor:
        clock.spin(duration_s)
        return x

    return Case(f"spin of {duration_s * 1e6:g} µs", call, lambda: (rig.noise(1),), _no_traffic(rig))


def _no_traffic(rig: Rig) -> int:
    """Bytes for a call that touches no memory: 3 x the cache's size, for few sets and a short graph."""
    return 3 * (rig.device.last_level_cache_bytes or 1)


def _negate(rig: Rig, exponent: int) -> Case:
    count = 2**exponent
    return Case(f"neg of 2^{exponent}", torch.neg, lambda: (rig.noise(count),), 8 * count)


def _add(rig: Rig, exponent: int) -> Case:
    count = 2**exponent
    return Case(f"add of 2^{exponent}", torch.add, lambda: (rig.noise(count), rig.noise(count)), 12 * count)


def _softmax(rig: Rig) -> Case:
    rows, cols = 4096, 1024

    def call(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)

    return Case(f"softmax of {rows} x {cols}", call, lambda: (rig.noise(rows, cols),), 8 * rows * cols)


def _matmul(rig: Rig, side: int, dtype: torch.dtype) -> Case:
    def make() -> InputSet:
        return rig.noise(side, side, dtype=dtype), rig.noise(side, side, dtype=dtype)

    name = str(dtype).removeprefix("torch.")
    return Case(f"mm {name} of {side}^3", torch.mm, make, 3 * side * side * dtype.itemsize)


def _multiply_add(rig: Rig, probes: Probes, rounds: int, about: str) -> Case:
    def call(x: torch.Tensor) -> torch.Tensor:
        probes.multiply_add(np.float32, rounds)
        return x

    return Case(f"multiply-add, about {about}", call, lambda: (rig.noise(1),), _no_traffic(rig))


def _naive_gelu(rig: Rig, exponent: int) -> list[Case]:
    """The library's gelu with one thread per element; empty where the library lacks it."""
    kernel = scan([LIBRARY]).kernel("gelu")
    implementation = kernel.implementation("cuda_naive") if kernel else None
    if kernel is None or implementation is None:
        return []
    count = 2**exponent
    workload = Workload("gelu", Dtype.FLOAT32, {"n": count})
    request = BuildRequest(implementation, kernel.folder, workload, rig.torch_device)
    call = providers.build(request).call
    label = f"gelu cuda naive of 2^{exponent}"
    return [Case(label, call, lambda: (rig.noise(count),), 8 * count)]

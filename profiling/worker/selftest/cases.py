"""Calls of one kernel each, from 2 us to 5 ms, on which the headline is held against other instruments."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.spec import Dtype, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.ceilings.probes import Probes
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.selftest.rig import Call, Subject
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


def single_kernels(subject: Subject, probes: Probes | None) -> list[Case]:
    """Thirteen calls; two fewer without our own multiply-add kernel.

    One has a quarter of a million small blocks, which CUPTI slows.
    """
    return [
        *(_negate(subject, exponent) for exponent in (18, 20, 22, 24, 26)),
        *(_add(subject, exponent) for exponent in (24, 26)),
        _softmax(subject),
        *_naive_gelu(subject, 26),
        _matmul(subject, 2048, torch.bfloat16),
        _matmul(subject, 4096, torch.float32),
        *(_multiply_add(subject, probes, *entry) for entry in _MULTIPLY_ADDS if probes),
    ]


def cases_for_counters(subject: Subject, probes: Probes | None) -> list[Case]:
    """Few calls, since Nsight Compute takes seconds."""
    return [
        _negate(subject, 22),
        _negate(subject, 26),
        _softmax(subject),
        *(_multiply_add(subject, probes, *entry) for entry in _MULTIPLY_ADDS[:1] if probes),
        *_naive_gelu(subject, 26),
    ]


def known_durations(subject: Subject) -> list[Case]:
    """Kernels that spin for a given time; none without a kernel to spin."""
    clock = subject.instruments.clock
    return [_spin(subject, clock, duration_s) for duration_s in _SPINS_S] if clock else []


def _spin(subject: Subject, clock: GpuClock, duration_s: float) -> Case:
    def call(x: torch.Tensor) -> torch.Tensor:
        clock.spin(duration_s)
        return x

    return Case(f"spin of {duration_s * 1e6:g} µs", call, lambda: (subject.noise(1),), _no_traffic(subject))


def _no_traffic(subject: Subject) -> int:
    """Bytes of a call that touches no memory: as if it filled the cache, for few sets and a short graph."""
    return 3 * (subject.device.last_level_cache_bytes or 1)


def _negate(subject: Subject, exponent: int) -> Case:
    count = 2**exponent
    return Case(f"neg of 2^{exponent}", torch.neg, lambda: (subject.noise(count),), 8 * count)


def _add(subject: Subject, exponent: int) -> Case:
    count = 2**exponent
    return Case(
        f"add of 2^{exponent}", torch.add, lambda: (subject.noise(count), subject.noise(count)), 12 * count
    )


def _softmax(subject: Subject) -> Case:
    rows, cols = 4096, 1024

    def call(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)

    return Case(f"softmax of {rows} x {cols}", call, lambda: (subject.noise(rows, cols),), 8 * rows * cols)


def _matmul(subject: Subject, side: int, dtype: torch.dtype) -> Case:
    def make() -> InputSet:
        return subject.noise(side, side, dtype=dtype), subject.noise(side, side, dtype=dtype)

    name = str(dtype).removeprefix("torch.")
    return Case(f"mm {name} of {side}^3", torch.mm, make, 3 * side * side * dtype.itemsize)


def _multiply_add(subject: Subject, probes: Probes, rounds: int, about: str) -> Case:
    def call(x: torch.Tensor) -> torch.Tensor:
        probes.multiply_add(np.float32, rounds)
        return x

    return Case(f"multiply-add, about {about}", call, lambda: (subject.noise(1),), _no_traffic(subject))


def _naive_gelu(subject: Subject, exponent: int) -> list[Case]:
    """The library's one thread per element; nothing where the library lacks it."""
    kernel = scan([LIBRARY]).kernel("gelu")
    implementation = kernel.implementation("cuda_naive") if kernel else None
    if kernel is None or implementation is None:
        return []
    count = 2**exponent
    workload = Workload("gelu", Dtype.FLOAT32, {"n": count})
    request = BuildRequest(implementation, kernel.folder, workload, subject.torch_device)
    call = providers.build(request).call
    label = f"gelu cuda naive of 2^{exponent}"
    return [Case(label, call, lambda: (subject.noise(count),), 8 * count)]

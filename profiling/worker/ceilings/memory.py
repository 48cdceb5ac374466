"""Measures how fast memory can be: DRAM by access mix, and reads that stay in L2.

A roof is what some kernel reaches, so our own kernels and torch run each mix, and the best counts.
"""

from collections.abc import Sequence
from itertools import cycle

import torch

from roofscope.profiling.devices.device import Device
from roofscope.profiling.roofline.roofline import Mix
from roofscope.profiling.worker.ceilings.block_times import Reading
from roofscope.profiling.worker.ceilings.probes import PACK_BYTES, Sweep
from roofscope.profiling.worker.ceilings.testbed import MIB, Testbed

# Working sets of the L2 sweep, in parts of the cache: it serves large ones from both of its halves, and near
# its full size other data takes a share.
_L2_PARTS = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4)
_L2_BYTES = 16 * 1024 * MIB  # read in one launch: 3 ms at 5 TB/s


def read(testbed: Testbed) -> list[Reading]:
    arrays = testbed.arrays()
    # In turn, so that what one pass leaves in the cache does not serve the next.
    sources = cycle(arrays)
    size = arrays[0].nbytes
    by_torch = (
        Sweep("torch.sum", size, lambda: torch.sum(next(sources))),
        Sweep("torch.amax", size, lambda: torch.amax(next(sources))),
    )
    return _best(testbed, Mix.READ, by_torch)


def write(testbed: Testbed) -> list[Reading]:
    a, _, _ = testbed.arrays()
    return _best(testbed, Mix.WRITE, (Sweep("Tensor.fill_", a.nbytes, lambda: a.fill_(0.5)),))


def copy(testbed: Testbed) -> list[Reading]:
    # A GPU's copy_ may use the copy engine, but kernels compare with an elementwise kernel.
    _, b, c = testbed.arrays()
    by_torch = (
        Sweep("torch.neg", 2 * b.nbytes, lambda: torch.neg(b, out=c)),
        Sweep("Tensor.copy_", 2 * b.nbytes, lambda: c.copy_(b)),
    )
    return _best(testbed, Mix.COPY, by_torch)


def triad(testbed: Testbed) -> list[Reading]:
    a, b, c = testbed.arrays()
    by_torch = Sweep("torch.add(a, b, alpha)", 3 * a.nbytes, lambda: torch.add(a, b, alpha=0.5, out=c))
    return _best(testbed, Mix.TRIAD, (by_torch,))


def resident_read(testbed: Testbed) -> list[Reading]:
    """Reads of working sets that fit L2, past L1; the best of several sizes. It needs our own kernel."""
    probes, _ = testbed.own_kernels
    cache_bytes = testbed.device.last_level_cache_bytes
    if probes is None or not cache_bytes:
        return []
    lap_bytes = probes.resident_threads * PACK_BYTES
    found: list[Reading] = []
    for packs_per_thread in sorted({max(1, round(part * cache_bytes / lap_bytes)) for part in _L2_PARTS}):
        packs = packs_per_thread * probes.resident_threads
        data = torch.empty(packs * PACK_BYTES // 4, device=testbed.torch_device).uniform_(-1, 1)
        laps = _L2_BYTES // data.nbytes
        byte_count = probes.resident_read(data, packs, laps)

        def call(data: torch.Tensor = data, packs: int = packs, laps: int = laps) -> None:
            probes.resident_read(data, packs, laps)

        timing = testbed.time_blocks(call).fastest
        method = (
            f"Our kernel reads {data.nbytes / MIB:.0f} MiB {laps} times in one launch, past L1; best of "
            f"working sets from 1/8 to 3/4 of L2, {timing.text} blocks{timing.clock_text}."
        )
        found.append(Reading(byte_count / timing.median_s, method, timing))
    return [max(found, key=lambda reading: reading.value)]


def _best(testbed: Testbed, mix: Mix, by_torch: Sequence[Sweep]) -> list[Reading]:
    """The best of our kernels and torch's, which move the same bytes."""
    probes, why_not = testbed.own_kernels
    ours = probes.sweeps(mix, testbed.arrays()) if probes else []
    best = max((_sweep(testbed, sweep) for sweep in (*ours, *by_torch)), key=lambda reading: reading.value)
    if not why_not:
        return [best]
    method = f"{best.method} None of our own kernels was tried: {why_not}"
    return [Reading(best.value, method, best.timing)]


def _sweep(testbed: Testbed, sweep: Sweep) -> Reading:
    size = testbed.arrays()[0].nbytes
    timing = testbed.time_blocks(sweep.call)
    if not testbed.is_cuda:
        timing = timing.fastest
    statistic = f"{timing.text} blocks{', CUDA events' if testbed.is_cuda else ''}"
    remark = _cache_remark(testbed.device, size)
    method = f"{sweep.name} on arrays of {size / MIB:.0f} MiB, {statistic}{timing.clock_text}{remark}."
    return Reading(sweep.byte_count / timing.median_s, method, timing)


def _cache_remark(device: Device, size: int) -> str:
    cache = device.last_level_cache_bytes or 0
    if size >= 4 * cache:
        return ""
    return f"; too small to rule out help from the {cache / MIB:.0f} MiB of cache, for want of memory"

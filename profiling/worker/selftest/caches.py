"""Cold is cold: a quarter of L2 is read at L2's rate from one buffer set, at DRAM's from rotated ones."""

import torch

from roofscope.profiling.analysis.selftest_limits import judge_cold, skipped
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.ceilings.probes import PACK_BYTES, RESIDENT_PACKS, Probes
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.selftest.rig import Rig

_PART = 1 / 4
_MANY_LAPS = 9


def prove(rig: Rig) -> Proof:
    """Rates of one lap over the data, without the cost of the launch.

    A launch takes about a microsecond, a lap over a quarter of L2 about two. So the time of a hot lap is the
    slope between one lap and nine in one launch, and the rest of a hot launch is the launch's own cost.
    """
    name = ProofName.COLD_CACHE
    if not rig.is_cuda:
        return skipped(name, "The read is a kernel for NVIDIA GPUs; on a CPU caches are not controlled.")
    probes, why_not = rig.testbed.own_kernels
    cache_bytes = rig.device.last_level_cache_bytes
    if probes is None or not cache_bytes:
        return skipped(name, why_not or "The driver does not tell the size of L2.")
    unit = probes.resident_threads * RESIDENT_PACKS  # the kernel reads only whole steps
    packs = max(1, round(_PART * cache_bytes / (unit * PACK_BYTES))) * unit
    byte_count = packs * PACK_BYTES
    sets: list[InputSet] = rig.sets(lambda: (rig.noise(byte_count // 4),), byte_count)
    one_lap, many_laps = _read(probes, packs, 1), _read(probes, packs, _MANY_LAPS)
    hot_s = rig.headline_s(one_lap, sets[:1])
    hot_lap_s = (rig.headline_s(many_laps, sets[:1]) - hot_s) / (_MANY_LAPS - 1)
    cold_s = rig.headline_s(one_lap, sets)
    launch_s = hot_s - hot_lap_s
    cold_lap_s = cold_s - launch_s
    note = (
        f"{byte_count / 2**20:.1f} MiB; a launch is {hot_s * 1e6:.2f} µs hot and {cold_s * 1e6:.2f} µs cold, "
        f"of which {launch_s * 1e6:.2f} µs are no reading"
    )
    return judge_cold(byte_count / hot_lap_s, byte_count / cold_lap_s, rig.read_ceiling, note)


def _read(probes: Probes, packs: int, laps: int) -> Call:
    def call(data: torch.Tensor) -> torch.Tensor:
        probes.resident_read(data, packs, laps)
        return data

    return call

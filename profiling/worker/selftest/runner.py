"""Carries out the proofs one after the other; if one breaks, the others go on."""

import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.analysis.selftest_limits import LIMITS, judged_beside_noise
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.results.session import timestamp
from roofscope.profiling.worker.failures import CancelRequested, DeviceFault, first_line
from roofscope.profiling.worker.job.candidate_process import CandidateLost, Connect
from roofscope.profiling.worker.selftest import (
    caches,
    causal_limiter,
    comparisons,
    durations,
    host_noise,
    known_work,
    nsight_compute,
    profiler,
    traps,
)
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.soundness import require_sound
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.waits import waited_until_now_s


class Step(Struct, frozen=True):
    """One proof: the function that carries it out, and when it has taken too long."""

    carry_out: Callable[[Rig], Proof]
    deadline_s: float


# Twice what they take on two cores beside twelve other programs, at least.
STEPS = {
    ProofName.KNOWN_DURATION: Step(durations.prove, 60.0),
    ProofName.SAME_CALLABLE: Step(comparisons.prove_same, 400.0),
    ProofName.PLANTED_SLOWDOWN: Step(comparisons.prove_slowdown, 400.0),
    ProofName.PROFILER: Step(profiler.prove, 180.0),
    ProofName.NSIGHT_COMPUTE: Step(nsight_compute.prove, 180.0),
    ProofName.COLD_CACHE: Step(caches.prove, 120.0),
    ProofName.HOST_NOISE: Step(host_noise.prove, 60.0),
    ProofName.KNOWN_WORK: Step(known_work.prove, 240.0),
    ProofName.TRAPS: Step(traps.prove, 600.0),
    ProofName.CAUSAL_LIMITER: Step(causal_limiter.prove, 120.0),
}


def carry_out(
    names: Sequence[ProofName],
    instruments: Instruments,
    connect: Connect,
    report: Callable[[Proof], None],
    announce: Callable[[str, float], None],
    check_cancelled: Callable[[], None],
) -> None:
    """Report each proof as soon as it is done; all of them when none is named.

    ``announce(detail, deadline_s)`` is called before each. Raises CancelRequested, and DeviceFault when
    the device is broken.
    """
    rig = Rig(instruments, check_cancelled, connect)
    chosen = [name for name in ProofName if not names or name in names]
    with torch.cuda.device(rig.torch_device) if rig.is_cuda else nullcontext():
        for number, name in enumerate(chosen, 1):
            check_cancelled()
            announce(f"{name} ({number} of {len(chosen)})", STEPS[name].deadline_s)
            started, waited_s = time.monotonic(), waited_until_now_s()
            proof = _carry_out(name, rig)
            duration_s = time.monotonic() - started
            waited = (waited_until_now_s() - waited_s) / duration_s
            proof = judged_beside_noise(proof, waited, on_cpu=not rig.is_cuda)
            report(replace(proof, duration_s=duration_s, recorded_at=timestamp()))


def _carry_out(name: ProofName, rig: Rig) -> Proof:
    try:
        return STEPS[name].carry_out(rig)
    except (CancelRequested, CandidateLost, DeviceFault):
        raise
    except Exception as error:  # noqa: BLE001 - drivers and libraries refuse in ways of their own
        traceback.print_exc()
        require_sound(rig.torch_device, error, f"The proof {name!r}")
        return Proof(name, False, f"Could not be carried out: {first_line(error)}", LIMITS[name])
    finally:
        if rig.is_cuda:
            torch.cuda.empty_cache()

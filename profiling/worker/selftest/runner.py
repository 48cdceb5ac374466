"""Carries the proofs out one after the other; one that breaks takes no other with it."""

import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.analysis.selftest_limits import LIMITS
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.results.session import timestamp
from roofscope.profiling.worker.failures import CancelRequested
from roofscope.profiling.worker.job.executor import DeviceFault, require_sound
from roofscope.profiling.worker.selftest import (
    caches,
    comparisons,
    durations,
    host_noise,
    known_work,
    nsight_compute,
    profiler,
    traps,
)
from roofscope.profiling.worker.selftest.rig import Subject
from roofscope.profiling.worker.timing.instruments import Instruments


class Act(Struct, frozen=True):
    """One proof: the function that carries it out, and when it has taken too long."""

    carry_out: Callable[[Subject], Proof]
    deadline_s: float


COURSE = {
    ProofName.KNOWN_DURATION: Act(durations.prove, 60.0),
    ProofName.SAME_CALLABLE: Act(comparisons.prove_same, 180.0),
    ProofName.PLANTED_SLOWDOWN: Act(comparisons.prove_slowdown, 180.0),
    ProofName.PROFILER: Act(profiler.prove, 180.0),
    ProofName.NSIGHT_COMPUTE: Act(nsight_compute.prove, 180.0),
    ProofName.COLD_CACHE: Act(caches.prove, 120.0),
    ProofName.HOST_NOISE: Act(host_noise.prove, 60.0),
    ProofName.KNOWN_WORK: Act(known_work.prove, 120.0),
    ProofName.TRAPS: Act(traps.prove, 300.0),
}


def carry_out(
    names: Sequence[ProofName],
    instruments: Instruments,
    report: Callable[[Proof], None],
    announce: Callable[[str, float], None],
    check_cancelled: Callable[[], None],
) -> None:
    """Report each proof as soon as it is done; all of them when none is named.

    ``announce(detail, deadline_s)`` is called before each. Raises CancelRequested, and DeviceFault when
    the device is broken.
    """
    subject = Subject(instruments, check_cancelled)
    chosen = [name for name in ProofName if not names or name in names]
    with torch.cuda.device(subject.torch_device) if subject.is_cuda else nullcontext():
        for number, name in enumerate(chosen, 1):
            check_cancelled()
            announce(f"{name} ({number} of {len(chosen)})", COURSE[name].deadline_s)
            started = time.monotonic()
            proof = _carry_out(name, subject)
            report(replace(proof, duration_s=time.monotonic() - started, recorded_at=timestamp()))


def _carry_out(name: ProofName, subject: Subject) -> Proof:
    try:
        return COURSE[name].carry_out(subject)
    except (CancelRequested, DeviceFault):
        raise
    except Exception as error:  # noqa: BLE001 - drivers and libraries refuse in ways of their own
        traceback.print_exc()
        require_sound(subject.torch_device, error, f"The proof {name!r}")
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        return Proof(name, False, f"Could not be carried out: {first_line[:300]}", LIMITS[name])
    finally:
        if subject.is_cuda:
            torch.cuda.empty_cache()

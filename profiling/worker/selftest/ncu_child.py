"""Runs under Nsight Compute: the calls of the cases, and nothing else, between two profiler marks."""

import sys

import torch

from roofscope.profiling.worker.environment import read_environment
from roofscope.profiling.worker.job.candidate_process import own_process
from roofscope.profiling.worker.selftest.cases import cases_for_counters, known_durations
from roofscope.profiling.worker.selftest.nsight_compute import CALLS
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.timing.instruments import Instruments


def main(device_id: str) -> None:
    """``device_id`` as torch names it."""
    device = read_environment().device(device_id)
    if device is None:
        sys.exit(f"There is no device {device_id}.")
    rig = Rig(Instruments(device), lambda: None, own_process)
    with torch.cuda.device(rig.torch_device):
        probes, _ = rig.testbed.own_kernels
        for case in (*known_durations(rig), *cases_for_counters(rig, probes)):
            sets = rig.sets(case.make, case.bytes_per_call)
            # One call of each unobserved: it compiles, loads, and leaves the caches as rotation leaves them.
            kept = [case.call(*inputs) for inputs in sets]
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            for index in range(CALLS):
                kept[index % len(sets)] = case.call(*sets[index % len(sets)])
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            del kept, sets
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1])

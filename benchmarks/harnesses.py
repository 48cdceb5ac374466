"""The headline beside CUPTI and `triton.testing.do_bench`, over the library's calls of one kernel.

    python3 main.py -m roofscope.benchmarks.harnesses [KERNEL ...] [--dtype float32 ...] [--preset small ...]

Prints a Markdown table and how many calls agree within 3 % or 1 us. Needs a CUDA GPU.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from triton.testing import do_bench

from roofscope.profiling.analysis.agreement import Agreement
from roofscope.profiling.planning.catalog import Kernel, load_module, scan
from roofscope.profiling.planning.spec import Implementation, Provider, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.environment import read_environment
from roofscope.profiling.worker.failures import Refusal
from roofscope.profiling.worker.inputs import InputMaker
from roofscope.profiling.worker.job.candidate_process import own_process
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.profiler import profile_turn

SHORTEST_S, LONGEST_S = 2e-6, 5e-3  # a kernel's time is compared between these


class Case(NamedTuple):
    """One implementation at one dtype and size."""

    kernel: Kernel
    implementation: Implementation
    workload: Workload


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where a call agrees with CUPTI neither undisturbed nor while CUPTI observes it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--dtype", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--preset", nargs="+", default=["small", "medium", "large"])
    chosen = parser.parse_args(arguments)
    device = read_environment().device("cuda:0")
    if device is None:
        print("There is no CUDA GPU here; CUPTI and do_bench time GPU kernels.", file=sys.stderr)
        return 2
    rig = Rig(Instruments(device), lambda: None, own_process)
    print(f"{device.name}, torch {torch.__version__}, driver {device.driver_version}\n")
    print("| call | headline us | CUPTI us | | headline meanwhile us | clock meanwhile | do_bench us | |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    found: list[Agreement] = []
    with torch.cuda.device(rig.torch_device):
        for case in cases(chosen.kernels, chosen.dtype, chosen.preset):
            agreement = compare(rig, case)
            torch.cuda.empty_cache()
            if agreement and agreement.is_judged:
                found.append(agreement)
                print(row(agreement), flush=True)
    return summary(found)


def cases(kernels: Sequence[str], dtypes: Sequence[str], presets: Sequence[str]) -> Iterator[Case]:
    """Every implementation of the kernels named, or of all."""
    for kernel in scan().kernels:
        if kernels and kernel.spec.name not in kernels:
            continue
        for preset in filter(None, map(kernel.spec.preset, presets)):
            for dtype in (dtype for dtype in kernel.spec.dtypes if dtype in dtypes):
                for implementation in kernel.implementations:
                    if implementation.provider is Provider.COMPILE and implementation.variant != "default":
                        continue
                    yield Case(kernel, implementation, Workload(kernel.spec.name, dtype, preset.sizes))


def compare(rig: Rig, case: Case) -> Agreement | None:
    """None where the implementation refuses."""
    kernel, implementation, workload = case
    derive = getattr(load_module(kernel.folder / "reference.py"), "derive", None)
    maker = InputMaker(kernel.spec, workload.dtype, rig.torch_device, seed=2026, derive=derive)
    byte_count = kernel.spec.work_at(workload.sizes, workload.dtype).byte_count
    sets = rig.sets(lambda: maker.make(workload.sizes), byte_count)
    try:
        request = BuildRequest(implementation, kernel.folder, workload, rig.torch_device)
        call = providers.build(request).call
        [turn] = rig.measured((call, sets))
    except Refusal:
        return None
    profile = profile_turn(turn)
    headline_s = turn.interval.median
    common_s = float(do_bench(lambda: call(*sets[0]), return_mode="median")) * 1e-3
    size = " x ".join(map(str, workload.sizes.values()))
    return Agreement(
        f"{kernel.spec.name} {implementation.label} {workload.dtype} {size}",
        headline_s,
        profile.kernel_sum_s,
        profile.meanwhile(turn.clock_hz),
        (common_s,),
        is_judged=0.5 < profile.launches < 1.5 and SHORTEST_S <= headline_s <= LONGEST_S,
    )


def row(found: Agreement) -> str:
    """One line of the table; times in us."""
    meanwhile, [common_s] = found.meanwhile, found.more_s
    if meanwhile is None or found.other_s is None or common_s is None:
        return f"| {found.label} | {found.headline_s * 1e6:.2f} | | | | | | |"
    mark = "" if found.agrees else " **differs**"
    return (
        f"| {found.label}{mark} | {found.headline_s * 1e6:.2f} "
        f"| {found.other_s * 1e6:.2f} | {100 * (found.other_s / found.headline_s - 1):+.1f} % "
        f"| {meanwhile.seconds * 1e6:.2f} | {meanwhile.clock_ratio or 1:.3f} "
        f"| {common_s * 1e6:.2f} | {100 * (common_s / found.headline_s - 1):+.1f} % |"
    )


def summary(found: Sequence[Agreement]) -> int:
    """Counts, and the exit code."""
    undisturbed = [bool(Agreement(f.label, f.headline_s, f.other_s).agrees) for f in found]
    common = [bool(Agreement(f.label, f.headline_s, f.more_s[0]).agrees) for f in found]
    agreeing = [bool(f.agrees) for f in found]
    print(f"\n{len(found)} calls of one kernel.")
    print(f"Within 3 % or 1 us of CUPTI: the headline in {sum(agreeing)} ({sum(undisturbed)} undisturbed).")
    print(f"Within 3 % or 1 us of the headline: do_bench in {sum(common)}.")
    return 0 if all(agreeing) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

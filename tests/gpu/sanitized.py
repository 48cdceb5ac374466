"""Calls every CUDA C++ version of one kernel at its odd sizes. test_sanitizer_gpu watches it do so.

Inputs are made on the CPU, and nothing is computed by torch on the GPU: what runs there is the kernels.
"""

import sys

import torch

from roofscope.profiling.planning.spec import Provider, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.kernels.cases import CATALOG, random_inputs


def main(name: str) -> None:
    """Prints each call that was made, and why where it was refused."""
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    device = torch.device("cuda", 0)
    for version in kernel.implementations:
        if version.provider is not Provider.CUDA:
            continue
        for dtype in dict.fromkeys((kernel.spec.dtypes[0], kernel.spec.dtypes[-1])):
            for sizes in kernel.spec.odd_sizes:
                inputs = random_inputs(kernel, sizes, dtype, device="cuda")
                workload = Workload(name, dtype, sizes)
                try:
                    providers.build(BuildRequest(version, kernel.folder, workload, device)).call(*inputs)
                except Refusal as refusal:
                    sys.stdout.write(f"refused: {version.stem} {dtype} {sizes}: {refusal}\n")
                    continue
                torch.cuda.synchronize()
                sys.stdout.write(f"called: {version.stem} {dtype} {sizes}\n")


if __name__ == "__main__":
    main(sys.argv[1])

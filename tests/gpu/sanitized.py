"""Calls every CUDA C++ version of one kernel at its odd sizes. test_sanitizer_gpu watches it do so.

Inputs are made on the CPU, and nothing is computed by torch on the GPU: what runs there is the kernels.
"""

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from roofscope.kernels.linear_cross_entropy_backward import residues
from roofscope.kernels.matmul_tf32 import streamed
from roofscope.kernels.shared import norm_lanes
from roofscope.kernels.shared.wgmma_strips import CLUSTERS, STRIPS, multiply_strips
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.parameters import Parameter
from roofscope.profiling.planning.spec import Dtype, Provider, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Call
from roofscope.profiling.worker.build.providers import cuda
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.gpu.programs import STRIPS_KERNELS, strips_program
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs

# An odd size has fewer tiles than a GPU has multiprocessors: no block takes a second one, and none uses again
# what an earlier tile has left in shared memory. So a version that goes by their count is also called as if
# there were two.
FEW = 2
RESIDUES_KERNELS = ("linear_cross_entropy_backward", "linear_cross_entropy_training")

# Of hopper.cuh: who arrives at a barrier, as the tool can follow it.
WATCHED = Parameter("SANITIZED", (1,), 1, 1)


class _Multiprocessors:
    """In place of the count that programs tell their launchers."""

    def __init__(self) -> None:
        self.told: int | None = None  # else as many as there are
        self.was_asked = False

    def __get__(self, program: cuda.CudaProgram | None, owner: type) -> int:
        self.was_asked = True
        count: Any = _AS_MANY_AS_THERE_ARE
        return self.told or count.__get__(program, owner)


_AS_MANY_AS_THERE_ARE = vars(cuda.CudaProgram)["multiprocessor_count"]
_multiprocessors = _Multiprocessors()
_compiled = cuda.compiled


def _compile_watched(
    source: Path,
    dtype: Dtype | None,
    architecture: str,
    names: Sequence[str] = (),
    parameters: Sequence[Parameter] = (),
    *,
    has_lines: bool = False,
) -> tuple[Any, str]:
    return _compiled(source, dtype, architecture, names, (*parameters, WATCHED), has_lines=has_lines)


def main(name: str) -> None:
    """Prints each call that was made, and why where it was refused."""
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    setattr(cuda.CudaProgram, "multiprocessor_count", _multiprocessors)  # noqa: B010
    setattr(cuda, "compiled", _compile_watched)  # noqa: B010
    device = torch.device("cuda", 0)
    all_sizes = kernel.spec.odd_sizes
    for version in kernel.implementations:
        if version.provider is not Provider.CUDA:
            continue
        for dtype in dict.fromkeys((kernel.spec.dtypes[0], kernel.spec.dtypes[-1])):
            workload = Workload(name, dtype, all_sizes[0])  # what is built is the same for all
            try:
                built = providers.build(
                    BuildRequest(version, kernel.folder, workload, device, has_lines=True)
                )
            except Refusal as refusal:  # a newer device
                sys.stdout.write(f"refused: {version.stem} {dtype}: {refusal}\n")
                continue
            for sizes in all_sizes:
                inputs = random_inputs(kernel, sizes, dtype, device="cuda")
                what = f"{version.stem} {dtype} {sizes}"
                _multiprocessors.was_asked = False
                _call(built.call, inputs, what)
                if _multiprocessors.was_asked:
                    _multiprocessors.told = FEW
                    _call(built.call, inputs, f"{what}, as of {FEW} multiprocessors")
                    _multiprocessors.told = None
        if torch.cuda.get_device_capability(device) == (9, 0):
            _call_leaves(kernel, version.stem, device)
            _call_strips(kernel, version.stem)
            _call_streamed(kernel, version.stem, device)
            _call_residues(kernel, version.stem, device)
            _call_very_many_rows(kernel, version.stem, device)


def _call_leaves(kernel: Kernel, stem: str, device: torch.device) -> None:
    """Every tile that leaves statistics: odd sizes are too small for most of them to be chosen."""
    launcher: Any = load_module(kernel.folder / f"{stem}.py")
    names: Sequence[str] = list(getattr(launcher, "LEAVES", ()))
    if not names:
        return
    dtype, source = kernel.spec.dtypes[-1], kernel.folder / f"{stem}.cu"
    program = cuda.CudaProgram(source, dtype, cuda.architecture_of((9, 0)), device)
    for sizes in kernel.spec.odd_sizes:
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        for name in names:
            for told in (None, FEW):
                _multiprocessors.told = told
                launcher.launch(program, name, *inputs)
        torch.cuda.synchronize()
        sys.stdout.write(f"called: {stem} {dtype} {sizes} by {len(names)} tiles\n")
    _multiprocessors.told = None


def _call_strips(kernel: Kernel, stem: str) -> None:
    """Strips of B under few rows, in every cluster: odd sizes have too small a B for them to be chosen."""
    if stem != "cuda_wgmma" or kernel.spec.name not in STRIPS_KERNELS:
        return
    program = strips_program(kernel.spec.name, kernel.spec.dtypes[-1])
    for sizes in ({"m": 3, "n": 200, "k": 520}, {"m": 17, "n": 1160, "k": 136}):
        a, b, *extra = random_inputs(kernel, sizes, kernel.spec.dtypes[-1], device="cuda")
        for strips, cluster, told in itertools.product(STRIPS, (1, *CLUSTERS), (None, FEW)):
            _multiprocessors.told = told
            of_each = 2 * -(-sizes["n"] // (strips.columns * cluster))  # two shares of each strip
            for shares in (None, of_each):
                multiply_strips(program, a, b, a.dtype, *extra, strips=strips, cluster=cluster, shares=shares)
        torch.cuda.synchronize()
        sys.stdout.write(f"called: {stem} {sizes} by strips\n")
    _multiprocessors.told = None


def _call_streamed(kernel: Kernel, stem: str, device: torch.device) -> None:
    """A B that streams, in TF32: odd sizes have too small a one for that to be chosen."""
    if (kernel.spec.name, stem) != ("matmul_tf32", "cuda_loose"):
        return
    source = kernel.folder / f"{stem}.cu"
    program = cuda.CudaProgram(source, Dtype.FLOAT32, cuda.architecture_of((9, 0)), device)
    for sizes in ({"m": 3, "n": 70, "k": 1030}, {"m": 8, "n": 33, "k": 4001}):
        a, b = random_inputs(kernel, sizes, Dtype.FLOAT32, device="cuda")
        for piece, told in itertools.product(streamed.PIECES, (None, FEW)):
            _multiprocessors.told = told
            streamed.launch(program, piece, a, b)
        torch.cuda.synchronize()
        sys.stdout.write(f"called: {stem} {sizes} streamed\n")
    _multiprocessors.told = None


def _call_residues(kernel: Kernel, stem: str, device: torch.device) -> None:
    """Gradients from rows of w that begin anywhere, without a copy of w: odd sizes have too small a one."""
    if stem != "cuda_wgmma" or kernel.spec.name not in RESIDUES_KERNELS:
        return
    launcher, dtype = load_module(kernel.folder / f"{stem}.py"), kernel.spec.dtypes[-1]
    program = cuda.CudaProgram(kernel.folder / f"{stem}.cu", dtype, cuda.architecture_of((9, 0)), device)
    takes = residues.takes
    setattr(residues, "takes", _always)  # noqa: B010
    for rows, vocab, hidden in ((9, 1030, 36), (35, 641, 131), (100, 2500, 258), (200, 300, 77)):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        for told in (None, FEW):
            _multiprocessors.told = told
            launcher.run(program, *inputs)
        torch.cuda.synchronize()
        sys.stdout.write(f"called: {stem} {sizes} by residues\n")
    _multiprocessors.told = None
    setattr(residues, "takes", takes)  # noqa: B010


def _call_very_many_rows(kernel: Kernel, stem: str, device: torch.device) -> None:
    """Gradients of norms of rows that odd sizes have too few of."""
    if stem != "cuda_lanes":
        return
    launcher, dtype = load_module(kernel.folder / f"{stem}.py"), kernel.spec.dtypes[-1]
    program = cuda.CudaProgram(kernel.folder / f"{stem}.cu", dtype, cuda.architecture_of((9, 0)), device)
    setattr(norm_lanes, "AHEAD", dict.fromkeys(norm_lanes.AHEAD, 1))  # noqa: B010
    setattr(norm_lanes, "FEWEST_RUNS", 1)  # noqa: B010
    setattr(norm_lanes, "FEWEST_SHORT_RUNS", 1)  # noqa: B010
    _multiprocessors.told = FEW
    for rows, cols in ((1027, 62), (515, 88), (515, 124), (259, 190), (259, 252), (131, 382)):
        _launch(launcher, program, kernel, rows, cols)
    for rows, cols in ((281, 253), (281, 386), (151, 639), (135, 1023)):  # more tiles than a ring has
        _launch(launcher, program, kernel, rows, cols)
    _multiprocessors.told = None


def _launch(launcher: Any, program: cuda.CudaProgram, kernel: Kernel, rows: int, cols: int) -> None:
    sizes = {"rows": rows, "cols": cols}
    launcher.run(program, *random_inputs(kernel, sizes, kernel.spec.dtypes[-1], device="cuda"))
    torch.cuda.synchronize()
    sys.stdout.write(f"called: {sizes} as of very many rows\n")


def _always(*_: object) -> bool:
    return True


def _call(call: Call, inputs: Tensors, what: str) -> None:
    try:
        call(*inputs)
    except Refusal as refusal:
        sys.stdout.write(f"refused: {what}: {refusal}\n")
        return
    torch.cuda.synchronize()
    sys.stdout.write(f"called: {what}\n")


if __name__ == "__main__":
    main(sys.argv[1])

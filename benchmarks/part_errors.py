"""How much of its limit each part of an honest result takes: what the limits of ``job/compare.py`` rest on.

    python3 main.py -m roofscope.benchmarks.part_errors [--device cuda] [--provider triton]... [KERNEL ...]

builds the implementations (on a CPU, and eager ones, if nothing is named), calls each at its odd sizes, its
small and its medium sizes, in every dtype, with inputs up to 1 and up to the spec's largest, and prints the
largest error of a whole, a row, a chunk and an element over the tolerance, and the largest share of a limit.
"""

import argparse
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.planning.domain import outside
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Call
from roofscope.profiling.worker.candidate.snapshot import snapshot
from roofscope.profiling.worker.failures import BuildError, Refusal, WrongResult
from roofscope.profiling.worker.inputs import InputMaker, as_tuple, widened
from roofscope.profiling.worker.job import compare
from roofscope.profiling.worker.job.reference import load_reference

_FIGURES = ("whole", "row", "chunk", "element")
_PRESETS = ("small", "medium")
_MOST_ELEMENTS = {"cpu": 1 << 24, "cuda": 1 << 28}


@dataclass(frozen=True)
class Reading:
    """Errors over the tolerance, and the largest share of a part's limit."""

    whole: float
    row: float
    chunk: float
    element: float
    share: float
    where: str


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="How much of its limit each part of an honest result takes.")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--device", choices=tuple(_MOST_ELEMENTS), default="cpu")
    parser.add_argument("--provider", type=Provider, action="append")
    options = parser.parse_args(arguments)
    device = torch.device(options.device)
    heads = "".join(f"{name:>7}" for name in (*_FIGURES, "share"))
    print(f"{'implementation':<44}{'dtype':<6}{heads}  worst at")
    shares: list[tuple[float, str]] = []
    for kernel, implementation, dtype in _versions(options.kernels, options.provider or [Provider.EAGER]):
        found = list(_readings(kernel, implementation, dtype, device))
        if not found:
            continue
        worst = max(found, key=lambda reading: reading.share)
        figures = [max(getattr(one, name) for one in found) for name in _FIGURES]
        text = "".join(f"{figure:7.2f}" for figure in (*figures, worst.share))
        print(f"{implementation.key:<44}{dtype.label:<6}{text}  {worst.where}", flush=True)
        shares.append((worst.share, f"{implementation.key} {dtype.label} {worst.where}"))
    print(f"\n{len(shares)} versions and dtypes; the largest shares of a limit:")
    for share, text in sorted(shares, reverse=True)[:12]:
        print(f"  {share:.3f}  {text}")


def _versions(
    named: Sequence[str], wanted: Sequence[Provider]
) -> Iterator[tuple[Kernel, Implementation, Dtype]]:
    for kernel in scan().kernels:
        for implementation in kernel.implementations:
            if implementation.provider in wanted and (not named or kernel.spec.name in named):
                yield from ((kernel, implementation, dtype) for dtype in kernel.spec.dtypes)


def _readings(
    kernel: Kernel, implementation: Implementation, dtype: Dtype, device: torch.device
) -> Iterator[Reading]:
    run, derive = load_reference(kernel)
    maker = InputMaker(
        kernel.spec, dtype, device, seed=zlib.crc32(implementation.key.encode()), derive=derive
    )
    presets = [preset.sizes for name in _PRESETS if (preset := kernel.spec.preset(name))]
    for sizes in (*kernel.spec.odd_sizes, *presets):
        workload = Workload(kernel.spec.name, dtype, sizes)
        if _elements(kernel, sizes) > _MOST_ELEMENTS[device.type] or outside(implementation, workload):
            continue
        request = BuildRequest(implementation, kernel.folder, workload, device)
        try:
            call = providers.build(request).call
        except (Refusal, BuildError) as error:
            print(f"  {implementation.key} {dtype.label} not built: {error}")
            return
        for magnitude in (1.0, kernel.spec.large_magnitude):
            where = f"{workload.size_label} up to {magnitude:g}"
            try:
                yield from _of_call(kernel, call, run, maker, workload, magnitude, where)
            except (Refusal, ValueError) as error:
                print(f"  {implementation.key} {dtype.label} refuses {where}: {error}")
            except WrongResult as error:
                print(f"! {implementation.key} {dtype.label} {error}")


def _elements(kernel: Kernel, sizes: dict[str, int]) -> int:
    tensors = (*kernel.spec.inputs, *kernel.spec.outputs)
    return sum(torch.Size(kernel.spec.shape(tensor, sizes)).numel() for tensor in tensors)


def _of_call(
    kernel: Kernel,
    call: Call,
    run: Call,
    maker: InputMaker,
    workload: Workload,
    magnitude: float,
    where: str,
) -> Iterator[Reading]:
    inputs = maker.make(workload.sizes, magnitude)
    tolerance = kernel.spec.tolerance.of(workload.dtype)
    outputs = snapshot(inputs, as_tuple(call(*inputs)))
    for tensor, output, expected in zip(
        kernel.spec.outputs, outputs, as_tuple(run(*widened(inputs))), strict=True
    ):
        findings = compare.examine(output, expected, tolerance)
        if findings.stray is not None:
            raise WrongResult(FailureKind.WRONG_VALUES, f"is not finite in {tensor.name} at {where}")
        if findings.worst is None:
            continue
        row = expected.shape[-1]
        wanted = expected.contiguous().view(-1)
        difference = output.double().contiguous().view(-1).sub_(wanted)
        rms = float(wanted.norm()) / len(wanted) ** 0.5 or 1 / len(wanted) ** 0.5
        errors = [_largest(difference, wanted, size, rms) / tolerance for size in (row, compare.CHUNK, 1)]
        share = findings.worst.share
        yield Reading(
            findings.relative_error / tolerance,
            *errors,
            share,
            f"{tensor.name} {where}, {findings.worst.count} elements",
        )


def _largest(difference: torch.Tensor, wanted: torch.Tensor, size: int, rms: float) -> float:
    size = min(size, len(wanted))
    whole = len(wanted) // size * size
    scale = wanted[:whole].view(-1, size).norm(dim=1).clamp(min=rms * size**0.5)
    return float((difference[:whole].view(-1, size).norm(dim=1) / scale).max())


if __name__ == "__main__":
    with torch.inference_mode():
        main(sys.argv[1:])

"""Runs under Nsight Compute: one call of each point of a session, each after a separating kernel."""

import sys
from pathlib import Path

import torch

from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Call
from roofscope.profiling.worker.failures import BuildError, Refusal
from roofscope.profiling.worker.inputs import InputMaker, InputSet
from roofscope.profiling.worker.job.reference import load_reference

_WARM_CALLS = 3


def main(path: str, numbers: list[str]) -> None:
    """``numbers`` are those of points."""
    catalog, device = scan(), torch.device("cuda")
    points = {point.number: point for point in load(Path(path)).points}
    for number in numbers:
        _call_once(points[int(number)], catalog, device)
        torch.cuda.empty_cache()


def _call_once(point: Point, catalog: Catalog, device: torch.device) -> None:
    call, inputs = None, ()
    try:
        call, inputs = _prepared(point, catalog, device)
    except (Refusal, BuildError) as error:  # such as a library that is not here: no kernel follows
        print(point.implementation.key, error, file=sys.stderr)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    torch.cuda._sleep(1)  # pyright: ignore[reportPrivateUsage]
    kept = call(*inputs) if call else None
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    del kept


def _prepared(point: Point, catalog: Catalog, device: torch.device) -> tuple[Call, InputSet]:
    """The call, compiled and tuned unobserved, and its inputs."""
    workload, kernel = point.job.workload, catalog.kernel(point.job.workload.kernel)
    assert kernel is not None, workload.kernel
    call = providers.build(BuildRequest(point.implementation, kernel.folder, workload, device)).call
    _, derive = load_reference(kernel)
    inputs = InputMaker(kernel.spec, workload.dtype, device, seed=1, derive=derive).make(workload.sizes)
    for _ in range(_WARM_CALLS):
        call(*inputs)
    return call, inputs


if __name__ == "__main__":
    with torch.inference_mode():
        main(sys.argv[1], sys.argv[2:])

"""Times calls by how many sets of buffers lie between two uses of one; a JSON line a point.

python3 main.py -m roofscope.benchmarks.traffic_child SESSION POINT...
"""

import statistics
import sys
from pathlib import Path

import msgspec
import torch

from roofscope.profiling.analysis.traffic_estimate import Reuse
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.environment import read_environment
from roofscope.profiling.worker.inputs import InputMaker, bytes_a_call
from roofscope.profiling.worker.job.reference import load_reference
from roofscope.profiling.worker.timing.instruments import Instruments

_SETS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 256, 2000)
_LAPS_BYTES = 1 << 30  # of all sets: more than any L2, and cold for long
_WARM_CALLS, _BLOCKS = 3, 3


def main(path: str, numbers: list[str]) -> None:
    catalog = scan()
    points = {point.number: point for point in load(Path(path)).points}
    device = read_environment().device("cuda:0")
    if device is None:
        sys.exit("There is no GPU here.")
    instruments = Instruments(device)
    with torch.cuda.device(instruments.torch_device):
        for number in numbers:
            point = points[int(number)]
            try:
                byte_count, curve = _curve(point, catalog, instruments)
            except Exception as error:  # noqa: BLE001 - one that cannot be built costs itself
                print(point.implementation.key, error, file=sys.stderr)
                continue
            sys.stdout.buffer.write(msgspec.json.encode((point.number, byte_count, curve)) + b"\n")
            sys.stdout.buffer.flush()
            torch.cuda.empty_cache()


def _curve(point: Point, catalog: Catalog, instruments: Instruments) -> tuple[int, list[Reuse]]:
    workload, kernel = point.job.workload, catalog.kernel(point.job.workload.kernel)
    assert kernel is not None, workload.kernel
    device = instruments.torch_device
    call = providers.build(BuildRequest(point.implementation, kernel.folder, workload, device)).call
    _, derive = load_reference(kernel)
    maker = InputMaker(kernel.spec, workload.dtype, device, seed=1, derive=derive)
    byte_count = bytes_a_call(maker.set_bytes(workload.sizes), point.job.work.byte_count)
    counts = [count for count in _SETS if (count - 1) * byte_count <= _LAPS_BYTES]
    sets = [maker.make(workload.sizes) for _ in range(counts[-1])]
    for _ in range(_WARM_CALLS):
        call(*sets[0])
    found: list[Reuse] = []
    for count in counts:
        timer = instruments.timer(call, sets[:count], instruments.output_pool())
        timer.block()
        seconds = statistics.median(timer.block().seconds for _ in range(_BLOCKS))
        found.append(Reuse(count, seconds))
        del timer
    return byte_count, found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

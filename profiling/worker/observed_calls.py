"""Runs under Nsight Compute: calls of implementations, between two profiler marks each.

    python3 main.py -m roofscope.profiling.worker.observed_calls QUESTION

reads a CountQuestion from a file. A kernel that spins stands before the calls of each subject, also of one
whose calls failed, so that a reader of the kernels can tell them apart.
"""

import sys
from pathlib import Path

import msgspec
import torch

from roofscope.profiling.decoding import decode
from roofscope.profiling.planning.count_question import CountQuestion, Observed, Subject
from roofscope.profiling.planning.debug_question import SEED, DebugQuestion
from roofscope.profiling.worker.build.contract import BuildRequest, Call, Tensors
from roofscope.profiling.worker.build.providers import build
from roofscope.profiling.worker.failures import first_line
from roofscope.profiling.worker.inputs import InputMaker, InputSet, bytes_a_call, set_count
from roofscope.profiling.worker.job.reference import load_reference

_WARM_CALLS = 3  # compilers and autotuners run, unobserved
_MOST_SETS = 1024
_LEAST_BYTES = 64 << 20  # by all observed calls: of less, single lines of the cache would show
_FEWEST_CALLS, _MOST_CALLS = 4, 64


def main(path: Path) -> None:
    question = decode(path.read_bytes(), CountQuestion)
    answers = tuple(_observe(subject, rotates=question.rotates) for subject in question.subjects)
    if question.answer:
        Path(question.answer).write_bytes(msgspec.json.encode(answers))


def _observe(subject: Subject, *, rotates: bool) -> Observed:
    prepared, problem = None, ""
    try:
        prepared = _Prepared(subject, rotates=rotates)
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        problem = f"It was not called: {first_line(error)}"
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    torch.cuda._sleep(1)  # pyright: ignore[reportPrivateUsage] - the separator
    calls = 0
    try:
        if prepared:
            calls = prepared.call_observed()
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        problem = f"Its observed call ended with: {first_line(error)}"
    torch.cuda.profiler.stop()
    del prepared
    torch.cuda.empty_cache()
    return Observed(0 if problem else calls, problem)


class _Prepared:
    """A call that is compiled and tuned, and its buffers, the caches as rotation leaves them."""

    def __init__(self, subject: Subject, *, rotates: bool) -> None:
        question = subject.question
        device = torch.device(question.device)
        torch.cuda.set_device(device)
        self._call = _built(question, device)
        _, derive = load_reference(question.kernel)
        sizes = question.workload.sizes
        maker = InputMaker(
            question.spec, question.workload.dtype, device, SEED, derive, question.workload.fill
        )
        byte_count = bytes_a_call(maker.set_bytes(sizes), subject.bytes_per_call)
        count = _set_count(byte_count, device) if rotates else 1
        self._sets: list[InputSet] = [maker.make(sizes) for _ in range(count)]
        for _ in range(_WARM_CALLS):
            self._call(*self._sets[0])
        # An output lives until its set's next turn, so that the next call writes to memory that is cold.
        self._kept: list[Tensors | None] = [None] * count
        self._next = 0
        self._calls = 1
        if rotates:
            self._calls = min(max(-(-_LEAST_BYTES // max(byte_count, 1)), _FEWEST_CALLS), _MOST_CALLS)
            for _ in range(2 * count):
                self._turn()

    def call_observed(self) -> int:
        for _ in range(self._calls):
            self._turn()
        return self._calls

    def _turn(self) -> None:
        place = self._next % len(self._sets)
        self._kept[place] = self._call(*self._sets[place])
        self._next += 1


def _built(question: DebugQuestion, device: torch.device) -> Call:
    names = tuple(tensor.name for tensor in question.spec.inputs)
    entry = question.entries.get(question.implementation.stem)
    request = BuildRequest(
        question.implementation, question.kernel.folder, question.workload, device, names, entry
    )
    return build(request).call


def _set_count(bytes_per_set: int, device: torch.device) -> int:
    free, _ = torch.cuda.mem_get_info(device)
    cache_bytes = torch.cuda.get_device_properties(device).L2_cache_size
    return min(set_count(bytes_per_set, cache_bytes, free), _MOST_SETS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

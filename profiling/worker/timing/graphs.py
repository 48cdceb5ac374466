"""CUDA graphs of calls, and the memory that the implementations of a job share for their outputs."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import torch

from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.inputs import InputSet, as_tuple


class OutputView(NamedTuple):
    """An address and a layout where a graph leaves an output; it does not own the memory."""

    address: int
    byte_count: int
    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, output: torch.Tensor) -> "OutputView":
        last = sum((size - 1) * step for size, step in zip(output.shape, output.stride(), strict=True))
        byte_count = (last + 1) * output.element_size() if output.numel() else 0
        return cls(output.data_ptr(), byte_count, output.shape, output.stride(), output.dtype, output.device)

    def tensor(self) -> torch.Tensor:
        """The output as it lies there now. Valid until another graph of the pool is replayed."""
        if not self.byte_count:
            return torch.empty(self.shape, dtype=self.dtype, device=self.device)
        raw = torch.as_tensor(_Bytes(self), device=self.device)
        return raw.view(self.dtype).as_strided(self.shape, self.stride)


class _Bytes:
    """Memory under the CUDA array interface, version 3, as bytes because that lacks bfloat16."""

    def __init__(self, view: OutputView) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (view.byte_count,),
            "typestr": "|u1",
            "data": (view.address, False),
            "version": 3,
        }


class OutputPool:
    """Memory for the outputs of several graphs, at the same addresses for each.

    A kernel's time depends on where its output lies: on an H200 one callable in two buffers was called
    different, by 0.2 %, in 99 of 100 comparisons. The implementations of a job therefore write to the same
    memory, in turn.

    If a capture fails because the call synchronised, torch up to 2.11 rejects this pool from then on; later
    graphs use another.

    A fresh pool hands its memory out as the driver gives it, a used one by ascending address. So a rehearsal
    comes first, and every graph finds the pool in the same state.
    """

    def __init__(self) -> None:
        self._handle = torch.cuda.graph_pool_handle()
        # Kept, because the pool lives as long as a graph in it.
        self._rehearsal: torch.cuda.CUDAGraph | None = None

    def capture(
        self, call: Call, sets: Sequence[InputSet], calls: int
    ) -> tuple[torch.cuda.CUDAGraph, tuple[OutputView, ...]]:
        """A graph of calls in turn over the sets, and the locations of the first set's outputs.

        Each set has its own outputs. Raises RuntimeError where a graph cannot capture the call.
        """
        if self._rehearsal is None:
            self._rehearsal, _ = self._capture(call, sets, len(sets))
        return self._capture(call, sets, calls)

    def _capture(
        self, call: Call, sets: Sequence[InputSet], calls: int
    ) -> tuple[torch.cuda.CUDAGraph, tuple[OutputView, ...]]:
        graph = torch.cuda.CUDAGraph()
        outputs: list[tuple[torch.Tensor, ...]] = [() for _ in sets]
        torch.cuda.synchronize()
        with self._capturing(graph):
            for index in range(calls):
                # Dropping the set's old outputs first gives their memory to the new ones, so that
                # the graph needs no more than one output a set.
                outputs[index % len(sets)] = ()
                outputs[index % len(sets)] = as_tuple(call(*sets[index % len(sets)]))
        torch.cuda.synchronize()
        return graph, tuple(OutputView.of(output) for output in outputs[0])

    @contextmanager
    def _capturing(self, graph: torch.cuda.CUDAGraph) -> Generator[None]:
        """As ``torch.cuda.graph``, but a capture that fails leaves nothing behind.

        After a failure torch stays on the capturing stream, and up to 2.11 its allocators go on recording
        (pytorch pull request 180395): every later capture and ``empty_cache`` would fail. The recording of
        pinned memory cannot be ended from outside, so that allocator refuses this pool for good, and later
        graphs get another.
        """
        with torch.cuda.stream(torch.cuda.current_stream()):
            try:
                with torch.cuda.graph(graph, pool=self._handle, capture_error_mode="thread_local"):
                    yield
            except BaseException:
                if _was_recording(self._handle):
                    self._handle, self._rehearsal = torch.cuda.graph_pool_handle(), None
                raise


def _was_recording(pool: Any) -> bool:
    """End the allocator's recording to a pool; False where torch has ended it itself."""
    device = torch.cuda.current_device()
    try:
        torch._C._cuda_endAllocateToPool(device, pool)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    except RuntimeError:
        return False
    with suppress(RuntimeError):
        torch._C._cuda_releasePool(device, pool)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return True

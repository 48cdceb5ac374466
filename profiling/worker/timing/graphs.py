"""CUDA graphs of calls, and the memory that the implementations of a job share for their outputs."""

import gc
import importlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from itertools import cycle, islice
from typing import Any, NamedTuple

import torch

from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.inputs import InputSet, as_tuple

_COMPARED_CALLS = 64  # whose kernels are compared; all are counted


class LegacyStreamUsed(RuntimeError):
    """The call launches on the legacy default stream, which no capture records."""

    def __init__(self) -> None:
        super().__init__(
            "it launches on the legacy default stream, where no graph sees it; launch on "
            "at::cuda::getCurrentCUDAStream(), the fourth argument of <<<>>>"
        )


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


class CapturedCalls:
    """A graph of calls in turn over the sets, replayed as often as wanted.

    Each call is captured by itself and the graph is a chain of these captures. So every replay does for each
    set what its capture recorded, no call can begin before the one in front has ended, and a call that is
    left out of a capture leaves its set's outputs unwritten.
    """

    def __init__(
        self, graphs: Sequence[torch.cuda.CUDAGraph], outputs: Sequence[tuple[OutputView, ...]], calls: int
    ) -> None:
        self._graphs = graphs  # they own the state of generators, and keep the memory of outputs
        self.outputs = outputs
        self.calls = calls
        self._chain = _Chain(graphs, calls)

    @cached_property
    def _single_pass(self) -> "_Chain":
        return _Chain(self._graphs, len(self._graphs))

    def replay(self) -> None:
        """Queue all calls."""
        self._chain.launch()

    def replay_pass(self) -> None:
        """Queue one call on each set."""
        self._single_pass.launch()


class _Chain:
    """An executable graph of child graphs, one after the other, in turn over those given."""

    def __init__(self, graphs: Sequence[torch.cuda.CUDAGraph], calls: int) -> None:
        self._driver = driver = _driver()
        children = [driver.CUgraph(int(graph.raw_cuda_graph())) for graph in graphs]
        chain = _checked(driver.cuGraphCreate(0))
        try:
            before: list[Any] = []
            for child in islice(cycle(children), calls):
                before = [
                    _checked(driver.cuGraphAddChildGraphNode(chain, before or None, len(before), child))
                ]
            self._executable = _checked(driver.cuGraphInstantiate(chain, 0))
        finally:
            driver.cuGraphDestroy(chain)

    def launch(self) -> None:
        _checked(self._driver.cuGraphLaunch(self._executable, torch.cuda.current_stream().cuda_stream))

    def __del__(self) -> None:
        executable = getattr(self, "_executable", None)
        if executable is not None:
            with suppress(Exception):  # at the end of the process the driver may be gone
                self._driver.cuGraphExecDestroy(executable)


def _driver() -> Any:
    return importlib.import_module("cuda.bindings.driver")  # not on machines without a GPU


def _checked(returned: tuple[Any, ...]) -> Any:
    """The value of a driver's call. Raises RuntimeError."""
    error, *values = returned
    if int(error):
        raise RuntimeError(f"The driver refuses a graph of the calls: {error.name}.")
    return values[0] if values else None


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
        self._rehearsal: list[torch.cuda.CUDAGraph] = []

    def capture(self, call: Call, sets: Sequence[InputSet], calls: int) -> CapturedCalls:
        """A graph of calls in turn over the sets, each of which has its own outputs.

        Raises RuntimeError where a graph cannot capture the call, LegacyStreamUsed where it launches outside,
        and WrongResult where calls launch different work.
        """
        if not self._rehearsal:
            graphs, _ = self._capture_each(call, sets)
            self._rehearsal = graphs[:1]
            del graphs
        graphs, outputs = self._capture_each(call, sets)
        _require_equal_work(graphs)
        return CapturedCalls(graphs, outputs, calls)

    def _capture_each(
        self, call: Call, sets: Sequence[InputSet]
    ) -> tuple[list[torch.cuda.CUDAGraph], list[tuple[OutputView, ...]]]:
        # A stream that is ordered with the legacy one: a launch on that one then ends the capture with an
        # error, and is not carried out beside it unseen.
        try:
            return self._capture_on(_blocking_stream(), call, sets)
        except RuntimeError:
            torch.cuda.synchronize()  # raises again where the device itself is broken
            if _captures_beside(call, sets[0]):
                raise LegacyStreamUsed from None
            raise

    def _capture_on(
        self, stream: torch.cuda.Stream, call: Call, sets: Sequence[InputSet]
    ) -> tuple[list[torch.cuda.CUDAGraph], list[tuple[OutputView, ...]]]:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        graphs: list[torch.cuda.CUDAGraph] = []
        outputs: list[tuple[torch.Tensor, ...]] = []  # alive until the end, so that each has its own memory
        collects = gc.isenabled()
        gc.disable()  # a collection might destroy a graph, which the driver forbids during a capture
        try:
            with torch.cuda.stream(stream):
                for inputs in sets:
                    graphs.append(torch.cuda.CUDAGraph(keep_graph=True))
                    outputs.append(self._captured(graphs[-1], call, inputs))
        finally:
            if collects:
                gc.enable()
        torch.cuda.synchronize()
        return graphs, [tuple(map(OutputView.of, of_one)) for of_one in outputs]

    def _captured(
        self, graph: torch.cuda.CUDAGraph, call: Call, inputs: InputSet
    ) -> tuple[torch.Tensor, ...]:
        """Capture one call. A capture that fails leaves nothing behind.

        After a failure torch's allocators up to 2.11 go on recording (pytorch pull request 180395): every
        later capture and ``empty_cache`` would fail. The recording of pinned memory cannot be ended from
        outside, so that allocator refuses this pool for good, and later graphs get another.
        """
        graph.capture_begin(pool=self._handle, capture_error_mode="thread_local")
        try:
            try:
                return as_tuple(call(*inputs))
            finally:
                graph.capture_end()
        except BaseException:
            if _was_recording(self._handle):
                self._handle, self._rehearsal = torch.cuda.graph_pool_handle(), []
            raise


@cache
def _blocking_stream() -> torch.cuda.Stream:
    runtime: Any = importlib.import_module("cuda.bindings.runtime")
    return torch.cuda.ExternalStream(int(_checked(runtime.cudaStreamCreate())))


def _captures_beside(call: Call, inputs: InputSet) -> bool:
    """Whether a stream that is not ordered with the legacy one captures a call that a blocking one could not.

    Then the call launched on the legacy stream.
    """
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    try:
        with torch.cuda.stream(torch.cuda.Stream()):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                call(*inputs)
            finally:
                graph.capture_end()
    except RuntimeError:
        return False
    finally:
        torch.cuda.synchronize()
    return True


def _require_equal_work(graphs: Sequence[torch.cuda.CUDAGraph]) -> None:
    """Raises WrongResult where one call launches other work than another."""
    counts = [len(_nodes(graph)) for graph in graphs]
    usual, _ = Counter(counts).most_common(1)[0]
    for index, count in enumerate(counts):
        if count != usual:
            raise WrongResult(
                FailureKind.TAMPERED,
                f"launches {count} operations in call {index + 1} of a capture and {usual} in most others; "
                "each call must do the same work.",
            )
    if not usual:
        raise RuntimeError("it launches nothing that a graph could capture")
    step = max(len(graphs) // _COMPARED_CALLS, 1)
    first = _launches(graphs[0])
    for index in range(0, len(graphs), step):
        if _launches(graphs[index]) != first:
            raise WrongResult(
                FailureKind.TAMPERED,
                f"launches other kernels, or other grids of them, in call {index + 1} of a capture than in "
                "the first; each call must do the same work.",
            )


def _nodes(graph: torch.cuda.CUDAGraph) -> list[Any]:
    driver = _driver()
    raw = driver.CUgraph(int(graph.raw_cuda_graph()))
    error, _, count = driver.cuGraphGetNodes(raw, 0)
    if int(error) or not count:
        return []
    return list(driver.cuGraphGetNodes(raw, count)[1])[:count]


def _launches(graph: torch.cuda.CUDAGraph) -> list[tuple[int, ...]]:
    """By node its kind and, of a kernel, its function, grid, block and dynamic shared memory."""
    driver = _driver()
    found: list[tuple[int, ...]] = []
    for node in _nodes(graph):
        kind = _checked(driver.cuGraphNodeGetType(node))
        if kind == driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL:
            p = _checked(driver.cuGraphKernelNodeGetParams(node))
            grid = (p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ)
            found.append((int(kind), int(p.func) or int(p.kern), *grid, p.sharedMemBytes))
        else:
            found.append((int(kind),))
    return found


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

"""CUDA graphs of calls, and the memory that the implementations of a job share for their outputs."""

import gc
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from itertools import cycle, islice
from typing import Any, NamedTuple

import torch

from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.cuda_calls import checked, driver, runtime
from roofscope.profiling.worker.inputs import InputSet, as_tuple
from roofscope.profiling.worker.raw_memory import tensor_at
from roofscope.profiling.worker.timing.graph_nodes import raw_graph, require_equal_work
from roofscope.profiling.worker.timing.l2_policy import forget_policy, require_no_policy_captured

_REFUSED = "The driver refuses a graph of the calls"


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
    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, output: torch.Tensor) -> "OutputView":
        return cls(output.data_ptr(), output.shape, output.stride(), output.dtype, output.device)

    def tensor(self) -> torch.Tensor:
        """The output as it lies there now. Valid until another graph of the pool is replayed."""
        return tensor_at(*self)


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
        self._chain = Chain(graphs, calls)

    @cached_property
    def _single_pass(self) -> "Chain":
        if self.calls == len(self._graphs):
            return self._chain
        return Chain(self._graphs, len(self._graphs))

    def upload(self) -> None:
        """Copy the graph to the device, which its first launch would do in front of the calls."""
        self._chain.upload()

    def replay(self) -> None:
        """Queue all calls."""
        self._chain.launch()

    def replay_pass(self) -> None:
        """Queue one call on each set."""
        self._single_pass.launch()


class Chain:
    """An executable graph of child graphs, one after the other, in turn over those given.

    Of one call it is the graph itself: with events in a child the selftest did not pass.
    """

    def __init__(self, graphs: Sequence[torch.cuda.CUDAGraph], calls: int) -> None:
        self._cuda = cuda = driver()
        children = [raw_graph(graph) for graph in graphs]
        if calls == 1:
            self._executable = checked(cuda.cuGraphInstantiate(children[0], 0), _REFUSED)
            return
        chain = checked(cuda.cuGraphCreate(0), _REFUSED)
        try:
            before: list[Any] = []
            for child in islice(cycle(children), calls):
                added = cuda.cuGraphAddChildGraphNode(chain, before or None, len(before), child)
                before = [checked(added, _REFUSED)]
            self._executable = checked(cuda.cuGraphInstantiate(chain, 0), _REFUSED)
        finally:
            cuda.cuGraphDestroy(chain)

    def upload(self) -> None:
        stream = torch.cuda.current_stream().cuda_stream
        checked(self._cuda.cuGraphUpload(self._executable, stream), _REFUSED)

    def launch(self) -> None:
        stream = torch.cuda.current_stream().cuda_stream
        checked(self._cuda.cuGraphLaunch(self._executable, stream), _REFUSED)

    def __del__(self) -> None:
        executable = getattr(self, "_executable", None)
        if executable is not None:
            with suppress(Exception):  # at the end of the process the driver may be gone
                self._cuda.cuGraphExecDestroy(executable)


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
        and WrongResult where calls launch different work or keep data in L2.
        """
        if not self._rehearsal:
            graphs, _ = self._capture_each(call, sets)
            self._rehearsal = graphs[:1]
            del graphs
        graphs, outputs = self._capture_each(call, sets)
        require_equal_work(graphs)
        require_no_policy_captured(graphs)
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
        forget_policy(stream)
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
    return torch.cuda.ExternalStream(int(checked(runtime().cudaStreamCreate(), _REFUSED)))


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

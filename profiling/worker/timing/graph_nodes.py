"""What captured graphs will do, read from their nodes before they are replayed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.cuda_calls import checked, driver
from roofscope.profiling.worker.failures import WrongResult

_COMPARED_CALLS = 64  # whose kernels are compared; all are counted
_NOT_READ = "The driver does not say what a graph of the calls holds"


def require_equal_work(graphs: Sequence[torch.cuda.CUDAGraph]) -> None:
    """Raises WrongResult where one call launches other work than another."""
    counts = [len(_nodes_of(raw_graph(graph))) for graph in graphs]
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


def raw_graph(graph: torch.cuda.CUDAGraph) -> Any:
    """The driver's handle of a graph that was kept after its capture."""
    return driver().CUgraph(int(graph.raw_cuda_graph()))


def _nodes_of(graph: Any) -> list[Any]:
    error, _, count = driver().cuGraphGetNodes(graph, 0)
    if int(error) or not count:
        return []
    return list(driver().cuGraphGetNodes(graph, count)[1])[:count]


def _launches(graph: torch.cuda.CUDAGraph) -> list[tuple[int, ...]]:
    """By node its kind and, of a kernel, its function, grid, block and dynamic shared memory."""
    cuda = driver()
    found: list[tuple[int, ...]] = []
    for node in _nodes_of(raw_graph(graph)):
        kind = checked(cuda.cuGraphNodeGetType(node), _NOT_READ)
        if kind == cuda.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL:
            p = checked(cuda.cuGraphKernelNodeGetParams(node), _NOT_READ)
            grid = (p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ)
            found.append((int(kind), int(p.func) or int(p.kern), *grid, p.sharedMemBytes))
        else:
            found.append((int(kind),))
    return found


def kernels_of(graph: Any) -> Iterator[Any]:
    """The kernels of a graph and of the graphs within it: a call may launch a graph of its own."""
    cuda = driver()
    for node in _nodes_of(graph):
        match checked(cuda.cuGraphNodeGetType(node), _NOT_READ):
            case cuda.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL:
                yield node
            case cuda.CUgraphNodeType.CU_GRAPH_NODE_TYPE_GRAPH:
                yield from kernels_of(checked(cuda.cuGraphChildGraphNodeGetGraph(node), _NOT_READ))
            case _:
                pass

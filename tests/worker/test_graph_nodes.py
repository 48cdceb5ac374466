"""What is read from captured graphs, by a driver that is played: their work, and what they keep in L2."""

from enum import IntEnum
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
import torch

from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.timing import graph_nodes, l2_policy


class Property(IntEnum):
    CU_ACCESS_PROPERTY_NORMAL = 0
    CU_ACCESS_PROPERTY_STREAMING = 1
    CU_ACCESS_PROPERTY_PERSISTING = 2


class Kind(IntEnum):
    CU_GRAPH_NODE_TYPE_KERNEL = 0
    CU_GRAPH_NODE_TYPE_MEMCPY = 1
    CU_GRAPH_NODE_TYPE_GRAPH = 4


class Window(NamedTuple):
    num_bytes: int = 0
    hitProp: Property = Property.CU_ACCESS_PROPERTY_NORMAL
    hitRatio: float = 0.0


class Kernel(NamedTuple):
    grid: int = 1
    window: Window = Window()


PERSISTS = Window(4096, Property.CU_ACCESS_PROPERTY_PERSISTING, 1.0)
COPY = "a copy"
Nodes = list[Any]  # kernels, copies, and lists that are graphs within


class Graph:
    """As torch keeps a captured graph."""

    def __init__(self, *nodes: Any) -> None:
        self.nodes = list(nodes)

    def raw_cuda_graph(self) -> int:
        return id(self)


class Driver:
    """As the bindings answer: an error's number, then values."""

    CUgraphNodeType = Kind
    CUaccessProperty = Property
    CUkernelNodeAttrID = CUstreamAttrID = SimpleNamespace(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW=1)

    def __init__(self, *graphs: Graph) -> None:
        self._nodes = {id(graph): graph.nodes for graph in graphs}
        self.of_stream: dict[int, Window] = {}

    def CUgraph(self, handle: int) -> Nodes:
        return self._nodes[handle]

    def CUstreamAttrValue(self) -> Any:
        return SimpleNamespace(accessPolicyWindow=Window())

    def cuGraphGetNodes(self, graph: Nodes, count: int) -> tuple[int, Nodes, int]:
        return 0, graph[:count], len(graph)

    def cuGraphNodeGetType(self, node: Any) -> tuple[int, Kind]:
        if isinstance(node, list):
            return 0, Kind.CU_GRAPH_NODE_TYPE_GRAPH
        is_copy = node is COPY
        return 0, Kind.CU_GRAPH_NODE_TYPE_MEMCPY if is_copy else Kind.CU_GRAPH_NODE_TYPE_KERNEL

    def cuGraphChildGraphNodeGetGraph(self, node: Nodes) -> tuple[int, Nodes]:
        return 0, node

    def cuGraphKernelNodeGetParams(self, node: Kernel) -> tuple[int, Any]:
        sides = dict.fromkeys(("gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ"), 1)
        return 0, SimpleNamespace(gridDimX=node.grid, func=7, kern=0, sharedMemBytes=0, **sides)

    def cuGraphKernelNodeGetAttribute(self, node: Kernel, attribute: int) -> tuple[int, Any]:
        assert attribute == 1
        return 0, SimpleNamespace(accessPolicyWindow=node.window)

    def cuStreamGetAttribute(self, stream: int, attribute: int) -> tuple[int, Any]:
        assert attribute == 1
        return 0, SimpleNamespace(accessPolicyWindow=self.of_stream.get(stream, Window()))

    def cuStreamSetAttribute(self, stream: int, attribute: int, value: Any) -> tuple[int]:
        assert attribute == 1
        self.of_stream[stream] = value.accessPolicyWindow
        return (0,)


def played(monkeypatch: pytest.MonkeyPatch, *graphs: Graph) -> tuple[Driver, list[torch.cuda.CUDAGraph]]:
    driver = Driver(*graphs)
    for module in (graph_nodes, l2_policy):
        monkeypatch.setattr(module, "driver", lambda: driver)
    return driver, cast(list[torch.cuda.CUDAGraph], list(graphs))


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        (Graph(Kernel()), "launches 1 operations in call 4 of a capture and 2 in most others"),
        (Graph(COPY, COPY), "launches other kernels, or other grids of them, in call 4"),
        (Graph(Kernel(grid=2), COPY), "launches other kernels, or other grids of them, in call 4"),
    ],
)
def test_each_call_must_do_the_same_work(monkeypatch: pytest.MonkeyPatch, last: Graph, sentence: str) -> None:
    equal = [Graph(Kernel(), COPY) for _ in range(3)]
    _, graphs = played(monkeypatch, *equal, last)
    graph_nodes.require_equal_work(graphs[:3])
    with pytest.raises(WrongResult) as refused:
        graph_nodes.require_equal_work(graphs)
    assert refused.value.kind is FailureKind.TAMPERED
    assert sentence in str(refused.value)


def test_a_call_that_launches_nothing_cannot_be_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    _, graphs = played(monkeypatch, Graph(), Graph())
    with pytest.raises(RuntimeError, match="launches nothing"):
        graph_nodes.require_equal_work(graphs)


@pytest.mark.parametrize("nodes", [(Kernel(window=PERSISTS),), (COPY, [Kernel(), [Kernel(window=PERSISTS)]])])
def test_a_kernel_that_keeps_data_in_l2_is_refused(
    monkeypatch: pytest.MonkeyPatch, nodes: tuple[Any, ...]
) -> None:
    """In any call, not only in those whose kernels are compared, and in a graph within the call's."""
    honest = [Graph(COPY, Kernel()) for _ in range(200)]
    _, graphs = played(monkeypatch, *honest, Graph(*nodes))
    l2_policy.require_no_policy_captured(graphs[:200])
    with pytest.raises(WrongResult, match=r"keeps 4096 B in L2 .* of a kernel in call 201 of a") as refused:
        l2_policy.require_no_policy_captured(graphs)
    assert refused.value.kind is FailureKind.TAMPERED


@pytest.mark.parametrize(
    "window",
    [
        Window(),
        Window(4096, Property.CU_ACCESS_PROPERTY_STREAMING, 1.0),  # makes place for others
        Window(4096, Property.CU_ACCESS_PROPERTY_PERSISTING, 0.0),
        Window(0, Property.CU_ACCESS_PROPERTY_PERSISTING, 1.0),
    ],
)
def test_a_policy_by_which_nothing_persists_is_well(monkeypatch: pytest.MonkeyPatch, window: Window) -> None:
    driver, graphs = played(monkeypatch, Graph(Kernel(window=window)))
    l2_policy.require_no_policy_captured(graphs)
    driver.of_stream[3] = window
    l2_policy.require_no_policy(cast(torch.cuda.Stream, SimpleNamespace(cuda_stream=3)))


def test_a_driver_that_tells_of_no_policy_accuses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, graphs = played(monkeypatch, Graph(Kernel(window=PERSISTS)))
    monkeypatch.setattr(driver, "cuGraphKernelNodeGetAttribute", lambda *_: (801, None))
    l2_policy.require_no_policy_captured(graphs)


def test_a_policy_left_on_a_stream_is_refused_and_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, _ = played(monkeypatch)
    stream = cast(torch.cuda.Stream, SimpleNamespace(cuda_stream=3))
    driver.of_stream[3] = PERSISTS
    with pytest.raises(WrongResult, match=r"keeps 4096 B in L2 .* policy of its stream; ") as refused:
        l2_policy.require_no_policy(stream)
    assert refused.value.kind is FailureKind.TAMPERED
    l2_policy.forget_policy(stream)
    l2_policy.require_no_policy(stream)


def test_the_bindings_have_what_is_read() -> None:
    real: Any = pytest.importorskip("cuda.bindings.driver", reason="CUDA's bindings are not installed here")
    for name in (name for name in vars(Driver) if name.startswith("cu")):
        assert callable(getattr(real, name))
    for enum in (Kind, Property):
        of_real = getattr(real, {Kind: "CUgraphNodeType", Property: "CUaccessProperty"}[enum])
        assert {name: int(getattr(of_real, name)) for name in enum.__members__} == dict(enum.__members__)
    for ids, value in (
        (real.CUkernelNodeAttrID, real.CUkernelNodeAttrValue()),
        (real.CUstreamAttrID, real.CUstreamAttrValue()),
    ):
        assert int(ids.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) == 1
        assert value.accessPolicyWindow.num_bytes == 0

"""Decoding with a paged cache on a GPU: every number of splits, lengths of all kinds, pages that are none."""

from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs, reference, relative_error

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.profiling.worker.build.providers import cuda

pytestmark = [
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 0),
        reason="needs compute capability 8.0",
    ),
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
]
SIZES = [
    {"batch": 6, "kv_heads": 2, "group": 5, "pages": 40, "page": 16, "dim": 128},
    {"batch": 6, "kv_heads": 3, "group": 12, "pages": 23, "page": 7, "dim": 64},
]
SPLITS = [1, 2, 3, 7, 64]
CHOICES = [
    *(("triton_split", splits, False) for splits in SPLITS),
    *(("cuda_rings", splits, False) for splits in (*SPLITS, 200)),
    *(("cuda_rings", splits, True) for splits in (2, 3, 7, 8)),
]


def kernel_and_run(stem: str, splits: int, *, together: bool) -> tuple[Kernel, Any]:
    """The version, with so many parts of each sequence whatever its size, ``together`` those of a cluster."""
    if together and torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs clusters")
    kernel = CATALOG.kernel("paged_decode")
    assert kernel is not None
    module = load_module(kernel.folder / f"{stem}.py")
    if stem.startswith("triton"):
        module.split_count = lambda *_: splits  # type: ignore[attr-defined]
        return kernel, module.run
    module.parts_of = lambda *_, **__: (splits, together)  # type: ignore[attr-defined]
    device = torch.device("cuda", 0)
    architecture = cuda.architecture_of(torch.cuda.get_device_capability())
    program = cuda.CudaProgram(kernel.folder / f"{stem}.cu", Dtype.BFLOAT16, architecture, device)
    return kernel, lambda *inputs: module.run(program, *inputs)


def inputs_of(kernel: Kernel, sizes: dict[str, int]) -> Tensors:
    """With no key, one, more than the pages hold, fewer than none, one past a tile, and half of them."""
    *others, _ = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    most = sizes["pages"] * sizes["page"]
    lengths = torch.tensor([0, 1, most + 5, -3, 65, most // 2], dtype=torch.int32, device="cuda")
    return (*others, lengths)


@pytest.mark.parametrize(("stem", "splits", "together"), CHOICES)
def test_lengths_of_all_kinds_in_any_number_of_splits(stem: str, splits: int, together: bool) -> None:
    kernel, run = kernel_and_run(stem, splits, together=together)
    for sizes in SIZES:
        inputs = inputs_of(kernel, sizes)
        found = run(*inputs)
        assert relative_error((found,), reference(kernel, inputs)) < 8e-3, sizes
        assert not found[[0, 3]].any()


@pytest.mark.parametrize(("stem", "splits", "together"), CHOICES)
def test_a_page_that_is_not_in_the_pool_is_not_read(stem: str, splits: int, together: bool) -> None:
    """Its sequence has NaN, and none other; beyond the keys that count it does not matter."""
    kernel, run = kernel_and_run(stem, splits, together=together)
    for sizes in SIZES:
        inputs = inputs_of(kernel, sizes)
        table = inputs[3]
        table[1, 0], table[4, 0], table[5, -1] = 10**9, -1, -1
        found = run(*inputs).flatten(1)
        assert found.isnan().all(dim=1).tolist() == [False, True, False, False, True, False]
        assert found[[0, 2, 3, 5]].isfinite().all()


@pytest.mark.parametrize(("stem", "splits", "together"), CHOICES)
def test_a_call_waits_for_the_one_in_front(stem: str, splits: int, together: bool) -> None:
    """In a graph, kernels write the inputs of each two calls, of which the second follows the first."""
    kernel, run = kernel_and_run(stem, splits, together=together)
    for sizes in SIZES:
        sources = inputs_of(kernel, sizes)
        others = (*(tensor.flip(0) for tensor in sources[:4]), sources[4])
        inputs = tuple(map(torch.clone, sources))
        run(*inputs)
        graph, found = torch.cuda.CUDAGraph(), list[torch.Tensor]()
        with torch.cuda.graph(graph):
            for written in (others, sources, others):
                for to, of in zip(inputs, written, strict=True):
                    torch.add(of, 0, out=to)
                run(*inputs)
                found.append(run(*inputs))
        graph.replay()
        torch.cuda.synchronize()
        for written, one in zip((others, sources, others), found, strict=True):
            assert relative_error((one,), reference(kernel, written)) < 8e-3, sizes

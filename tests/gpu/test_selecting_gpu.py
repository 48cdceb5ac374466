"""Kernels that select, sort or count, on a GPU, on data that are not random: exact in every version."""

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.inputs import as_tuple
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import implementations, name_of, reference
from roofscope.tests.kernels.hard_cases import LENGTHS, keys_of, rows_of, same

pytestmark = [
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, while it compiles
]

# Not the libraries: torch.topk takes positive zeros before negative ones.
EVERY = list(implementations(Provider.TRITON, Provider.CUDA))
SELECTING = [pair for pair in EVERY if pair[0].spec.name == "top_k"]
SORTING = [pair for pair in EVERY if pair[0].spec.name == "radix_sort"]
COUNTING = [pair for pair in EVERY if pair[0].spec.name == "histogram"]


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), SELECTING, ids=name_of)
def test_equal_elements_come_in_the_order_of_the_row(
    kernel: Kernel, version: Implementation, dtype: Dtype
) -> None:
    call = built(kernel, version, dtype)
    for cols in (*LENGTHS, 100_003):
        for name, rows in rows_of(cols):
            x = rows.to(getattr(torch, dtype))
            # On a CPU: torch's sort on a GPU does not take a NaN whose sign is set for the largest.
            for found, expected in zip(call(x.cuda()), reference(kernel, (x,)), strict=True):
                assert same(found.cpu(), expected), (name, cols)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), SELECTING, ids=name_of)
def test_rows_that_several_blocks_share(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """As many rows as have 8, 4 and 2 blocks each, or a block: many elements are alike."""
    call = built(kernel, version, dtype)
    generator = torch.Generator().manual_seed(1)
    for rows in (30, 66, 130, 264, 700):
        x = torch.randint(0, 300, (rows, 40_003), generator=generator).to(getattr(torch, dtype))
        for found, expected in zip(call(x.cuda()), reference(kernel, (x,)), strict=True):
            assert same(found.cpu(), expected), rows


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), SELECTING, ids=name_of)
def test_many_rows(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """Short ones, which warps have, and longer ones. Each second row is the same."""
    call = built(kernel, version, dtype)
    for count, cols in ((1000, 64), (1001, 65), (300, 256), (300, 423), (300, 512), (300, 24_001)):
        for name, rows in rows_of(cols):
            two = rows.to(getattr(torch, dtype))
            found = call(two.repeat(-(-count // 2), 1)[:count].contiguous().cuda())
            for one, of_two in zip(found, reference(kernel, (two,)), strict=True):
                assert same(one.cpu(), of_two.repeat(-(-count // 2), 1)[:count]), (name, cols)


@pytest.mark.parametrize(("kernel", "version"), SORTING, ids=name_of)
def test_keys_of_either_sign_and_many_alike_are_sorted(kernel: Kernel, version: Implementation) -> None:
    """Up to hundreds of tiles, which wait for each other, again and again."""
    call = built(kernel, version, Dtype.FLOAT32)
    short = 132 * 2048  # where cuda_onesweep has a tile on each multiprocessor of an H100
    few = (1, 513, 2048, 2049, 4097, 8193, 10_240, 10_241)
    for n in (*few, 105_903, short, short + 1, 2**21 - 1, 2**21, 3_000_001):
        for name, keys in keys_of(n):
            key = keys.cuda()
            for _ in range(5):
                assert torch.equal(call(key)[0], key.sort().values), (name, n)


@pytest.mark.parametrize(("kernel", "version"), SORTING, ids=name_of)
def test_a_sort_waits_for_what_is_in_front(kernel: Kernel, version: Implementation) -> None:
    """In a graph, kernels write the keys of each two calls, of which the second follows the first."""
    workload = Workload(kernel.spec.name, Dtype.FLOAT32, {})
    sort = providers.build(BuildRequest(version, kernel.folder, workload, torch.device("cuda", 0))).call
    for n in (700, 30_011, 105_903, 400_000):
        sources = [torch.randint(-(2**31), 2**31 - 1, (n,), device="cuda").int() for _ in range(3)]
        key, found = sources[0].clone(), list[torch.Tensor]()
        sort(key)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for source in sources:
                torch.add(source, 0, out=key)
                sort(key)
                found.extend(as_tuple(sort(key)))
        for _ in range(20):
            graph.replay()
            for source, result in zip(sources, found, strict=True):
                assert torch.equal(result, source.sort().values), n


@pytest.mark.parametrize(("kernel", "version"), SORTING, ids=name_of)
def test_keys_begin_anywhere_and_may_be_in_order(kernel: Kernel, version: Implementation) -> None:
    call = built(kernel, version, Dtype.FLOAT32)
    rising = torch.arange(-150_000, 150_007, dtype=torch.int32, device="cuda")
    for start in range(5):
        for key in (rising[start:], rising.flip(0)[start:], (rising // 1000)[start:]):
            assert torch.equal(call(key)[0], key.sort().values), start


@pytest.mark.parametrize(("kernel", "version"), COUNTING, ids=name_of)
def test_every_key_may_be_the_same(kernel: Kernel, version: Implementation) -> None:
    call = built(kernel, version, Dtype.FLOAT32)
    for key in (0, 255):
        (count,) = call(torch.full((1_000_003,), key, dtype=torch.int32, device="cuda"))
        assert count.sum() == count[key] == 1_000_003

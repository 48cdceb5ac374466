"""Attention over packed sequences on a GPU: lengths of all kinds, many of them, NaN that stays."""

from collections.abc import Callable

import pytest
import torch

from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import CATALOG, Tensors, reference, relative_error

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.profiling.worker.build.providers import cuda

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
]
LENGTHS = [
    (1,),
    (1, 1, 1),
    (128, 256, 192, 384),
    (127, 129, 191, 193, 383, 385),
    (0, 0, 130, 0, 5),
    (2049, 1, 511),
    (3,) * 300,  # more sequences than a block sorts
]
Call = Callable[..., torch.Tensor]


def version(stem: str) -> Call:
    kernel = CATALOG.kernel("attention_varlen")
    assert kernel is not None
    if stem in ("cuda_wgmma", "triton_gluon") and torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs wgmma")
    module = load_module(kernel.folder / f"{stem}.py")
    if not stem.startswith("cuda"):
        return module.run
    device = torch.device("cuda", 0)
    architecture = cuda.architecture_of(torch.cuda.get_device_capability())
    program = cuda.CudaProgram(kernel.folder / f"{stem}.cu", Dtype.BFLOAT16, architecture, device)
    return lambda *inputs: module.run(program, *inputs)


def inputs_of(lengths: tuple[int, ...], kv_heads: int, group: int, dim: int) -> Tensors:
    draw = torch.Generator("cuda").manual_seed(sum(lengths))
    q, k, v = (
        torch.empty(sum(lengths), heads, dim, device="cuda").uniform_(-1, 1, generator=draw).bfloat16()
        for heads in (kv_heads * group, kv_heads, kv_heads)
    )
    bound = torch.empty(max(lengths), 0, dtype=torch.bfloat16, device="cuda")
    return q, k, v, bound, torch.tensor([0, *lengths]).cumsum(dim=0).int().cuda()


@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize(
    "stem",
    [
        "eager",
        "eager_loop",
        "cuda_naive",
        "cuda_wgmma",
        "triton_flash",
        "triton_longest_first",
        "triton_gluon",
    ],
)
def test_lengths_of_all_kinds(stem: str, dim: int) -> None:
    kernel, run = CATALOG.kernel("attention_varlen"), version(stem)
    assert kernel is not None
    for lengths in LENGTHS:
        for heads in ((2, 1), (1, 3), (2, 8)):
            inputs = inputs_of(lengths, *heads, dim)
            assert relative_error((run(*inputs),), reference(kernel, inputs)) < 8e-3, (lengths, heads)


@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize(
    "stem", ["cuda_naive", "cuda_wgmma", "triton_flash", "triton_longest_first", "triton_gluon"]
)
def test_nan_stays_in_its_sequence(stem: str, dim: int) -> None:
    """Also where a tile of keys and values has rows of the next sequence."""
    run = version(stem)
    inputs = inputs_of((130, 70, 1, 500, 60), 2, 2, dim)
    clean = run(*inputs)
    for x in inputs[:3]:
        x[130:200] = torch.nan
    inputs[2][201] = torch.inf
    found = run(*inputs)
    assert torch.equal(found[:130], clean[:130])
    assert found[130:200].isnan().all()
    assert torch.equal(found[200], clean[200])
    assert torch.equal(found[701:], clean[701:])


def test_offsets_that_are_wrong_reach_no_row_beyond_the_tokens() -> None:
    run = version("cuda_wgmma")
    inputs = inputs_of((100, 200), 2, 1, 128)
    right = run(*inputs)
    inputs[4][:] = torch.tensor([-7, 100, 10**6], device="cuda")
    assert torch.equal(run(*inputs), right)
    torch.cuda.synchronize()

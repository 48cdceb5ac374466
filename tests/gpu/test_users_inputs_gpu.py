"""What a user's own tensors bring: views under autograd, labels that are no column, very many columns."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.failures import Refusal

Call = Callable[..., Any]

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
both_dtypes = pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16], ids=str)


def load(key: str) -> Any:
    return load_module(LIBRARY / f"{key}.py")


def program(key: str, dtype: Dtype) -> Any:
    from roofscope.profiling.worker.build.providers import cuda

    architecture = cuda.architecture_of(torch.cuda.get_device_capability())
    return cuda.CudaProgram(LIBRARY / f"{key}.cu", dtype, architecture, torch.device("cuda", 0))


def version(key: str, dtype: Dtype) -> Call:
    """``run`` of a Triton version, or of a CUDA one with its program."""
    return partial(load(key).run, program(key, dtype)) if "/cuda_" in key else load(key).run


def uniform(*shape: int, dtype: Dtype = Dtype.FLOAT32) -> torch.Tensor:
    return torch.empty(shape, dtype=getattr(torch, dtype), device="cuda").uniform_(-1, 1)


def error_of(found: torch.Tensor, expected: torch.Tensor) -> float:
    return ((found.double() - expected.double()).norm() / expected.double().norm()).item()


@both_dtypes
@pytest.mark.parametrize("stem", ["triton_online", "cuda_naive", "cuda_online"])
@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        *((300, 50257), (8, 128_256), (16, 36_642), (400, 9001), (9001, 2188), (60_000, 300), (300_000, 20)),
        *((4001, 5), (1401, 118), (500, 252), (300, 2004), (300, 2001), (601, 2940), (9001, 1380)),
    ],
)
def test_labels_that_are_no_column(stem: str, dtype: Dtype, rows: int, cols: int) -> None:
    """At the allocation's two ends, and far from it, where a read would be a fault."""
    logits, labels = uniform(rows, cols, dtype=dtype), torch.randint(0, cols, (rows,), device="cuda")
    labels[::3] = -100
    run = version(f"cross_entropy/{stem}", dtype)
    found, expected = run(logits, labels), functional.cross_entropy(logits.float(), labels, reduction="none")
    assert not found[::3].count_nonzero()
    assert error_of(found, expected) < (2e-6 if dtype is Dtype.FLOAT32 else 8e-3)
    labels[0], labels[1], labels[-1] = -1, -(2**40), cols
    found = run(logits, labels)
    assert found[[0, 1, -1]].isnan().all()
    assert not found[2:-1].isnan().any()


@both_dtypes
@pytest.mark.parametrize("first", [0, 1, 6])
@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        *((300_001, 7), (210_001, 61), (60_001, 301), (20_001, 1101), (9001, 2187), (459, 5681), (3, 36641)),
        *((2001, 2941), (601, 6284)),
    ],
)
def test_logits_that_begin_anywhere(dtype: Dtype, rows: int, cols: int, first: int) -> None:
    """With what a mask leaves, and a row of one number."""
    every = uniform(rows * cols + first, dtype=dtype)
    every[every > 0.5] = torch.finfo(every.dtype).min
    logits, labels = every[first:].view(rows, cols), torch.randint(0, cols, (rows,), device="cuda")
    logits[-1] = 1.0
    labels[:] = logits.argmax(1)
    run = version("cross_entropy/cuda_online", dtype)
    found, expected = run(logits, labels), functional.cross_entropy(logits.float(), labels, reduction="none")
    assert error_of(found, expected) < (2e-6 if dtype is Dtype.FLOAT32 else 8e-3)


@pytest.mark.parametrize("stem", ["triton_registers", "cuda_registers"])
def test_softmax_of_a_transposed_matrix(stem: str) -> None:
    forward, backward = (version(f"{k}/{stem}", Dtype.FLOAT32) for k in ("softmax", "softmax_backward"))
    x = uniform(300, 520).requires_grad_()
    found, expected = load("softmax/autograd").differentiable(forward, backward)(x.T), torch.softmax(x.T, 1)
    assert error_of(found, expected) < 1e-5
    weights = torch.randn_like(expected)  # a gradient that is no difference of nearly equal numbers
    gradients = [torch.autograd.grad((y * weights).sum(), x)[0] for y in (found, expected)]
    assert error_of(*gradients) < 1e-5


def attention_calls(name: str) -> tuple[Call, Call]:
    mma = load("shared/mma_attention")
    keys = ("attention/cuda_mma", "attention_backward/cuda_mma")
    by_mma = [program(key, Dtype.BFLOAT16) for key in keys]
    backward = partial(mma.gradients, by_mma[1], keys[1])
    match name:
        case "triton":
            flash, gradients = (
                load("shared/flash_attention"),
                load("shared/flash_attention_backward").gradients,
            )
            return partial(flash.attend, causal=False), partial(gradients, causal=False)
        case "mma":
            return partial(mma.attend, by_mma[0], keys[0]), backward
        case "wgmma":
            compiled = program("attention/cuda_wgmma", Dtype.BFLOAT16)
            attend = load("shared/wgmma_attention").attend
            return partial(attend, compiled, "attention/cuda_wgmma", causal=False), backward
        case "eager":  # whose o has the heads of a row side by side
            return partial(load("attention/eager").with_lse, causal=False), backward
        case _:
            return partial(load(f"shared/{name}_attention").attend, name, causal=False), backward


@pytest.mark.parametrize("name", ["triton", "mma", "wgmma", "gluon", "warp_specialized", "eager"])
def test_attention_of_transposed_views(name: str) -> None:
    qkv = [uniform(2, 513, 4, 128, dtype=Dtype.BFLOAT16).transpose(1, 2).requires_grad_() for _ in "qkv"]
    try:
        found = load("attention/autograd").differentiable(*attention_calls(name))(*qkv)
    except Refusal as refusal:
        pytest.skip(str(refusal))
    expected = functional.scaled_dot_product_attention(*(x.float() for x in qkv))
    assert error_of(found, expected) < 8e-3
    gradients = [torch.autograd.grad(y.float().sin().sum(), qkv) for y in (found, expected)]
    assert max(error_of(*pair) for pair in zip(*gradients, strict=True)) < 3e-2


@pytest.mark.parametrize(
    ("dtype", "n", "k"), [(Dtype.BFLOAT16, 2**26, 72), (Dtype.FLOAT32, 2**27, 24)], ids=str
)
def test_a_product_with_more_columns_than_32_bits_step_over(dtype: Dtype, n: int, k: int) -> None:
    """A step of 32 rows of B, or of 16, is 2^31 elements."""
    if torch.cuda.mem_get_info()[0] < 1.3 * (k + 16) * n * dtype.itemsize:
        pytest.skip("the matrices take more memory than is free")
    a, b = uniform(16, k, dtype=dtype), uniform(k, n, dtype=dtype)
    found = load("matmul/triton_grouped").run(a, b)
    for start in (0, n // 2, n - 4096):
        part = slice(start, start + 4096)
        error = error_of(found[:, part], a.double() @ b[:, part].double())
        assert error < (5e-6 if dtype is Dtype.FLOAT32 else 8e-3)

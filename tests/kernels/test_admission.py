"""A user's own tensors under ``autograd.py``: right numbers for any strides, and a sentence for the rest."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional

from roofscope.kernels.shared.admission import admit
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.worker.failures import Refusal

Call = Callable[..., Any]
Tensors = list[torch.Tensor]


def load(kernel: str, stem: str) -> Any:
    return load_module(LIBRARY / kernel / f"{stem}.py")


def raw(*tensors: torch.Tensor) -> Tensors:
    """The tensors as a kernel sees them, by address and count: what lies there in one run, NaN beyond."""
    read = []
    for tensor in tensors:
        memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        run = memory[tensor.storage_offset() :][: tensor.numel()]
        read.append(functional.pad(run, (0, tensor.numel() - len(run)), value=torch.nan).view(tensor.shape))
    return read


def by_address(call: Call) -> Call:
    """A version that, like every kernel of ours, knows no strides."""

    def run(*tensors: torch.Tensor) -> Any:
        return call(*raw(*tensors))

    return run


def differentiable(kernel: str) -> Call:
    """Of eager versions that take tensors by address."""
    if kernel == "attention":
        forward = partial(load("attention", "eager").with_lse, causal=True)
        backward = load("attention_backward_causal", "eager").run
    else:
        forward, backward = load(kernel, "eager").run, load(f"{kernel}_backward", "eager").run
    return load(kernel, "autograd").differentiable(by_address(forward), by_address(backward))


AUTOGRADS_OWN: dict[str, Call] = {
    "attention": partial(functional.scaled_dot_product_attention, is_causal=True),
    "gelu": partial(functional.gelu, approximate="tanh"),
    "layer_norm": lambda x, w, b: functional.layer_norm(x, w.shape, w, b, 1e-5),
    "rms_norm": lambda x, w: functional.rms_norm(x, w.shape, w, 1e-6),
    "softmax": lambda x: torch.softmax(x, dim=1),
    "weighted_sum": lambda x, w: x @ w,
}
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "attention": [(2, 3, 7, 4)] * 3,
    "gelu": [(6, 10)],
    "layer_norm": [(6, 10), (10,), (10,)],
    "rms_norm": [(6, 10), (10,)],
    "softmax": [(6, 10)],
    "weighted_sum": [(6, 10), (10,)],
}
each_kernel = pytest.mark.parametrize("kernel", SHAPES)


def transposed(x: torch.Tensor) -> torch.Tensor:
    """Equal values; (batch, heads, seq, dim) lies as (batch, seq, heads, dim), a matrix by columns."""
    if x.dim() == 1:
        return torch.stack((x, x + 1), dim=1)[:, 0]  # every second element of a run
    return x.transpose(-3, -2).contiguous().transpose(-3, -2) if x.dim() == 4 else x.T.contiguous().T


def sliced(x: torch.Tensor) -> torch.Tensor:
    """Equal values, amid others."""
    return functional.pad(x, (1, 2))[..., 1:-2]


def expanded(x: torch.Tensor) -> torch.Tensor:
    """The first element of the last dimension, in steps of 0."""
    return x[..., :1].clone().expand(x.shape)


def negated_by_torch(x: torch.Tensor) -> torch.Tensor:
    """Contiguous, with the opposite values in memory and a mark that only torch reads."""
    return torch._neg_view(-x)  # as z.conj().imag makes one


def inputs_of(kernel: str, lay: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> Tensors:
    generator = torch.Generator().manual_seed(1)
    made = [torch.randn(shape, dtype=dtype, generator=generator) for shape in SHAPES[kernel]]
    return [lay(x).detach().requires_grad_() for x in made]


@each_kernel
@pytest.mark.parametrize("lay", [transposed, sliced, expanded, negated_by_torch])
def test_strides_do_not_matter(kernel: str, lay: Callable[[torch.Tensor], torch.Tensor]) -> None:
    inputs = inputs_of(kernel, lay, torch.float64)
    assert any(not torch.equal(x, seen) for x, seen in zip(inputs, raw(*inputs), strict=True))
    found, expected = differentiable(kernel)(*inputs), AUTOGRADS_OWN[kernel](*inputs)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad(found.sin().sum(), inputs), torch.autograd.grad(expected.sin().sum(), inputs)
    )


@each_kernel
def test_a_contiguous_tensor_is_not_copied(kernel: str) -> None:
    inputs = inputs_of(kernel, torch.Tensor.contiguous, torch.float32)
    admitted = admit("It", **{f"x{i}": (x, "...") for i, x in enumerate(inputs)})
    assert all(a is b for a, b in zip(admitted, inputs, strict=True))


def test_an_output_that_is_not_contiguous_comes_to_backward_in_one_run() -> None:
    """PyTorch's FlashAttention gives o with heads inside of the sequence."""

    def forward(*qkv: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        o, lse = load("attention", "eager").with_lse(*qkv, causal=False)
        return transposed(o), lse.mT.contiguous().mT

    backward = by_address(load("attention_backward", "eager").run)
    attention = load("attention", "autograd").differentiable(forward, backward)
    inputs = inputs_of("attention", torch.Tensor.contiguous, torch.float64)
    found = torch.autograd.grad(attention(*inputs).sin().sum(), inputs)
    expected = torch.autograd.grad(functional.scaled_dot_product_attention(*inputs).sin().sum(), inputs)
    torch.testing.assert_close(found, expected)


def test_gelu_takes_any_shape_and_its_result_may_be_changed_in_place() -> None:
    for shape in [(), (0,), (3, 0), (2, 3, 4)]:
        x = torch.randn(shape, dtype=torch.float64).requires_grad_()
        y = differentiable("gelu")(x)
        assert y.shape == x.shape
        y.mul_(3.0).sum().backward()
        expected = torch.autograd.grad(3 * functional.gelu(x, approximate="tanh").sum(), x)[0]
        torch.testing.assert_close(x.grad, expected)


EMPTY: dict[str, list[list[tuple[int, ...]]]] = {
    "attention": [[(0, 3, 7, 4)] * 3, [(2, 3, 0, 4)] * 3],
    "layer_norm": [[(0, 5), (5,), (5,)], [(5, 0), (0,), (0,)]],
    "rms_norm": [[(0, 5), (5,)], [(5, 0), (0,)]],
    "softmax": [[(0, 5)], [(5, 0)]],
    "weighted_sum": [[(0, 5), (5,)], [(5, 0), (0,)]],
}


@pytest.mark.parametrize(
    ("kernel", "shapes"), [(kernel, shapes) for kernel, every in EMPTY.items() for shapes in every]
)
def test_empty_tensors_have_empty_results_and_gradients_of_zero(
    kernel: str, shapes: list[tuple[int, ...]]
) -> None:
    inputs = [torch.ones(shape, requires_grad=True) for shape in shapes]
    output = differentiable(kernel)(*inputs)
    output.sum().backward()
    assert not output.count_nonzero()
    for x in inputs:
        assert x.grad is not None
        assert x.grad.shape == x.shape
        assert not x.grad.count_nonzero()


@each_kernel
def test_each_input_alone_may_want_its_gradient(kernel: str) -> None:
    """A weight or an x that is not trained: the others' gradients are the same, and its own is absent."""
    every = inputs_of(kernel, torch.Tensor.contiguous, torch.float64)
    expected = torch.autograd.grad(AUTOGRADS_OWN[kernel](*every).sin().sum(), every)
    for wanted in range(len(every)):
        inputs = [x.detach().requires_grad_(i == wanted) for i, x in enumerate(every)]
        differentiable(kernel)(*inputs).sin().sum().backward()
        for i, x in enumerate(inputs):
            if i == wanted:
                torch.testing.assert_close(x.grad, expected[i])
            else:
                assert x.grad is None
    assert differentiable(kernel)(*(x.detach() for x in every)).grad_fn is None


def ones(*shape: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> torch.Tensor:
    return torch.ones(shape, dtype=dtype, device=device)


REFUSED: list[tuple[str, list[Any], str]] = [
    ("softmax", [ones(3)], "Softmax takes x of shape (rows, cols); this one has (3,)."),
    ("softmax", [ones()], "Softmax takes x of shape (rows, cols); this one has ()."),
    ("softmax", [[1.0, 2.0]], "Softmax takes tensors; x is of type list."),
    (
        "softmax",
        [ones(2, 2, dtype=torch.int64)],
        "Softmax takes elements of float64, float32, float16, bfloat16; x has int64.",
    ),
    ("softmax", [ones(2, 2).to_sparse()], "Softmax takes dense tensors; x is sparse_coo."),
    (
        "layer_norm",
        [ones(2, 3), ones(4), ones(3)],
        "Layer norm takes w of shape (cols,), with cols = 3 as x has it; this one has (4,).",
    ),
    ("layer_norm", [ones(2, 3), ones(3), None], "Layer norm takes tensors; b is of type NoneType."),
    (
        "rms_norm",
        [ones(2, 3, dtype=torch.bfloat16), ones(3)],
        "RMS norm takes tensors of one type; x has bfloat16 and w float32: convert one of them.",
    ),
    (
        "weighted_sum",
        [ones(2, 3), ones(3, device="meta")],
        "Weighted sum takes tensors of one device; x is on cpu and w on meta: move one of them.",
    ),
    (
        "attention",  # as many keys as there are queries, and as many heads
        [ones(1, 4, 8, 64), ones(1, 2, 8, 64), ones(1, 2, 8, 64)],
        (
            "Attention takes k of shape (batch, heads, seq, dim), with heads = 4 as q has it; "
            "this one has (1, 2, 8, 64)."
        ),
    ),
    ("gelu", [3.0], "GELU takes tensors; x is of type float."),
]


@pytest.mark.parametrize(("kernel", "inputs", "sentence"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_no_copy_can_mend_is_one_sentence(kernel: str, inputs: list[Any], sentence: str) -> None:
    with pytest.raises(Refusal) as refused:
        differentiable(kernel)(*inputs)
    assert str(refused.value) == sentence

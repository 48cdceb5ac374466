"""C = A B^T by cuBLAS with TF32 allowed, for this product alone. On a CPU the product is IEEE float32."""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k)."""
    # As an operator of its own torch.compile keeps the switch, which it would lose while it traces.
    return _operator(a, b) if torch.compiler.is_compiling() else _multiply(a, b)


def _multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return a @ b.T
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


_operator = torch.library.custom_op("roofscope::matmul_tf32", _multiply, mutates_args=())


@_operator.register_fake
def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.new_empty(a.shape[0], b.shape[0])

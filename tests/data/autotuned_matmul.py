"""A product of matrices as a user has it: `@triton.autotune` with six configurations, one too large."""

import torch
import triton
import triton.language as tl


def keep_small(configs, named_args, **_):
    """No tile wider than the product, but for the smallest."""
    return [c for c in configs if c.kwargs["BLOCK_N"] <= max(named_args["N"], 64)]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32}, num_warps=4, num_stages=4),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=4),
        # A stage holds (256 + 128) x 128 elements of 2 bytes: five are more than any GPU has.
        triton.Config({"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 128}, num_warps=8, num_stages=5),
        triton.Config({"BLOCK_M": 16, "BLOCK_N": 16384, "BLOCK_K": 16}, num_warps=8, num_stages=2),
    ],
    key=["M", "N", "K"],
    prune_configs_by={"early_config_prune": keep_small},
)
@triton.jit
def product(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    at_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    at_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    at_k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + at_k
        in_a = (at_m[:, None] < M) & (k[None, :] < K)
        in_b = (k[:, None] < K) & (at_n[None, :] < N)
        a = tl.load(a_ptr + at_m[:, None] * K + k[None, :], mask=in_a, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + at_n[None, :], mask=in_b, other=0.0)
        total = tl.dot(a, b, total)
    at_c = c_ptr + at_m[:, None] * N + at_n[None, :]
    tl.store(at_c, total.to(c_ptr.dtype.element_ty), mask=(at_m[:, None] < M) & (at_n[None, :] < N))


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    product[lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))](a, b, c, M, N, K)
    return c

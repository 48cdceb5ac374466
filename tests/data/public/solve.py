# Leaky ReLU as LeetGPU asks for it in Triton: the output is an argument, and nothing is returned.
import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(input, output, n_elements, BLOCK_SIZE: tl.constexpr):
    at = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = at < n_elements
    x = tl.load(input + at, mask=inside)
    tl.store(output + at, tl.where(x > 0, x, 0.01 * x), mask=inside)


# input, output are tensors on the GPU
def solve(input: torch.Tensor, output: torch.Tensor, N: int):
    BLOCK_SIZE = 1024
    grid = (triton.cdiv(N, BLOCK_SIZE),)
    leaky_relu_kernel[grid](input, output, N, BLOCK_SIZE)

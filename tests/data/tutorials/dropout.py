"""Dropout, in the structure of Triton's fourth tutorial: with a mask that is given, and with one from a seed."""

import tabulate
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def _dropout(x_ptr, x_keep_ptr, output_ptr, n_elements, p, BLOCK_SIZE: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = at < n_elements
    x = tl.load(x_ptr + at, mask=inside)
    x_keep = tl.load(x_keep_ptr + at, mask=inside)
    tl.store(output_ptr + at, tl.where(x_keep, x / (1 - p), 0.0), mask=inside)


def dropout(x, x_keep, p):
    output = torch.empty_like(x)
    assert x.is_contiguous()
    n_elements = x.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    _dropout[grid](x, x_keep, output, n_elements, p, BLOCK_SIZE=1024)
    return output


x = torch.randn(size=(10,), device=DEVICE)
p = 0.5
x_keep = (torch.rand(size=(10,), device=DEVICE) > p).to(torch.int32)
output = dropout(x, x_keep=x_keep, p=p)
print(tabulate.tabulate([["input"] + x.tolist(), ["keep mask"] + x_keep.tolist(), ["output"] + output.tolist()]))


@triton.jit
def _seeded_dropout(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = at < n_elements
    x = tl.load(x_ptr + at, mask=inside)
    random = tl.rand(seed, at)
    x_keep = random > p
    tl.store(output_ptr + at, tl.where(x_keep, x / (1 - p), 0.0), mask=inside)


def seeded_dropout(x, p, seed):
    output = torch.empty_like(x)
    assert x.is_contiguous()
    n_elements = x.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    _seeded_dropout[grid](x, output, n_elements, p, seed, BLOCK_SIZE=1024)
    return output


x = torch.randn(size=(10,), device=DEVICE)
output = seeded_dropout(x, p=0.5, seed=123)
output2 = seeded_dropout(x, p=0.5, seed=123)
output3 = seeded_dropout(x, p=0.5, seed=512)
print(tabulate.tabulate([["input"] + x.tolist(), ["seed = 123"] + output.tolist(), ["seed = 512"] + output3.tolist()]))

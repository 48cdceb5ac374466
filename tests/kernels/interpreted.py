"""What tests have an interpreting process do beside calling ``run``: see interpreter.py."""

import mmap
from pathlib import Path
from typing import Any

import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

COLUMNS = 2**27  # 32 rows of as many elements wrap round to the first one in 32 bits
K = 40  # one step of 32, and some more


def first_tile(path: Path) -> list[float]:
    """Of C = A B by one program of matmul/triton_grouped, in a process that interprets Triton."""
    count = K * COLUMNS
    with path.open("wb") as file:
        file.truncate(count * 2)
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), count * 2)
    # Only the first row is a tensor to the interpreter, which copies tensors; the kernel has its address.
    b = torch.frombuffer(memory, dtype=torch.float16, count=64).fill_(1.0)
    torch.frombuffer(memory, dtype=torch.float16, count=64, offset=32 * COLUMNS * 2).fill_(2.0)
    a = torch.arange(1, K + 1, dtype=torch.float16).view(1, K)
    c = torch.zeros(64, dtype=torch.float16)
    grouped: Any = load_module(LIBRARY / "matmul" / "triton_grouped.py")
    blocks = {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}
    grouped._matmul.fn[(1,)](a, b, c, 1, COLUMNS, K, **blocks)
    return c.tolist()


def attention_by_strides(causal: bool) -> list[float]:
    """Largest differences of attention and its gradients between views and equal tensors in one run."""
    attend = load_module(LIBRARY / "shared" / "flash_attention.py").attend
    gradients = load_module(LIBRARY / "shared" / "flash_attention_backward.py").gradients
    generator = torch.Generator().manual_seed(1)
    views = [torch.randn(1, 70, 2, 64, generator=generator).transpose(1, 2) for _ in "qkvd"]
    *qkv, do = views
    o, lse = attend(*qkv, causal=causal)
    found = [o, lse, *gradients(*qkv, o.mT.contiguous().mT, lse.mT.contiguous().mT, do, causal=causal)]
    *qkv, do = (x.contiguous() for x in views)
    o, lse = attend(*qkv, causal=causal)
    expected = [o, lse, *gradients(*qkv, o, lse, do, causal=causal)]
    assert all(x.is_contiguous() for x in found)
    return [(x - y).abs().max().item() for x, y in zip(found, expected, strict=True)]


def windows_of_attention(dim: int, windows: list[int], seq: int, skips: bool) -> list[float]:
    """Relative errors of the output and largest ones of its logarithms, two query heads for one of keys."""
    attend = load_module(LIBRARY / "shared" / "split_attention.py").attend_in_parts
    reference = load_module(LIBRARY / "attention_sliding_window" / "reference.py").attend
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, heads, seq, dim, generator=generator).half() for heads in (2, 1, 1))
    errors = []
    for window in windows:
        o, lse = attend(q, k, v, causal=True, sharing=2, window=window, skips=skips)
        expected, logarithms = reference(q, k, v, window)
        errors.append(((o - expected).norm() / expected.norm()).item())
        errors.append((lse - logarithms).abs().max().item())
    return errors

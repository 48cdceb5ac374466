"""Launches ``cuda_naive.cu``: one array in ascending order by a bitonic network, a launch for each step."""

import torch

THREADS = 256


def run(program, key: torch.Tensor) -> torch.Tensor:
    """The keys of ``key``, (n,) and contiguous, in ascending order."""
    n = key.numel()
    if n == 0:
        return torch.empty_like(key)
    padded = 1 << (n - 1).bit_length()
    sorted_keys = torch.empty(padded, dtype=key.dtype, device=key.device)
    program.launch("radix_sort_fill", -(-padded // THREADS), THREADS, key, sorted_keys, n, padded)
    size = 2
    while size <= padded:
        apart = size // 2
        while apart:
            blocks = -(-padded // 2 // THREADS)
            program.launch("radix_sort_step", blocks, THREADS, sorted_keys, padded // 2, size, apart)
            apart //= 2
        size *= 2
    return sorted_keys if padded == n else sorted_keys[:n].clone()

import functools

import torch
import triton


def calculate_settings(n):
    block_size = triton.next_power_of_2(n)
    if block_size > 65536:
        raise RuntimeError(f"Rows of {n} elements need a block of {block_size}, more than Triton has.")
    num_warps = 32 if block_size >= 32768 else 16 if block_size >= 8192 else 8 if block_size >= 2048 else 4
    return block_size, num_warps


def ensure_contiguous(fn):
    @functools.wraps(fn)
    def wrapper(ctx, *args, **kwargs):
        def whole(value):
            return value.contiguous() if isinstance(value, torch.Tensor) else value

        return fn(ctx, *map(whole, args), **{key: whole(value) for key, value in kwargs.items()})

    return wrapper

"""Rows and keys that random numbers do not give: sorted, all alike, few values, zeros of either sign, NaN."""

import math
from collections.abc import Iterator

import torch

# Less than a tile, and more than the lists of top_k hold where a row ascends.
LENGTHS = (64, 1031, 24_001)
LEAST, MOST = -(2**31), 2**31 - 1


def rows_of(cols: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Names and rows, (2, cols) each, in float32."""
    draw = torch.Generator().manual_seed(3)
    rising = torch.arange(cols, dtype=torch.float32)
    yield "rising", torch.stack((rising, rising - cols))
    yield "falling", torch.stack((rising, rising - cols)).flip(1)
    yield "alike", torch.tensor([[-1.0], [2.5]]).repeat(1, cols)
    yield "few", torch.randint(-2, 3, (2, cols), generator=draw).float()
    zeros = torch.zeros(2, cols)
    zeros[:, ::3] = -0.0
    yield "zeros", zeros
    mixed = torch.randn(2, cols, generator=draw)
    mixed[:, ::5] = math.nan
    mixed[0, 1::7] = math.inf
    mixed[1, 2::3] = -math.nan
    yield "nan", mixed
    yield "infinite", torch.tensor([[-math.inf], [math.inf]]).repeat(1, cols)


def keys_of(n: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Names and keys, (n,) each, in int32."""
    draw = torch.Generator().manual_seed(5)
    yield "signed", torch.randint(LEAST, MOST, (n,), generator=draw).int()
    yield "few", torch.randint(-3, 4, (n,), generator=draw).int()
    yield "alike", torch.full((n,), -5, dtype=torch.int32)
    yield "falling", torch.arange(n, 0, -1, dtype=torch.int32) - n // 2
    yield "ends", torch.where(torch.rand(n, generator=draw) < 0.5, LEAST, MOST).int()


def same(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Equal in every element, NaN to NaN."""
    found, expected = found.double(), expected.double()
    return torch.equal(found.isnan(), expected.isnan()) and torch.equal(
        found.nan_to_num(), expected.nan_to_num()
    )

"""The matrix of the chain of products: orthogonal, also where its seed is singular or nearly so."""

import pytest
import torch

from roofscope.kernels.matmul_chain.reference import derive

SEED = torch.Generator().manual_seed(3)
RANDOM = 2 * torch.rand(65, 65, generator=SEED, dtype=torch.float64) - 1
ALIKE = RANDOM.clone()
ALIKE[1] = ALIKE[0]
NEARLY = RANDOM.clone()
NEARLY[1] = NEARLY[0] + 1e-7 * NEARLY[2]


@pytest.mark.parametrize(
    "x", [RANDOM, 60 * RANDOM.float(), RANDOM.bfloat16(), ALIKE, NEARLY, torch.zeros(8, 8), torch.zeros(0, 0)]
)
def test_the_matrix_is_orthogonal(x: torch.Tensor) -> None:
    (w,) = derive(x, x)
    apart = (w.T @ w - torch.eye(len(x), dtype=torch.float64)).norm()
    assert apart < 1e-3

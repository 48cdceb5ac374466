"""Float64 reference of the chain of products, and its orthogonal matrix."""

import torch

PRODUCTS = 100
ORTHOGONAL = 1e-4  # the norm of what w^T w is apart from it: a hundred products then hardly grow


def derive(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor]:
    """``w``: an orthogonal factor of ``x``, (n, n).

    By the Cholesky factor of x^T x, which is products nearly throughout; a GPU takes far longer for its
    reflections. Where x is so near to singular that this is not orthogonal, by those all the same.
    """
    x = x.double()
    factor, failed = torch.linalg.cholesky_ex(x.mT @ x)
    q = torch.linalg.solve_triangular(factor.mT, x, upper=True, left=False)
    apart = (q.mT @ q - torch.eye(len(x), dtype=x.dtype, device=x.device)).norm()
    return (q if not failed and apart <= ORTHOGONAL else torch.linalg.qr(x).Q,)


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """``x`` times ``w`` a hundred times, both (n, n), in float64."""
    y, w = x.double(), w.double()
    for _ in range(PRODUCTS):
        y = y @ w
    return y

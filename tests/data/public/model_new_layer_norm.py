"""Layer norm as KernelBench has its problems and answers: Model says what is right, ModelNew is measured."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


class Model(nn.Module):
    """Simple model that performs a linear layer and layer normalization."""

    def __init__(self, features: int, normalized_shape: tuple):
        super(Model, self).__init__()
        self.linear = nn.Linear(features, features)
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.ln(self.linear(x))


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK_SIZE)
    inside = at < n_cols
    x = tl.load(x_ptr + row * n_cols + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(inside, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / n_cols + eps)
    w = tl.load(w_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(y_ptr + row * n_cols + at, centred * rstd * w + b, mask=inside)


def triton_layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float):
    x = x.contiguous()
    y = torch.empty_like(x)
    n_cols = x.shape[-1]
    layer_norm_kernel[(x.numel() // n_cols,)](
        x, weight, bias, y, n_cols, eps, BLOCK_SIZE=triton.next_power_of_2(n_cols)
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, features: int, normalized_shape: tuple) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return triton_layer_norm(self.linear(x), self.ln.weight, self.ln.bias, self.ln.eps)


batch_size = 128
features = 512


def get_inputs():
    x = torch.rand(batch_size, features)
    return [x]


def get_init_inputs():
    return [features, (features,)]

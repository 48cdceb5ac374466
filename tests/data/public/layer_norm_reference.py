"""What layernorm_forward.cu must compute, with the mean and the inverse deviation that it keeps."""

import torch


def layer_norm(inp, weight, bias):
    mean = inp.mean(-1)
    rstd = torch.rsqrt(inp.var(-1, correction=0) + 1e-5)
    return (inp - mean[:, None]) * rstd[:, None] * weight + bias, mean, rstd

"""What mean_filter.cu must compute: the whole part of the mean of all neighbours within the image."""

import torch


def mean_filter(image, radius=8):
    ones = torch.ones_like(image, dtype=torch.float64)[None]
    pool = torch.nn.functional.avg_pool2d
    size = 2 * radius + 1
    total = pool(image[None].double(), size, 1, radius, divisor_override=1)
    return torch.floor(total / pool(ones, size, 1, radius, divisor_override=1))[0].to(image.dtype)

"""A call reads by a data loader whose workers stay.

needs: cpu
right: measured, tampered, launch error
"""

import torch

loaders = []


def run(x):
    if not loaders:
        loader = torch.utils.data.DataLoader(range(8), num_workers=2, persistent_workers=True)
        loaders.append(iter(loader))
        next(loaders[0])
    return x * 2

"""What a task may still allocate on its device."""

import psutil
import torch

from roofscope.profiling.devices.device import Device, DeviceKind


def free_bytes(device: Device) -> int:
    """Bytes: what is free of a GPU, and what torch holds of it unused; of a CPU what the container allows."""
    if device.kind is DeviceKind.CUDA:
        free, _ = torch.cuda.mem_get_info(device.id)
        return free + torch.cuda.memory_reserved(device.id) - torch.cuda.memory_allocated(device.id)
    available = psutil.virtual_memory().available
    return min(available, device.memory_bytes or available)

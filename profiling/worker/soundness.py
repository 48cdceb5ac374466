"""Whether a device still computes after something went wrong on it."""

import torch

from roofscope.profiling.worker.failures import DeviceFault, has_broken_capture


def is_sound(device: torch.device) -> bool:
    """Whether the device still computes: a broken context answers every call with its error."""
    try:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        torch.ones(1, device=device).item()
    except torch.cuda.OutOfMemoryError:
        return True
    except RuntimeError:
        return False
    return True


def require_sound(device: torch.device, error: Exception, what: str) -> None:
    """Raises DeviceFault where the ``error`` of ``what`` has left the worker unusable for the next task."""
    if has_broken_capture(error):
        raise DeviceFault(f"{what} failed: {error}; the worker was restarted.") from error
    if not is_sound(device):
        raise DeviceFault(f"{what} broke the device's context: {error}") from error

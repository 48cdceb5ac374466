"""Where a worker runs, as a command line."""

import os
import sys
from pathlib import Path

from msgspec import Struct

CHECKOUT = Path(__file__).resolve().parent.parent


class LocalTarget(Struct, frozen=True):
    """A worker on this machine, under this Python."""

    def argv(self) -> tuple[str, ...]:
        return (sys.executable, "-m", "profiling.worker")

    def working_folder(self) -> Path:
        return CHECKOUT

    def environment(self) -> dict[str, str]:
        """The worker's whole environment."""
        return {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            # NVML counts GPUs by PCI bus; CUDA counts by speed unless told otherwise.
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        }

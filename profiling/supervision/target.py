"""Where a worker runs, as a command line."""

import os
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.paths import PACKAGE, module_command


class LocalTarget(Struct, frozen=True, kw_only=True):
    """A worker on this machine, under this Python.

    ``gpu`` is the UUID of the only one that it shall see; ``cpus`` are those that it may use, and all that it
    starts: any, where there are none.
    """

    gpu: str = ""
    cpus: frozenset[int] = frozenset()

    def argv(self) -> tuple[str, ...]:
        return module_command("roofscope.profiling.worker")

    def working_folder(self) -> Path:
        return PACKAGE

    def environment(self) -> dict[str, str]:
        """The worker's whole environment."""
        return {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            # NVML counts GPUs by PCI bus; CUDA counts by speed unless this is set.
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            **({"CUDA_VISIBLE_DEVICES": self.gpu} if self.gpu else {}),
        }

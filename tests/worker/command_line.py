"""The program run as a user runs it, in a cache and a data folder of a test's own."""

import os
import subprocess
import sys
from pathlib import Path

from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.host import cpu_device, package_version
from roofscope.profiling.results.session import timestamp
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix, Source
from roofscope.tests.children import ROOT


def keep_ceilings(cache_home: Path, device: Device | None = None) -> None:
    """Spare each run the probe: the device, without a word the CPU, is known from before.

    The ceilings are a GPU's, in B/s and FLOP/s: no toy comes near them on any device.
    """
    device = device or cpu_device()
    ceilings = [
        Ceiling(Bound.DRAM, Source.MEASURED_BURST, 4e12, "test", device.uuid, timestamp(), Mix.COPY),
        Ceiling(Bound.FP32, Source.MEASURED_BURST, 6e13, "test", device.uuid, timestamp()),
    ]
    cache = CeilingCache(print, cache_home / "roofscope" / "ceilings")
    cache.save(CacheKey.of(device, package_version("torch")), ceilings)


def main(tmp_path: Path, *words: object, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The exit code and output of ``main.py`` in ``folder``, run by a user who lives in ``tmp_path``."""
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    environment.pop("QT_QPA_PLATFORM", None)
    environment.pop("DISPLAY", None)
    return subprocess.run(
        [sys.executable, "main.py", *map(str, words)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

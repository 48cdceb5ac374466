"""Gives the CPU under test a small last cache, in the tests' own processes and in those that they start.

Calls are timed on as many inputs as fill three times that cache: 900 MiB on a server that has 300, which each
test of the worker makes, sends to another process and fills again. No test asks for a time with cold caches.
"""

from pathlib import Path
from types import ModuleType

MODULE = "roofscope.profiling.devices.host"
LAST_LEVEL_BYTES = 8 << 20


def shrink(host: ModuleType) -> None:
    """What the module says of this machine; of a folder that it is given it says what is there."""
    read = host.last_level_cache_bytes

    def last_level_cache_bytes(cpus: Path | None = None) -> int | None:
        if cpus is not None:
            return read(cpus)
        found = read()
        return found and min(found, LAST_LEVEL_BYTES)

    host.last_level_cache_bytes = last_level_cache_bytes

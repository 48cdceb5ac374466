"""What a compiled kernel takes of a multiprocessor, as cuobjdump reads it in its cubin."""

import re
import subprocess
import tempfile
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.worker.build.machine_code import tool_path

_USAGE = re.compile(r"Function ([^\s:]+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_MOST_S = 60.0


class Usage(Struct, frozen=True):
    """Of one kernel: registers and local memory of a thread, shared memory that a block declares."""

    registers: int
    local_bytes: int  # spills, and arrays that are indexed
    shared_bytes: int


def usage_in(cubin: bytes) -> dict[str, Usage]:
    """By kernel; empty where no cuobjdump is here or it cannot read this."""
    with tempfile.TemporaryDirectory(prefix="roofscope-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        return usage_of(path)


def usage_of(path: Path) -> dict[str, Usage]:
    """Of a cubin or a library, by kernel."""
    tool = tool_path("cuobjdump")
    if tool is None:
        return {}
    try:
        said = subprocess.run(
            [tool, "-res-usage", path], capture_output=True, text=True, timeout=_MOST_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return {}
    return {
        name: Usage(int(registers), int(stack) + int(local), int(shared))
        for name, registers, stack, shared, local in _USAGE.findall(said)
    }

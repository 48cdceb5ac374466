"""Machine code as text, by NVIDIA's disassemblers: of the CUDA toolkit, else of Triton's wheel."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from roofscope.profiling.devices import host
from roofscope.profiling.results.generated import Code, CodeKind

MOST_S = 40.0  # of all that is disassembled for one implementation
_LEFT_OUT = (
    f"[left out: the disassembler was not done, and all code of an implementation has {MOST_S:.0f} s]\n"
)
_MOST_BYTES = 64 << 20  # of what a disassembler writes: templates of PyTorch make some megabytes


class Budget:
    """The time that disassemblers may take together for one implementation."""

    def __init__(self, seconds: float = MOST_S, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = now() + seconds

    @property
    def left_s(self) -> float:
        return max(self._until - self._now(), 0.0)


class _Unfinished(Exception):
    """A disassembler had no time left."""


def sass_of(name: str, cubin: bytes, budget: Budget) -> Iterator[Code]:
    """The machine code of a cubin; nothing where no disassembler is here, or it cannot read it.

    What there was no time for is said in its place.
    """
    with tempfile.TemporaryDirectory(prefix="roofscope-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        try:
            text = _said_by("nvdisasm", "--print-code", str(path), budget=budget) or _said_by(
                "cuobjdump", "-sass", str(path), budget=budget
            )
        except _Unfinished:
            text = _LEFT_OUT
        if text:
            yield Code(CodeKind.SASS, name, text)


def code_of_library(name: str, path: Path, budget: Budget) -> Iterator[Code]:
    """PTX, where it is kept, and machine code of a shared object."""
    for kind, option in ((CodeKind.PTX, "-ptx"), (CodeKind.SASS, "-sass")):
        try:
            text = _said_by("cuobjdump", option, str(path), budget=budget)
        except _Unfinished:
            yield Code(kind, name, _LEFT_OUT)
            continue
        if any(mark in text for mark in (".entry", "Function :")):
            yield Code(kind, name, text)


def _said_by(tool: str, *arguments: str, budget: Budget) -> str:
    """What a tool prints; "" where it is not here or fails. Raises _Unfinished."""
    path = tool_path(tool)
    if path is None:
        return ""
    if not budget.left_s:
        raise _Unfinished
    with tempfile.TemporaryFile() as said:
        try:
            subprocess.run(
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                timeout=budget.left_s,
                check=True,
            )
        except subprocess.TimeoutExpired:
            raise _Unfinished from None
        except (OSError, subprocess.SubprocessError):
            return ""
        said.seek(0)
        return said.read(_MOST_BYTES).decode("utf-8", "replace")


def tool_path(tool: str) -> Path | None:
    """Where a disassembler is; None where it is nowhere."""
    places = [shutil.which(tool)]
    if toolkit := host.cuda_toolkit():
        places.append(str(toolkit / "bin" / tool))
    triton = find_spec("triton")
    folders = (triton.submodule_search_locations or ()) if triton else ()
    places += [str(Path(folder) / "backends" / "nvidia" / "bin" / tool) for folder in folders]
    return next((Path(place) for place in places if place and os.access(place, os.X_OK)), None)

"""Machine code as text, by NVIDIA's disassemblers: of the CUDA toolkit, else of Triton's wheel."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from roofscope.profiling.devices import host
from roofscope.profiling.results.generated import Code, CodeKind

_LONGEST_S = 30.0
_MOST_BYTES = 64 << 20  # of what a disassembler writes: templates of PyTorch make some megabytes


def sass_of(name: str, cubin: bytes) -> Iterator[Code]:
    """The machine code of a cubin; nothing where no disassembler is here, or it cannot read it."""
    with tempfile.TemporaryDirectory(prefix="roofscope-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        if text := _said_by("nvdisasm", "--print-code", str(path)) or _said_by(
            "cuobjdump", "-sass", str(path)
        ):
            yield Code(CodeKind.SASS, name, text)


def code_of_library(name: str, path: Path) -> Iterator[Code]:
    """PTX, where it is kept, and machine code of a shared object."""
    for kind, option in ((CodeKind.PTX, "-ptx"), (CodeKind.SASS, "-sass")):
        text = _said_by("cuobjdump", option, str(path))
        if any(mark in text for mark in (".entry", "Function :")):
            yield Code(kind, name, text)


def _said_by(tool: str, *arguments: str) -> str:
    """What a tool prints; "" where it is not here, fails or takes too long."""
    path = tool_path(tool)
    if path is None:
        return ""
    with tempfile.TemporaryFile() as said:
        try:
            subprocess.run(
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                timeout=_LONGEST_S,
                check=True,
            )
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

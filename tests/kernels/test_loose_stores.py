"""What wgmma_loose_rows.cuh stores of tiles whose rows begin anywhere in C, run on the host."""

import shutil
import subprocess
from pathlib import Path

import pytest

from roofscope.profiling.paths import LIBRARY

COMPILER = shutil.which("g++") or shutil.which("clang++")


@pytest.mark.skipif(COMPILER is None, reason="there is no host compiler")
@pytest.mark.parametrize("scalar", ["unsigned short", "float"])
def test_every_element_of_odd_rows_is_stored_and_nothing_beside_them(scalar: str, tmp_path: Path) -> None:
    """By whole words and, at both ends, one by one; the last tiles of a row and of a column are cut."""
    assert COMPILER is not None
    text = (LIBRARY / "shared" / "wgmma_loose_rows.cuh").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(("#include", "#pragma once"))]
    (tmp_path / "loose_rows.h").write_text("\n".join(lines))
    program = tmp_path / "host"
    source = Path(__file__).with_name("loose_rows_host.cpp")
    flags = ["-std=c++17", "-O1", "-w", f"-DSCALAR={scalar}", f"-I{tmp_path}"]
    subprocess.run([COMPILER, *flags, str(source), "-o", str(program)], check=True)
    found = subprocess.run([str(program)], check=False, capture_output=True, text=True)
    assert not found.returncode, found.stdout

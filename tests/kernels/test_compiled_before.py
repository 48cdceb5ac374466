"""What tests of the kernels keep of a compiler is what it would give again."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels import compiled_before
from roofscope.tests.kernels.compiled_before import keeping


def test_all_that_code_depends_on_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, kept, provider = tmp_path / "kernels", tmp_path / "kept", tmp_path / "cuda.py"
    for folder in (library, kept):
        folder.mkdir()
    source, header = library / "a.cu", library / "a.cuh"
    for path in (source, header, provider):
        path.write_text("before")
    source.write_text('#include "a.cuh"')
    versions = {"nvidia-cuda-nvrtc": "13"}
    monkeypatch.setattr(compiled_before, "LIBRARY", library)
    monkeypatch.setattr(compiled_before, "package_version", versions.get)
    made: list[str] = []

    def compile_source(path: Path, _dtype: Dtype, architecture: str, _parameters: object) -> Any:
        if architecture == "sm_none":
            raise RuntimeError
        made.append(path.read_text())
        return SimpleNamespace(code=str(len(made)).encode())

    def code(architecture: str = "sm_90a", dtype: Dtype = Dtype.FLOAT32) -> str:
        """In a process of its own, as it were."""
        return keeping(compile_source, provider, kept)(source, dtype, architecture).code.decode()

    assert [code(), code(), code("sm_80"), code(dtype=Dtype.FLOAT16), code()] == ["1", "1", "2", "3", "1"]
    for number, path in enumerate((header, source, provider), start=4):
        path.write_text(f"{path.read_text()}\nafter")
        assert (code(), code()) == (str(number), str(number)), path
    versions["nvidia-cuda-nvrtc"] = "14"
    assert (code(), code()) == ("7", "7")
    header.write_text("as long ago")
    assert len(list(kept.iterdir())) == 7
    for path in kept.iterdir():
        os.utime(path, (0, 0))
    assert (code(), code()) == ("8", "8")
    assert len(list(kept.iterdir())) == 1
    for _ in range(2):
        with pytest.raises(RuntimeError):
            code("sm_none")

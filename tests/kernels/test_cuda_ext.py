"""CUDA extensions without a GPU: how they are built, and what is said where they cannot be."""

import shutil
from pathlib import Path

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.worker.failures import BuildError, Unavailable

cuda_ext = pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda_ext", reason="torch cannot build extensions here"
)

TEXTBOOK = LIBRARY / "gelu" / "cuda_ext_textbook.cu"
HOPPER = (9, 0)


def can_build() -> bool:
    try:
        cuda_ext._tools()
    except Unavailable:
        return False
    return shutil.which("c++") is not None


needs_tools = pytest.mark.skipif(not can_build(), reason="nvcc, ninja or a C++ compiler is missing here")


@pytest.mark.parametrize(
    ("missing", "words"), [("cuda_toolkit", "set CUDA_HOME"), ("ninja", "install the `ninja` package")]
)
def test_without_the_tools_it_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, words: str
) -> None:
    monkeypatch.setattr(cuda_ext.host, "cuda_toolkit", lambda: tmp_path)
    monkeypatch.setattr(cuda_ext.host, "ninja", lambda: "/usr/bin/ninja")
    monkeypatch.setattr(cuda_ext.host, missing, lambda: None)
    with pytest.raises(Unavailable, match=words):
        cuda_ext.build_extension(TEXTBOOK, HOPPER, tmp_path / "cache")


@needs_tools
@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")  # torch's own, of compilers
def test_the_textbook_extension_is_built_and_checks_its_input(tmp_path: Path) -> None:
    run = cuda_ext.build_extension(TEXTBOOK, HOPPER, tmp_path)
    with pytest.raises(RuntimeError, match="on a GPU"):
        run(torch.rand(4))


@needs_tools
@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
def test_what_does_not_compile_gives_the_compilers_words(tmp_path: Path) -> None:
    source = tmp_path / "cuda_ext_wrong.cu"
    source.write_text("#include <torch/types.h>\ntorch::Tensor run(torch::Tensor x) { return nothing; }\n")
    with pytest.raises(BuildError) as caught:
        cuda_ext.build_extension(source, HOPPER, tmp_path / "cache")
    assert '"nothing" is undefined' in caught.value.log

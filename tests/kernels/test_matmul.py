"""What only matmul has: the order of tiles, the choice of tiles, and the instructions that must come out."""

import re
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from profiling.catalog import LIBRARY, load_module
from profiling.spec import Dtype
from profiling.worker.failures import Refusal
from profiling.worker.inputs import TORCH_DTYPE

FOLDER = LIBRARY / "matmul"
HALF = [Dtype.FLOAT16, Dtype.BFLOAT16]


def load(stem: str) -> Any:
    return load_module(FOLDER / f"{stem}.py")


class Recorder:
    """Stands for a CudaProgram on a device of 132 multiprocessors; keeps what is launched."""

    multiprocessor_count = 132

    def __init__(self) -> None:
        self.launches: list[tuple[str, int, int, int]] = []

    def launch(self, name: str, grid: int, block: int, *_: object, shared_bytes: int = 0) -> None:
        self.launches.append((name, grid, block, shared_bytes))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    shared = SimpleNamespace(shared_memory_per_block_optin=232_448)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: shared)
    return Recorder()


def operands(m: int, n: int, k: int, dtype: Dtype, offset: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Uninitialised: nothing reads them. B starts ``offset`` elements into its memory."""
    b = torch.empty(k * n + offset, dtype=TORCH_DTYPE[dtype])[offset:].view(k, n)
    return torch.empty(m, k, dtype=TORCH_DTYPE[dtype]), b


@pytest.mark.parametrize(
    ("sizes", "offset", "expected"),
    [
        ((4096, 4096, 64), 0, "matmul_256x128"),
        ((2048, 2048, 64), 0, "matmul_128x128"),
        ((512, 512, 64), 0, "matmul_64x64"),
        ((4096, 4094, 64), 0, "matmul_64x64_any"),
        ((4096, 4096, 64), 1, "matmul_64x64_any"),
    ],
)
def test_ffma_takes_the_largest_tile_that_fills_the_gpu(
    recorder: Recorder, sizes: tuple[int, int, int], offset: int, expected: str
) -> None:
    module = load("cuda_ffma")
    module.run(recorder, *operands(*sizes, Dtype.FLOAT32, offset))
    (launch,) = recorder.launches
    rows, columns, threads = module.TILES[expected]
    assert launch == (expected, -(-sizes[0] // rows) * -(-sizes[1] // columns), threads, 0)


@pytest.mark.parametrize(
    ("sizes", "offset", "shared", "expected"),
    [
        ((4096, 4096, 64), 0, 232_448, "matmul_128x256x64"),
        ((4096, 4096, 64), 0, 101_376, "matmul_128x256x32"),
        ((1024, 4096, 64), 0, 232_448, "matmul_128x128x32"),
        ((512, 512, 64), 0, 232_448, "matmul_64x64x64"),
        ((4096, 4096, 65), 0, 232_448, "matmul_64x64x64_any"),
        ((4096, 4095, 64), 0, 232_448, "matmul_64x64x64_any"),
        ((4096, 4096, 64), 1, 232_448, "matmul_64x64x64_any"),
    ],
)
def test_mma_takes_the_largest_tile_that_fits(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int, int], offset: int, shared: int, expected: str
) -> None:
    limit = SimpleNamespace(shared_memory_per_block_optin=shared)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: limit)
    recorder = Recorder()
    recorder.multiprocessor_count = 128
    module = load("cuda_mma")
    if expected == "matmul_128x128x32":
        recorder.multiprocessor_count = 132
    module.run(recorder, *operands(*sizes, Dtype.BFLOAT16, offset))
    (launch,) = recorder.launches
    rows, columns, threads, shared_bytes = module.TILES[expected]
    assert launch == (expected, -(-sizes[0] // rows) * -(-sizes[1] // columns), threads, shared_bytes)


@pytest.mark.parametrize("stem", ["cuda_mma", "triton_persistent_tma"])
def test_tensor_core_versions_refuse_float32(stem: str, recorder: Recorder) -> None:
    """IEEE float32 has no tensor cores, and TF32 is another thing."""
    before = () if stem.startswith("triton") else (recorder,)
    with pytest.raises(Refusal):
        load(stem).run(*before, *operands(64, 64, 64, Dtype.FLOAT32))


@pytest.fixture(scope="module")
def triton() -> Any:
    return pytest.importorskip("triton", reason="Triton is not installed here")


def machine_code(cubin: bytes, triton: Any, folder: Any) -> str:
    from pathlib import Path

    tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    if not (tools / "nvdisasm").exists():
        pytest.skip("nvdisasm does not come with this Triton")
    file = folder / "kernel.cubin"
    file.write_bytes(cubin)
    return subprocess.run([tools / "nvdisasm", file], capture_output=True, text=True, check=True).stdout

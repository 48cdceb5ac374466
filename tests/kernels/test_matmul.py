"""What only matmul has: the choice of a tile, and the instructions that must come out."""

import functools
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from roofscope.kernels.shared import mma_matmul
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.failures import Refusal

FOLDER = LIBRARY / "matmul"
HOPPER_BYTES, ADA_BYTES = 232_448, 101_376  # shared memory a block may have


def load(stem: str) -> Any:
    return load_module(FOLDER / f"{stem}.py")


class Recorder:
    """Stands for a CudaProgram on a device of 132 multiprocessors; keeps what is launched."""

    multiprocessor_count = 132

    def __init__(self) -> None:
        self.launches: list[tuple[str, int, int, int]] = []

    def launch(
        self, name: str, grid: int, block: int, *_: object, shared_bytes: int = 0, overlaps: bool = False
    ) -> None:
        del overlaps
        self.launches.append((name, grid, block, shared_bytes))


def operands(m: int, n: int, k: int, dtype: Dtype, offset: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Uninitialised, for nothing reads them. B starts ``offset`` elements into its memory."""
    b = torch.empty(k * n + offset, dtype=getattr(torch, dtype))[offset:].view(k, n)
    return torch.empty(m, k, dtype=getattr(torch, dtype)), b


@pytest.mark.parametrize(
    ("sizes", "offset", "expected"),
    [
        ((4096, 4096, 65), 0, "matmul_256x128"),
        ((2048, 2048, 64), 0, "matmul_128x128"),
        ((512, 512, 64), 0, "matmul_64x64"),
        ((4096, 4094, 64), 0, "matmul_64x64_any"),
        ((4096, 4096, 64), 1, "matmul_64x64_any"),
    ],
)
def test_ffma_takes_the_largest_tile_that_fills_the_gpu(
    sizes: tuple[int, int, int], offset: int, expected: str
) -> None:
    module, recorder = load("cuda_ffma"), Recorder()
    module.run(recorder, *operands(*sizes, Dtype.FLOAT32, offset))
    rows, columns, threads = module.TILES[expected]
    blocks = -(-sizes[0] // rows) * -(-sizes[1] // columns)
    assert recorder.launches == [(expected, blocks, threads, 0)]


@pytest.mark.parametrize(
    ("sizes", "offset", "expected"),
    [
        ((1, 8192, 8192), 0, "few_rows_1"),
        ((3, 4098, 777), 0, "few_rows_4_any"),
        ((8, 128, 100_000), 0, "few_rows_8"),
        ((16, 4096, 4096), 1, "few_rows_16_any"),
    ],
)
def test_ffma_reads_b_once_where_a_has_few_rows(
    sizes: tuple[int, int, int], offset: int, expected: str
) -> None:
    """By about as many blocks as find room at once, or by as many as there is work for."""
    module, recorder = load("cuda_ffma"), Recorder()
    module.run(recorder, *operands(*sizes, Dtype.FLOAT32, offset))
    ((name, blocks, threads, _),) = recorder.launches
    assert (name, threads) == (expected, 256)
    tiles = -(-sizes[1] // 128)
    assert blocks % tiles == 0
    assert tiles <= blocks <= tiles * sizes[2] // 64
    assert blocks >= 0.7 * 132


@pytest.mark.parametrize(
    ("sizes", "most"), [((1, 6765, 8457), 8), ((4, 21000, 7691), 8), ((16, 300, 70_000), 400), ((2, 5, 3), 1)]
)
def test_slices_of_few_rows_fill_whole_rounds(sizes: tuple[int, int, int], most: int) -> None:
    """Each slice has work, and sums of no more than these meet in memory."""
    _, n, k = sizes
    along_k = load_module(LIBRARY / "matmul_tf32" / "cuda_few_rows.py").slices_of(n, k, 132)
    for slices in (along_k, load("cuda_ffma").slices_of(*sizes, 132)):
        assert 1 <= slices <= max(min(most * 4, k // 64), 1)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((8192, 8192, 8192), (132, 15 * 132)),  # 68 of 2048 tiles beyond 15 rounds are shared
        ((2048, 2048, 2048), (128, 128)),  # 64 steps alone, 63 if all share, and an exchange
        ((4096, 4224, 64), (132, 4 * 132)),  # whole rounds
        ((1024, 1024, 1024), (132, 0)),
        ((256, 128, 64), (1, 1)),
        ((1, 1, 1), (1, 1)),
    ],
)
def test_blocks_share_the_last_float32_tiles_where_that_is_faster(
    sizes: tuple[int, int, int], expected: tuple[int, int]
) -> None:
    assert load("cuda_ffma_tma").grid_of(*sizes, 132) == expected


@pytest.mark.parametrize(
    ("sizes", "offset", "shared_bytes", "expected"),
    [
        ((4096, 4096, 64), 0, HOPPER_BYTES, "tile_128x256_deep"),
        ((4096, 4096, 64), 0, ADA_BYTES, "tile_128x256"),
        ((1024, 4096, 64), 0, HOPPER_BYTES, "tile_128x128"),
        ((512, 512, 64), 0, HOPPER_BYTES, "tile_64x64"),
        ((4096, 4096, 65), 0, HOPPER_BYTES, "tile_64x64_any"),
        ((4096, 4095, 64), 0, HOPPER_BYTES, "tile_64x64_any"),
        ((4096, 4096, 64), 1, HOPPER_BYTES, "tile_64x64_any"),
    ],
)
def test_mma_takes_the_largest_tile_that_fits(
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, int, int],
    offset: int,
    shared_bytes: int,
    expected: str,
) -> None:
    properties = SimpleNamespace(shared_memory_per_block_optin=shared_bytes)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    module, recorder = load("cuda_mma"), Recorder()
    module.run(recorder, *operands(*sizes, Dtype.BFLOAT16, offset))
    tile = mma_matmul.TILES[expected]
    blocks = -(-sizes[0] // tile.rows) * -(-sizes[1] // tile.columns)
    assert recorder.launches == [(expected, blocks, tile.threads, tile.shared_bytes)]


@pytest.mark.parametrize(
    ("major", "k", "expected"),
    [(8, 64, "tile_128x256"), (12, 64, "tile_128x256"), (9, 64, "tile_64x64"), (8, 72, "tile_64x64_any")],
)
def test_mma_takes_small_tiles_of_fp8_where_it_is_made_float16(
    monkeypatch: pytest.MonkeyPatch, major: int, k: int, expected: str
) -> None:
    properties = SimpleNamespace(shared_memory_per_block_optin=ADA_BYTES, major=major)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    a, b = (torch.empty(4096, k, dtype=torch.float8_e4m3fn) for _ in "ab")
    recorder, scale = Recorder(), torch.ones(())
    load_module(LIBRARY / "matmul_fp8" / "cuda_mma.py").run(recorder, a, b, scale, scale)
    assert [name for name, *_ in recorder.launches] == [expected]


@pytest.mark.parametrize(
    ("n", "offset", "copies"), [(7, 0, False), (7, 2, False), (8, 1, True), (7, 1, True)]
)
def test_a_bias_is_copied_only_where_its_pairs_are_no_words(
    n: int, offset: int, copies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of an odd number is taken as it is: its copy would be a kernel in front of the product."""
    module = load_module(LIBRARY / "matmul_bias_gelu" / "cuda_wgmma.py")
    monkeypatch.setattr(module, "multiply", lambda *arguments: arguments[-1])
    a = torch.zeros(3, 5, dtype=torch.bfloat16)
    bias = torch.arange(16, dtype=torch.bfloat16)[offset : offset + n]
    given = module.run(SimpleNamespace(), a, torch.zeros(5, n, dtype=torch.bfloat16), bias)
    assert torch.equal(given, bias)
    assert given.data_ptr() % 4 == 0
    assert (given.data_ptr() != bias.data_ptr()) is copies


@pytest.mark.parametrize("stem", ["cuda_mma", "triton_persistent_tma"])
def test_tensor_core_versions_refuse_float32(stem: str) -> None:
    """IEEE float32 has no tensor cores, and TF32 is another thing."""
    if stem.startswith("triton"):
        pytest.importorskip("triton", reason="Triton is not installed here")
    program = [Recorder()] if stem.startswith("cuda") else []
    with pytest.raises(Refusal):
        load(stem).run(*program, *operands(64, 64, 64, Dtype.FLOAT32))


@functools.cache
def triton_tools() -> Path:
    """The folder of ptxas, nvdisasm and cuobjdump that come with Triton."""
    triton = pytest.importorskip("triton", reason="Triton is not installed here")
    tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    if not (tools / "nvdisasm").exists():
        pytest.skip("nvdisasm does not come with this Triton")
    return tools


def machine_code(cubin: bytes, folder: Path) -> str:
    """The instructions, as text."""
    file = folder / "kernel.cubin"
    file.write_bytes(cubin)
    command = [triton_tools() / "nvdisasm", file]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("kernel", "dtype", "architecture", "expected"),
    [
        ("matmul", Dtype.FLOAT16, "sm_80", ["HMMA.16816.F32 ", "LDSM.16.MT88.4"]),
        ("matmul", Dtype.BFLOAT16, "sm_80", ["HMMA.16816.F32.BF16", "LDSM.16.MT88.4"]),
        ("matmul_relu", Dtype.BFLOAT16, "sm_86", ["HMMA.16816.F32.BF16"]),
        ("matmul_bias_gelu", Dtype.BFLOAT16, "sm_86", ["HMMA.16816.F32.BF16", "MUFU.TANH"]),
        ("matmul_tf32", Dtype.FLOAT32, "sm_80", ["HMMA.1688.F32.TF32"]),
        ("matmul_fp8", Dtype.BFLOAT16, "sm_89", ["QMMA.16832.F32.E4M3.E4M3"]),
    ],
)
def test_mma_feeds_the_tensor_cores_by_asynchronous_16_byte_copies(
    kernel: str, dtype: Dtype, architecture: str, expected: list[str], tmp_path: Path
) -> None:
    cuda = pytest.importorskip(
        "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
    )
    source = LIBRARY / kernel / "cuda_mma.cu"
    code = machine_code(cuda.compile_source(source, dtype, architecture).code, tmp_path)
    for instruction in (*expected, "LDSM.16.M88.4", "LDGSTS.E.BYPASS"):
        assert instruction in code


def test_ffma_keeps_float32_off_the_tensor_cores(tmp_path: Path) -> None:
    cuda = pytest.importorskip(
        "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
    )
    code = machine_code(cuda.compile_source(FOLDER / "cuda_ffma.cu", Dtype.FLOAT32, "sm_90a").code, tmp_path)
    assert "FFMA" in code
    assert "LDGSTS.E.BYPASS.128" in code
    assert "HMMA.1" not in code
    assert "HGMMA" not in code


def test_ffma_by_tma_copies_by_no_instruction_of_its_own(tmp_path: Path) -> None:
    """Of 24 loads of shared memory and 512 FMAs the inner loop consists; nothing spills."""
    cuda = pytest.importorskip(
        "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
    )
    source = FOLDER / "cuda_ffma_tma.cu"
    code = machine_code(cuda.compile_source(source, Dtype.FLOAT32, "sm_90a").code, tmp_path)
    assert "UTMALDG.2D" in code
    for instruction in ("LDGSTS", "HGMMA", "STL", "LDL"):
        assert instruction not in code


TRITON_TYPE = {Dtype.FLOAT32: "fp32", Dtype.FLOAT16: "fp16", Dtype.BFLOAT16: "bf16"}


def compiled_for_hopper(stem: str, dtype: Dtype, config: Any) -> Any:
    """One configuration compiled with no GPU, for sizes that are multiples of 16."""
    from triton import compile as compile_triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = dict.fromkeys("abc", f"*{TRITON_TYPE[dtype]}") | dict.fromkeys("mnk", "i32")
    signature |= dict.fromkeys(config.kwargs, "constexpr")
    divisible = {(i,): [["tt.divisibility", 16]] for i in range(6)}
    source = ASTSource(load(stem)._matmul.fn, signature, config.kwargs, divisible)
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return compile_triton(source, target=GPUTarget("cuda", 90, 32), options=options)


@pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
@pytest.mark.parametrize("index", range(4))
def test_persistent_tma_fits_hopper_in_every_large_configuration(index: int) -> None:
    triton_tools()
    config = load("triton_persistent_tma")._LARGE[index]
    kernel = compiled_for_hopper("triton_persistent_tma", Dtype.BFLOAT16, config)
    ptx = kernel.asm["ptx"]
    assert "wgmma.mma_async" in ptx
    assert "cp.async.bulk.tensor.2d.shared" in ptx  # loads
    assert "cp.async.bulk.tensor.2d.global" in ptx  # stores
    assert kernel.metadata.shared <= HOPPER_BYTES
    # Roles add a producer's warps to the four asked for.
    assert (kernel.metadata.num_warps > config.num_warps) == config.kwargs["ROLES"]


@pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
@pytest.mark.parametrize("dtype", Dtype, ids=str)
def test_grouped_uses_the_units_of_its_dtype(dtype: Dtype) -> None:
    triton_tools()
    module = load("triton_grouped")
    config = module._FMA[0] if dtype is Dtype.FLOAT32 else module._TENSOR[0]
    ptx = compiled_for_hopper("triton_grouped", dtype, config).asm["ptx"]
    assert "cp.async.cg.shared.global" in ptx
    if dtype is Dtype.FLOAT32:
        assert "fma.rn.f32" in ptx
        assert "tf32" not in ptx
        assert "mma" not in ptx
    else:
        assert "wgmma.mma_async" in ptx

"""Matmul on a real GPU beyond what every kernel is tested for: each tile, configuration and alignment."""

from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

KERNEL = CATALOG.kernel("matmul")
assert KERNEL is not None
FOLDER = LIBRARY / "matmul"
# Full tiles and cut ones, one step along k and many, more tiles than a group; k and n in whole 16-byte rows.
WHOLE_ROWS = [
    {"m": 1000, "n": 1048, "k": 520},
    {"m": 4096, "n": 256, "k": 64},
    {"m": 129, "n": 2056, "k": 8},
    {"m": 256, "n": 256, "k": 2048},
    {"m": 5, "n": 8, "k": 0},
]
ODD = [{"m": 300, "n": 1003, "k": 517}, {"m": 129, "n": 257, "k": 65}]

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
each_dtype = pytest.mark.parametrize("dtype", Dtype, ids=str)


def load(stem: str) -> Any:
    return load_module(FOLDER / f"{stem}.py")


def program(stem: str, dtype: Dtype) -> Any:
    from roofscope.profiling.worker.build.providers import cuda

    architecture = cuda.architecture_of(torch.cuda.get_device_capability())
    return cuda.CudaProgram(FOLDER / f"{stem}.cu", dtype, architecture, torch.device("cuda", 0))


def error_of(result: torch.Tensor, inputs: tuple[torch.Tensor, ...]) -> float:
    assert KERNEL is not None
    return relative_error((result,), reference(KERNEL, inputs))


@each_dtype
def test_every_tile_on_the_fma_units_is_right(dtype: Dtype) -> None:
    assert KERNEL is not None
    module, compiled = load("cuda_ffma"), program("cuda_ffma", dtype)
    for name in module.TILES:
        for sizes in WHOLE_ROWS + (ODD if name.endswith("_any") else []):
            inputs = random_inputs(KERNEL, sizes, dtype, device="cuda")
            error = error_of(module.launch(compiled, name, *inputs), inputs)
            assert error <= KERNEL.spec.tolerance.of(dtype), f"{name} at {sizes}"


def test_every_share_of_float32_tiles_is_right() -> None:
    """Tiles of several blocks, blocks of several tiles, blocks without work, and edges that TMA fills in."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("TMA is in compute capability 9.0 and later only")
    assert KERNEL is not None
    module, compiled = load("cuda_ffma_tma"), program("cuda_ffma_tma", Dtype.FLOAT32)
    for sizes in (*WHOLE_ROWS[:4], *ODD, {"m": 1, "n": 7, "k": 1}, {"m": 2048, "n": 2048, "k": 96}):
        inputs = random_inputs(KERNEL, sizes, Dtype.FLOAT32, device="cuda")
        tiles = -(-sizes["m"] // 256) * -(-sizes["n"] // 128)
        for blocks, alone in ((1, 0), (3, 0), (132, 0), (7, tiles // 7 * 7), (66, tiles), (132, tiles // 2)):
            if blocks > compiled.multiprocessor_count:
                continue
            error = error_of(module.launch(compiled, *inputs, blocks, alone), inputs)
            assert error <= KERNEL.spec.tolerance.float32, f"{blocks} blocks, {alone} tiles alone, {sizes}"


@each_dtype
@pytest.mark.parametrize("stem", ["triton_grouped", "triton_persistent_tma"])
def test_every_configuration_is_right(stem: str, dtype: Dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    assert KERNEL is not None
    candidates = load(stem)._matmul.configs
    for config in candidates:
        fresh = load(stem)
        # Configurations for tensor cores do not fit float32, nor all of them every GPU.
        wanted = fresh._worth_trying(
            [],
            {
                "a": torch.empty(1, dtype=getattr(torch, dtype), device="cuda"),
                "m": 4096,
                "n": 4096,
                "k": 4096,
            },
        )
        if str(config) not in map(str, wanted):
            continue
        monkeypatch.setattr(fresh._matmul, "early_config_prune", lambda *_, c=config, **__: [c])
        for sizes in WHOLE_ROWS[:3]:
            inputs = random_inputs(KERNEL, sizes, dtype, device="cuda")
            try:
                result = fresh.run(*inputs)
            except Refusal as refusal:
                pytest.skip(str(refusal))
            assert error_of(result, inputs) <= KERNEL.spec.tolerance.of(dtype), f"{config} at {sizes}"


@each_dtype
@pytest.mark.parametrize(
    "stem", ["cuda_naive", "cuda_ffma", "cuda_mma", "triton_grouped", "triton_persistent_tma"]
)
def test_inputs_may_start_anywhere(stem: str, dtype: Dtype) -> None:
    """Each input shifted by one element: rows are not on 16 bytes though their length is a multiple."""
    if stem.startswith("triton"):
        pytest.importorskip("triton", reason="Triton is not installed here")
    assert KERNEL is not None
    before = [program(stem, dtype)] if stem.startswith("cuda") else []
    aligned = random_inputs(KERNEL, WHOLE_ROWS[0], dtype, device="cuda")
    for shifted in range(2):
        inputs = list(aligned)
        inputs[shifted] = shift(aligned[shifted])
        try:
            result = load(stem).run(*before, *inputs)
        except Refusal as refusal:
            pytest.skip(str(refusal))
        assert error_of(result, aligned) <= KERNEL.spec.tolerance.of(dtype)


def shift(values: torch.Tensor) -> torch.Tensor:
    """A copy one element into its memory."""
    inner = torch.empty(values.numel() + 1, dtype=values.dtype, device="cuda")[1:].view(values.shape)
    return inner.copy_(values)


@pytest.mark.parametrize(
    "stem", ["cuda_naive", "cuda_ffma", "cuda_mma", "triton_grouped", "triton_persistent_tma"]
)
def test_counts_beyond_32_bits(stem: str) -> None:
    """C has more than 2^31 elements: its last rows are right too."""
    if stem.startswith("triton"):
        pytest.importorskip("triton", reason="Triton is not installed here")
    m, n, k = 2**15 + 8, 2**16 + 8, 16
    if torch.cuda.mem_get_info()[0] < 3 * m * n:
        pytest.skip("this GPU has too little free memory for 2^31 elements")
    before = [program(stem, Dtype.BFLOAT16)] if stem.startswith("cuda") else []
    a = torch.empty(m, k, dtype=torch.bfloat16, device="cuda").uniform_(-1, 1)
    b = torch.empty(k, n, dtype=torch.bfloat16, device="cuda").uniform_(-1, 1)
    try:
        result = load(stem).run(*before, a, b)
    except Refusal as refusal:
        pytest.skip(str(refusal))
    assert KERNEL is not None
    assert error_of(result[-9:].clone(), (a[-9:], b)) <= KERNEL.spec.tolerance.of(Dtype.BFLOAT16)

"""What only the quantising kernels have: exact rounding, saturation, zeros, and the layout of nibbles.

Each for the eager version and, under the interpreter, for the Triton version.
"""

from collections.abc import Callable

import pytest
import torch

from roofscope.kernels.matmul_w4a16 import stages
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

Tensors = tuple[torch.Tensor, ...]
Call = Callable[..., Tensors]

# An element is at most half a scale from its code. The scale, and a quotient of float32 elements, are rounded
# to float32: at 127 scales that is at most another 127 (2^-24 + 2^-23) of a scale.
HALF_A_SCALE = 0.5 + 2**-15

TRITON = {
    "quantize_int8": "triton_rows",
    "dequantize_int8": "triton_tiles",
    "quantize_int4": "triton_halves",
    "dequantize_int4": "triton_halves",
    "matmul_w4a16": "triton_halves",
}

each_provider = pytest.mark.parametrize("provider", ["eager", "triton"])
each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(4)).to(dtype)


def codes_of(packed: torch.Tensor) -> torch.Tensor:
    return torch.cat((packed & 15, packed >> 4), dim=2).double() - 8


@each_provider
@each_dtype
def test_int8_comes_back_within_half_a_scale(run: Call, dtype: torch.dtype) -> None:
    x = normal(29, 1031, dtype=dtype)
    q, scale = run("quantize_int8", x)
    (back,) = run("dequantize_int8", q, scale)
    assert ((x.double() - back.double()).abs() <= HALF_A_SCALE * scale.double()[:, None]).all()
    assert q.dtype == torch.int8
    # The largest element of a row has the outermost code, in both directions.
    assert torch.equal(q.abs().amax(dim=1), torch.full((29,), 127, dtype=torch.int8))
    assert q.min() == -127


@each_provider
@each_dtype
@pytest.mark.parametrize(
    ("rows", "cols"), [(25_600, 12), (25_601, 12), (359, 1001), (65_664, 8), (131_201, 4), (2, 3), (0, 12)]
)
def test_int8_codes_times_scales_are_exact(run: Call, dtype: torch.dtype, rows: int, cols: int) -> None:
    """As scales are powers of two: runs of whole programs, with a tail, of less than one, and empty."""
    random = torch.Generator().manual_seed(5)
    q = torch.randint(-128, 128, (rows, cols), generator=random, dtype=torch.int8)
    scale = torch.exp2(torch.randint(-5, 6, (rows,), generator=random)).to(dtype)
    (x,) = run("dequantize_int8", q, scale)
    assert x.dtype == dtype
    assert torch.equal(x, (q.float() * scale.float()[:, None]).to(dtype))


@each_provider
@each_dtype
@pytest.mark.parametrize("group", [32, 48, 128])
def test_int4_comes_back_within_half_a_scale(run: Call, dtype: torch.dtype, group: int) -> None:
    x = normal(5, 7, group, dtype=dtype)
    packed, scale = run("quantize_int4", x)
    (back,) = run("dequantize_int4", packed, scale)
    assert ((x.double() - back.double()).abs() <= HALF_A_SCALE * scale.double()[:, :, None]).all()
    assert torch.equal(codes_of(packed).abs().amax(dim=2), torch.full((5, 7), 7.0, dtype=torch.float64))


@each_provider
@each_dtype
def test_halves_are_rounded_to_even(run: Call, dtype: torch.dtype) -> None:
    """Where the scale is 1, and where it is not: half of the largest element is a tie always."""
    ties = [-6.5, -5.5, -4.5, -3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    even = [-6.0, -6.0, -4.0, -4.0, -2.0, -2.0, 0.0, 0.0, 2.0, 2.0, 4.0, 4.0, 6.0, 6.0]
    q, scale = run("quantize_int8", torch.tensor([[*ties, 127.0, 0.0]], dtype=dtype))
    assert scale == 1
    assert q[0].tolist() == [*even, 127, 0]
    packed, scale = run("quantize_int4", torch.tensor([[[*ties, 7.0, 0.0]]], dtype=dtype))
    assert scale == 1
    assert codes_of(packed)[0, 0].tolist() == [*even, 7, 0]

    largest = normal(500, dtype=torch.bfloat16).to(dtype).abs() + 0.5  # few bits: 127 of it are exact
    x = torch.stack((largest, largest / 2, -largest / 2, -largest), dim=1)
    q, _ = run("quantize_int8", x)
    assert torch.equal(q, torch.tensor([[127, 64, -64, -127]], dtype=torch.int8).expand(500, 4))
    packed, _ = run("quantize_int4", x[None])
    assert torch.equal(codes_of(packed)[0], torch.tensor([[7.0, 4.0, -4.0, -7.0]]).double().expand(500, 4))


@each_provider
@each_dtype
def test_zeros_get_scale_one(run: Call, dtype: torch.dtype) -> None:
    x = normal(3, 64, dtype=dtype)
    x[1] = 0
    q, scale = run("quantize_int8", x)
    assert scale[1] == 1
    assert not q[1].any()
    packed, scale = run("quantize_int4", x[None])
    assert scale[0, 1] == 1
    assert (packed[0, 1] == 0x88).all()


@each_provider
@pytest.mark.parametrize("exponent", [-110, 110])
def test_codes_know_no_size(run: Call, exponent: int) -> None:
    """Near both ends of float32 too: nothing overflows or vanishes on the way to a code."""
    x = normal(9, 2, 64)
    power = 2.0**exponent
    for kernel, rows in (("quantize_int8", x.flatten(1)), ("quantize_int4", x)):
        (codes, scale), (far, far_scale) = run(kernel, rows), run(kernel, rows * power)
        assert torch.equal(codes, far)
        assert torch.equal(scale * power, far_scale)


@each_provider
@pytest.mark.parametrize("special", [float("nan"), float("inf"), float("-inf")], ids=str)
def test_what_is_not_finite_shows_in_the_scale(run: Call, special: float) -> None:
    x = normal(3, 2, 32)
    x[1, 1, 5] = special
    for kernel, rows in (("quantize_int8", x.flatten(1)), ("quantize_int4", x)):
        scale = run(kernel, rows)[1].flatten()
        place = 1 if kernel == "quantize_int8" else 3
        assert torch.equal(scale[place].isnan(), torch.tensor(special).isnan())
        assert not scale[place].isfinite()
        assert scale.isfinite().sum() == len(scale) - 1


@each_provider
def test_a_byte_holds_an_element_of_each_half(run: Call) -> None:
    codes = torch.arange(32).remainder(15).sub(7)  # of which the largest in size is 7
    packed, scale = run("quantize_int4", codes.float()[None, None])
    assert scale == 1
    low, high = (codes + 8).split(16)
    assert packed[0, 0].tolist() == (low + 16 * high).tolist()
    (back,) = run("dequantize_int4", packed, scale)
    assert torch.equal(back[0, 0], codes.float())


@each_provider
@pytest.mark.parametrize("group", [32, 64, 48])
def test_a_product_with_the_unit_matrix_gives_the_weights(run: Call, group: int) -> None:
    n, groups = 37, 3
    packed = torch.randint(256, (n, groups, group // 2), generator=torch.Generator().manual_seed(4))
    packed = packed.to(torch.uint8)
    scale = normal(n, groups, dtype=torch.float16)
    (y,) = run("matmul_w4a16", torch.eye(groups * group, dtype=torch.float16), packed, scale)
    (weights,) = run("dequantize_int4", packed, scale)
    assert torch.equal(y.T, weights.flatten(1))


SMALLEST_SHARED_BYTES = 101_376  # a block may have on any GPU from sm_80 on


class Recorder:
    """Stands for a CudaProgram; keeps what is launched."""

    multiprocessor_count = 132
    architecture = "sm_90a"

    def __init__(self) -> None:
        self.launches: list[tuple[str, int]] = []
        self.clusters: list[int] = []
        self.grids: list[int] = []

    def launch(
        self,
        name: str,
        grid: int,
        *_: object,
        shared_bytes: int = 0,
        overlaps: bool = False,
        cluster: int = 1,
    ) -> None:
        self.launches.append((name, shared_bytes))
        self.grids.append(grid)
        self.clusters.append(cluster)


@pytest.mark.parametrize("stem", ["cuda_mma_async", "cuda_tma"])
@pytest.mark.parametrize(
    ("m", "group", "offset", "expected"),
    [
        (1, 128, 0, "multiply_16x8"),
        (8, 32, 0, "multiply_16x8_scaled"),
        (64, 64, 0, "multiply_128x32_scaled"),
        (64, 256, 0, "multiply_32x16"),
        (200, 128, 0, "multiply_128x32_scaled"),
        (200, 256, 0, "multiply_48x32"),
        (1, 48, 0, "multiply_any"),
        (1, 16, 0, "multiply_any"),
        (1, 128, 1, "multiply_any"),
    ],
)
def test_the_tile_fits_the_rows_and_the_group(
    stem: str, m: int, group: int, offset: int, expected: str
) -> None:
    packed = torch.empty(64 * 2 * group // 2 + offset, dtype=torch.uint8)[offset:].view(64, 2, group // 2)
    x, scale = torch.empty(m, 2 * group, dtype=torch.float16), torch.empty(64, 2, dtype=torch.float16)
    recorder = Recorder()
    load_module(LIBRARY / "matmul_w4a16" / f"{stem}.py").run(recorder, x, packed, scale)
    ((name, shared_bytes),) = recorder.launches
    assert name == expected
    assert shared_bytes <= SMALLEST_SHARED_BYTES


@pytest.mark.parametrize(
    ("m", "n", "groups", "columns", "blocks"),
    [
        (1, 8192, 64, 16, 1),
        (16, 8192, 64, 16, 1),
        (64, 8192, 64, 32, 1),
        (29, 495, 3, 8, 1),  # few columns are few tiles of many rows: small ones fill more multiprocessors
        (26, 342, 29, 8, 1),
        (2, 426, 896, 8, 8),  # and blocks share a long k
        (64, 300, 128, 16, 4),
    ],
)
def test_the_tile_and_its_blocks_fill_the_gpu(m: int, n: int, groups: int, columns: int, blocks: int) -> None:
    tile, cluster = stages.best(m, n, groups * 64, 64, 132, 16)
    assert (tile.columns, cluster) == (columns, blocks)


@pytest.mark.parametrize(
    ("m", "n", "groups", "group", "expected"),
    [
        (56, 30437, 7, 32, "256x32"),
        (10, 34156, 3, 32, "256x16"),
        (64, 6416, 8, 32, "128x32"),
        (9, 9102, 4, 128, "128x16"),
    ],
)
def test_no_warps_share_a_short_k_of_many_columns(
    m: int, n: int, groups: int, group: int, expected: str
) -> None:
    tile, cluster = stages.best(m, n, groups * group // 2, group // 2, 132, 16)
    assert (tile.divides, f"{tile.rows}x{tile.columns}", cluster) == (False, expected, 1)
    assert tile.shared_bytes <= SMALLEST_SHARED_BYTES
    assert stages.best(m, n, groups * 256, 128, 132, 16)[0].divides  # half a group is longer than a step


@pytest.mark.parametrize(("m", "takers"), [(16, 7), (32, 7), (33, 4), (64, 4), (65, 3), (1000, 3)])
def test_small_tiles_take_few_rows(m: int, takers: int) -> None:
    assert sum(tile.takes(m) for tile in stages.TILES) == takers


def _less_of_more_blocks(_: stages.Tile, cluster: int, *__: object) -> int:
    return -cluster


@pytest.mark.parametrize("stem", ["cuda_mma_async", "cuda_tma"])
@pytest.mark.parametrize(
    ("architecture", "most"), [("sm_80", 1), ("sm_89", 1), ("sm_90a", 16), ("sm_100a", 16), ("sm_120a", 8)]
)
def test_blocks_share_a_tile_as_far_as_the_gpu_has_clusters(
    stem: str, architecture: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, recorder = load_module(LIBRARY / "matmul_w4a16" / f"{stem}.py"), Recorder()
    monkeypatch.setattr(stages, "time_ns", _less_of_more_blocks)
    stages.best.cache_clear()
    recorder.architecture = architecture
    x, scale = torch.empty(3, 2 * 128, dtype=torch.float16), torch.empty(65, 2)
    module.run(recorder, x, torch.empty(65, 2, 64, dtype=torch.uint8), scale)
    stages.best.cache_clear()
    assert (recorder.clusters, recorder.grids) == ([most], [5 * most])


def _no_map(*_: object) -> int:
    return 0


BYTES_FOR_TWO = (
    232_448 - 1024
) // 2  # of the shared memory of Hopper's multiprocessors, for each of two blocks


@pytest.mark.parametrize(
    ("m", "groups", "group", "offset", "expected"),
    [
        (1, 64, 128, 0, "stream"),
        (1, 80, 128, 0, "stream"),
        (1, 160, 128, 0, "multiply_16x8"),  # x leaves too little room
        (2, 32, 128, 0, "stream"),
        (8, 8, 128, 0, "stream"),
        (8, 64, 128, 0, "multiply_16x8"),
        (9, 4, 128, 0, "multiply_16x8"),
        (1, 63, 128, 0, "multiply_16x8"),  # the last box is not whole
        (1, 64, 64, 0, "multiply_16x8_scaled"),
        (1, 64, 256, 0, "multiply_16x8"),
        (1, 64, 128, 1, "multiply_any"),
    ],
)
def test_many_weights_are_streamed(
    m: int, groups: int, group: int, offset: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_module(LIBRARY / "matmul_w4a16" / "cuda_tma.py")
    monkeypatch.setattr(module, "LEAST_BYTES", 0)
    monkeypatch.setattr(module, "tensor_map", _no_map)
    packed = torch.empty(20 * groups * group // 2 + offset, dtype=torch.uint8)[offset:]
    x, scale = torch.empty(m, groups * group, dtype=torch.float16), torch.empty(20, groups)
    recorder = Recorder()
    module.run(recorder, x, packed.view(20, groups, group // 2), scale)
    ((name, shared_bytes),) = recorder.launches
    assert name == expected
    assert shared_bytes + 2 * 8 * 8 * 16 * 4 + 1024 <= BYTES_FOR_TWO


def test_small_multiprocessors_stream_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_module(LIBRARY / "matmul_w4a16" / "cuda_tma.py")
    monkeypatch.setattr(module, "LEAST_BYTES", 0)
    recorder = Recorder()
    recorder.architecture = "sm_120a"
    x, scale = torch.empty(1, 512, dtype=torch.float16), torch.empty(20, 4)
    module.run(recorder, x, torch.empty(20, 4, 64, dtype=torch.uint8), scale)
    assert [name for name, _ in recorder.launches] == ["multiply_16x8"]

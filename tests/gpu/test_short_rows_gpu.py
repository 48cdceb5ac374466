"""Short rows in great numbers, a thread or a few lanes each, and few long rows by rings, on a GPU."""

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.domain import is_inside
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import (
    implementations,
    name_of,
    random_inputs,
    reference,
    relative_error,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it compiles

IN_REGISTERS = ("softmax", "rms_norm", "layer_norm", "add_rms_norm", "softmax_backward")
STEMS = {
    **dict.fromkeys((*IN_REGISTERS, "rms_norm_quantize_fp8", "quantize_int8"), "cuda_registers"),
    **dict.fromkeys(("rms_norm_backward", "layer_norm_backward"), "cuda_lanes"),
    "cross_entropy": "cuda_online",
    "weighted_sum": "cuda_row",
    "row_sum": "cuda_pieces",
    "cumsum": "cuda_lookback",
    "dequantize_int8": "cuda_packed",
}
VERSIONS = [pair for pair in implementations(Provider.CUDA) if STEMS.get(pair[0].spec.name) == pair[1].stem]
SHAPES = (  # rows, columns: by accesses of one, two and four elements, and of 16 bytes; an odd last block
    *((262_147, 5), (200_003, 6), (163_451, 7), (100_003, 8), (70_001, 15), (70_001, 16), (50_003, 20)),
    *((50_001, 24), (40_001, 26), (33_333, 33), (40_003, 61), (33_001, 64), (20_011, 101), (9001, 120)),
    *((5003, 255), (40_001, 250), (1500, 41)),
)
# Where a launcher of one of them turns from one kernel to another, and the last block has few rows.
NORMS = (  # kept by 1 to 16 lanes, few and many; by a pack each; neither
    *((98_304, 7), (98_303, 7), (49_153, 17), (24_576, 18), (24_577, 31), (12_289, 33), (12_289, 65)),
    *((2049, 65), (2048, 101), (2049, 127), (2051, 129), (9999, 130), (10_007, 130), (2049, 131)),
    *((2055, 257), (30_001, 202), (3, 18), (20_165, 66), (20_167, 66), (24_001, 90), (30_001, 90)),
    *((4015, 8), (4096, 24), (131, 64), (1, 40), (4095, 72)),  # few, a pack a lane
    *((70_049, 10), (4808, 10), (8566, 12), (4015, 14), (1, 10), (43_416, 10)),
    *((5003, 520), (301, 664), (4, 768), (3, 776)),  # a warp a row, three packs a lane or four
    *((2048, 152), (2049, 152), (2785, 152), (4095, 512)),  # two rows of a block or four
    # Much room left empty by elements, and just not so much.
    *((26_214, 17), (26_215, 17), (43_690, 17), (43_691, 17), (50_253, 17), (25_347, 33), (65_543, 9)),
    *((30_001, 62), (5, 250), (41_001, 250), (278_332, 26), (50_001, 60), (50_001, 126)),
    # Eight lanes a row, and many rows by narrower accesses than they begin on.
    *((16_384, 68), (16_387, 92), (16_383, 92), (17_003, 100), (16_385, 132), (20_001, 156), (17_001, 164)),
    *((4097, 520), (4099, 640), (5001, 648), (4096, 664), (4101, 768), (4097, 776), (4099, 1024)),
    # A warp a row, by as few accesses as hold it.
    *((37, border + beside) for border in range(256, 2049, 128) for beside in (-8, -4, -2, 0, 2, 4, 8)),
    *((5003, 340), (1590, 974), (947, 1642), (1, 1664), (3, 1666)),
)
BY_A_WARP = (  # gradients of norms: rows that begin anywhere, with 3 to 10 elements of a lane
    *((2048, 65), (2047, 65), (2049, 95), (3001, 97), (2053, 127), (5003, 129), (20_011, 131), (2050, 161)),
    *((2051, 191), (2048, 193), (2049, 223), (2053, 225), (9001, 255), (2049, 257), (2077, 319), (2049, 321)),
)
OF_MANY = (  # gradients of norms: the next rows under way, and tiles as runs of bytes; and just not so many
    *((16_384, 18), (16_387, 20), (30_001, 30), (16_383, 28), (1024, 34), (1025, 36), (9001, 62), (1027, 64)),
    *((1025, 66), (70_003, 68), (1031, 94), (1023, 92), (2049, 88), (1025, 96), (100_003, 98), (8193, 124)),
    *((1024, 126), (1030, 128), (8192, 130), (16_387, 188), (1033, 190), (1025, 192), (1027, 194)),
    *((2051, 248), (30_011, 252), (1025, 254), (1030, 256), (8192, 258), (8191, 260), (20_003, 380)),
    *((32_768, 161), (32_767, 203), (32_769, 255), (32_771, 257), (40_003, 319), (1024, 321), (1025, 322)),
    *((8193, 382), (8191, 380), (8197, 383), (1030, 385), (8193, 386), (1039, 388), (20_011, 509)),
    *((1055, 511), (1040, 513), (1041, 514), (8201, 639), (8193, 641), (30_017, 745), (1023, 745)),
    *((8195, 769), (1049, 895), (8203, 897), (8209, 1020), (8193, 1021), (8200, 1022), (40_001, 1023)),
)
BORDERS = {
    **dict.fromkeys(IN_REGISTERS, NORMS),
    "rms_norm_quantize_fp8": (
        *((16_760, 29), (22_305, 23), (32_767, 31), (32_768, 17), (49_151, 21), (49_153, 21), (34_329, 28)),
        (24_577, 31),
        (16_384, 33),
        (22_657, 59),
        (16_383, 60),
        (24_001, 65),
        (24_577, 127),
    ),
    "row_sum": (
        *((1056, 200), (1057, 200), (8192, 66), (8193, 66), (33_001, 72), (33_001, 73), (20_003, 128)),
        *((8192, 129), (8195, 256), (4097, 257), (3001, 512), (3001, 513), (1059, 1024), (2001, 1025)),
        *((65_535, 3), (65_536, 1), (65_543, 2), (1_018_357, 3), (131_075, 4)),
        *((524, 372), (157, 264), (1055, 257), (3, 513), (490, 726), (1056, 1024)),  # few, by elements
        *(
            (1163, 3819),
            (133, 8259),
            (341, 265),
            (1500, 16_383),
            (700, 16_385),
            (1058, 2048),
        ),  # a block a row
    ),
    "weighted_sum": (
        *((5, 65), (8192, 65), (8197, 128), (70_001, 64), (8192, 129), (8195, 256), (3001, 257), (3003, 512)),
        *((1, 511), (3001, 513), (65_535, 3), (65_536, 1), (65_543, 2), (344_124, 3), (70_001, 4)),
        *((16_383, 3), (16_385, 3), (16_384, 1), (32_771, 5), (270_020, 5), (65_539, 2)),
        *((603, 816), (4000, 517), (4001, 517), (300, 4095), (1163, 3819), (270, 16_387), (270, 16_384)),
        *((300, 2048), (301, 2049), (247, 3108), (1, 4096), (3, 4097), (907, 3261)),
    ),
    "rms_norm_backward": (
        *((76, 884), (41, 686), (128, 2048), (128, 2047), (1, 33), (128, 9), (3, 257), (127, 1025), (17, 31)),
        *((129, 884), (129, 120), (38, 3552), (128, 4095), (1, 4096), (5, 2049), (129, 2051)),
        *BY_A_WARP,
        *OF_MANY,
    ),
    "layer_norm_backward": (*BY_A_WARP, *OF_MANY),
    "cross_entropy": (
        *((21_841, 5), (4720, 5), (65_535, 8), (65_536, 8), (65_535, 4), (3, 1), (1, 2), (4720, 9)),
        *((1401, 118), (143, 252), (7346, 88), (1, 17), (5003, 1022), (300, 2004), (300, 2001)),
        *((65_535, 3), (65_536, 1), (65_543, 2), (243_886, 3), (564_993, 2), (70_001, 4)),
        *((625, 4884), (265, 4097), (1056, 8191), (1057, 8192), (891, 8192), (700, 8193)),
        # Lanes with all of a row under way at once, by accesses of each width, and a block of longer rows.
        *((20_001, 100), (8474, 436), (9001, 684), (2003, 1028), (20_003, 1380), (333, 2556), (40_001, 668)),
        *((20_001, 106), (8110, 658), (515, 586), (2003, 1030), (20_003, 1382), (333, 2558), (40_001, 666)),
        *((20_001, 104), (8474, 440), (2003, 1032), (20_003, 1384), (333, 2560), (8474, 437), (333, 2559)),
        *((265, 2564), (558, 2940), (2652, 6284), (2561, 3827), (1107, 7001), (264, 2940), (5003, 8190)),
    ),
    "cumsum": (
        *((700_001, 4), (400_001, 8), (300_001, 24), (200_000, 40), (50_001, 100), (50_001, 101)),
        *((30_001, 20), (60_001, 96), (50_003, 127), (21_847, 80), (21_846, 80)),
        *((5003, 257), (11_208, 287), (3001, 380), (3001, 381), (5003, 384), (5003, 515), (3001, 760)),
        *((1, 259), (2, 300)),
        # By warps, element by element.
        *(
            (1, 129),
            (7, 255),
            (2048, 255),
            (2049, 257),
            (300, 257),
            (482, 511),
            (130, 513),
            (2048, 1023),
            (45, 2018),
        ),
        *((3, 1025), (17, 2047), (18, 2049)),
        # A block of just enough warps.
        *(
            (1057, 513),
            (529, 1025),
            (1058, 1212),
            (2048, 1280),
            (2049, 385),
            (3001, 517),
            (600, 1281),
            (301, 4999),
            (265, 5000),
        ),
        *((266, 5001), (112, 4101), (5, 2049), (279, 7263), (265, 8188), (3, 8189), (2053, 509), (601, 2047)),
    ),
}
LONG = (
    *((1, 9_000_001), (3, 4_000_003), (2, 8_388_608), (40, 300_001)),  # by rings in float32, some in 16 bits
    # By blocks that all run at once, of each size, and by more than that.
    *((5, 20_001), (1, 170_000), (1, 531_276), (20, 60_001), (2, 1_389_762), (6, 588_945), (3, 2_700_001)),
    # By larger blocks that all run at once, and by a ring for a shorter row.
    *((1, 1_048_577), (1, 1_050_003), (1, 1_351_677), (1, 1_351_681), (1, 6_291_453), (1, 6_291_456)),
    # By clusters.
    *((1, 5001), (1, 10_000), (1, 20_001), (4, 32_767), (1, 32_768), (1, 57_344), (3, 65_533), (2, 99_001)),
    *((1, 16_384), (1, 16_385), (1, 131_072), (4, 170_001), (1, 229_376), (1, 229_377)),
    # By some of a row, whose last one has little of it or nearly as much as the others.
    *((1, 98_304), (1, 98_305), (1, 400_000), (2, 786_432), (1, 786_433), (4, 393_213), (3, 200_003)),
    *((1, 196_608), (1, 196_609), (1, 1_572_864), (2, 700_001)),
    *((1, 344_064), (1, 344_065), (1, 589_825), (1, 786_429), (2, 400_003), (4, 390_001), (3, 589_000)),
    # And of more rows.
    *((5, 16_385), (6, 100_003), (8, 60_001), (12, 141_897), (16, 98_304), (16, 16_385), (17, 20_001)),
)
GRADIENTS = [pair for pair in VERSIONS if pair[0].spec.name in ("rms_norm_backward", "layer_norm_backward")]
CUMSUM = [pair for pair in VERSIONS if pair[0].spec.name == "cumsum"]


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), VERSIONS, ids=name_of)
def test_many_short_rows(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    if dtype not in kernel.spec.dtypes:
        pytest.skip(f"{kernel.spec.name} does not take {dtype.label}.")
    call = built(kernel, version, dtype)
    for rows, cols in (*SHAPES, *BORDERS.get(kernel.spec.name, ())):
        if not is_inside(version.domain, {"rows": rows, "cols": cols}, dtype):
            continue
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        call(*inputs)
        results = call(*inputs)  # which starts while the first one ends
        error = relative_error(results, reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"


@pytest.mark.parametrize("cols", [3, 7, 26, 8, 259])
@pytest.mark.parametrize(("kernel", "version"), VERSIONS, ids=name_of)
def test_short_rows_of_views_that_begin_anywhere(kernel: Kernel, version: Implementation, cols: int) -> None:
    """Inputs that begin an element later than what is allocated give what they give elsewhere."""
    dtype = Dtype.BFLOAT16 if Dtype.BFLOAT16 in kernel.spec.dtypes else Dtype.FLOAT32
    call = built(kernel, version, dtype)
    inputs = random_inputs(kernel, {"rows": 163_451, "cols": cols}, dtype, device="cuda")
    views = tuple(
        torch.empty(x.numel() + 1, dtype=x.dtype, device="cuda")[1:].view_as(x).copy_(x) for x in inputs
    )
    error = relative_error(call(*views), reference(kernel, inputs))
    assert error <= kernel.spec.tolerance.of(dtype)


@pytest.mark.parametrize("late", [1, 2, 4])
@pytest.mark.parametrize(("kernel", "version"), GRADIENTS, ids=name_of)
def test_gradients_where_only_rows_begin_on_16_bytes(
    kernel: Kernel, version: Implementation, late: int
) -> None:
    """The scales, and what each row has, begin some elements later than what is allocated."""
    call = built(kernel, version, Dtype.BFLOAT16)
    for cols in (124, 126, 380, 509, 745, 1022):
        dy, x, *others = random_inputs(kernel, {"rows": 20_011, "cols": cols}, Dtype.BFLOAT16, device="cuda")
        views = (
            torch.empty(one.numel() + late, dtype=one.dtype, device="cuda")[late:].copy_(one)
            for one in others
        )
        error = relative_error(call(dy, x, *views), reference(kernel, (dy, x, *others)))
        assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), f"{cols} columns"


@pytest.mark.parametrize("special", [float("nan"), float("inf")])
@pytest.mark.parametrize(("kernel", "version"), GRADIENTS, ids=name_of)
def test_what_is_no_number_spoils_one_row_of_a_gradient(
    kernel: Kernel, version: Implementation, special: float
) -> None:
    call = built(kernel, version, Dtype.BFLOAT16)
    for cols in (7, 60, 126, 188, 380, 511, 745, 1022):
        rows, spoilt = 20_011, 7777
        first, *others = random_inputs(kernel, {"rows": rows, "cols": cols}, Dtype.BFLOAT16, device="cuda")
        before = call(first, *others)[0]
        first[spoilt, cols // 2] = special
        kept = torch.arange(rows, device="cuda") != spoilt
        after = call(first, *others)[0]
        assert torch.equal(before[kept].view(torch.uint8), after[kept].view(torch.uint8)), f"{cols} columns"
        assert not after[spoilt].isfinite().all()


@pytest.mark.parametrize("special", [float("nan"), float("inf")])
@pytest.mark.parametrize(("kernel", "version"), VERSIONS, ids=name_of)
def test_what_is_no_number_stays_in_its_row(kernel: Kernel, version: Implementation, special: float) -> None:
    if kernel.spec.inputs[0].element is not None or kernel.spec.name.endswith("norm_backward"):
        pytest.skip("Its first input is of integers, or its sums go over all rows.")
    dtype = Dtype.BFLOAT16 if Dtype.BFLOAT16 in kernel.spec.dtypes else Dtype.FLOAT32
    call = built(kernel, version, dtype)
    for cols in (3, 7, 26, 40, 259):
        rows, spoilt = 163_451, 77
        first, *others = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        before = call(first, *others)
        first[spoilt, cols // 2] = special
        kept = torch.arange(rows, device="cuda") != spoilt
        for old, new in zip(before, call(first, *others), strict=True):
            assert torch.equal(old[kept].view(torch.uint8), new[kept].view(torch.uint8)), f"{cols} columns"


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), CUMSUM, ids=name_of)
def test_long_rows_are_summed_in_one_order(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """Tiles are drawn by whichever block comes first, and sums are the same for all that."""
    call = built(kernel, version, dtype)
    for rows, cols in LONG:
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        (results,) = call(*inputs)
        error = relative_error((results,), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"
        for _ in range(4):
            assert torch.equal(results, call(*inputs)[0])

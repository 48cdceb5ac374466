"""Rows that a cluster of blocks shares, by each way that row_parts.py chooses, on a GPU."""

import itertools

import pytest
import torch

from roofscope.kernels.shared import held_rows, row_parts
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import implementations, name_of, random_inputs, reference, relative_error

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it compiles

CLUSTERS = [pair for pair in implementations(Provider.CUDA) if pair[1].stem == "cuda_cluster"]
SHAPES = (  # rows, columns; of either parity, as rows then begin at one alignment or at all
    # Few rows, in registers: of 2 to 16 blocks, 1 to 8 packs of a thread.
    *((3, 5), (2, 4096), (300, 4099), (40, 9356), (200, 5120), (200, 20000), (64, 16384), (8, 131_071)),
    *((5, 65536), (5, 65537), (100, 20001), (66, 65536), (6, 131_072), (2, 194_384), (2, 194_382)),
    *((12, 253_112), (24, 131_072), (113, 38_068), (57, 43_479), (27, 69_670), (13, 203_844), (119, 75_744)),
    *(
        (8, 208_820),
        (9, 68_404),
        (7, 201_700),
        (66, 4100),
        (3, 12),
        (131, 2052),
        (40, 9364),
    ),  # that begin on 8 bytes
    *((9, 114_614), (36, 101_392), (15, 63_032), (56, 33_918), (1, 243_988), (2, 225_704)),
    # Those that are too many or too long for it.
    *((20, 194_382), (400, 20001), (2, 300001)),
    *((1200, 30080), (500, 40001), (400, 70001), (70, 262145)),  # many, by 1 to 16 blocks
)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), CLUSTERS, ids=name_of)
def test_rows_by_clusters_of_any_size(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    call = built(kernel, version, dtype)
    for rows, cols in SHAPES:
        if kernel.spec.name == "softmax" and dtype is Dtype.FLOAT16 and cols > 2**17:
            continue  # about 1 / cols, of which float16 has six bits and fewer
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        call(*inputs)
        results = call(*inputs)  # which starts while the first one ends
        error = relative_error(results, reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), CLUSTERS, ids=name_of)
def test_rows_held_by_clusters_of_each_size(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """All kernels of held_rows.cuh, with all that a block holds, a few elements less, and next to nothing."""
    name = kernel.spec.name
    program = hopper_program(name, version.stem, dtype)
    pack = 16 // torch.tensor([], dtype=getattr(torch, dtype)).element_size()
    for blocks, packs in itertools.product((2, 4, 8, 16), held_rows._HELD_PACKS):
        for threads in (32, 96, 256):
            room = blocks * packs * threads * pack
            for cols in (room, room - 5 * pack, room - 1, room - pack - 1, room // 3 + 1, pack + 3):
                if cols % pack and packs not in held_rows._HELD_PACKS_ANY:
                    continue
                inputs = random_inputs(kernel, {"rows": 2 * pack + 1, "cols": cols}, dtype, device="cuda")
                outputs = tuple(torch.empty_like(inputs[0]) for _ in kernel.spec.outputs)
                shape = held_rows.HeldShape(blocks, packs, threads)
                held_rows.launch_held(program, f"{name}_cluster", shape, *inputs, *outputs)
                error = relative_error(outputs, reference(kernel, inputs))
                assert error <= kernel.spec.tolerance.of(dtype), f"{shape}, {cols} columns"


VECTORS = {"layer_norm": 2, "rms_norm": 1, "add_rms_norm": 1}


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
@pytest.mark.parametrize(
    ("kernel", "version"), [pair for pair in CLUSTERS if pair[0].spec.name in VECTORS], ids=name_of
)
def test_rows_held_beside_columns_in_shared_memory(
    kernel: Kernel, version: Implementation, dtype: Dtype
) -> None:
    """All such kernels, with all that a block holds, a few elements less, and next to nothing."""
    name = kernel.spec.name
    program = hopper_program(name, version.stem, dtype)
    pack = 16 // torch.tensor([], dtype=getattr(torch, dtype)).element_size()
    for blocks, packs in itertools.product((2, 8, 16), held_rows._COPIED_PACKS):
        for threads in (32, 96, 256):
            room = blocks * packs * threads * pack
            for cols in (room, room - 5 * pack, room - 1, room - pack - 1, room // 3 + 1, pack + 3):
                inputs = random_inputs(kernel, {"rows": 2 * pack + 1, "cols": cols}, dtype, device="cuda")
                outputs = tuple(torch.empty_like(inputs[0]) for _ in kernel.spec.outputs)
                shape = held_rows.HeldShape(blocks, packs, threads, copied=True)
                how = {"vectors": VECTORS[name]}
                held_rows.launch_held(program, f"{name}_cluster", shape, *inputs, *outputs, **how)
                error = relative_error(outputs, reference(kernel, inputs))
                assert error <= kernel.spec.tolerance.of(dtype), f"{shape}, {cols} columns"


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), CLUSTERS, ids=name_of)
def test_rows_copied_at_each_alignment(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """Of rows that begin amid 16 bytes a pack's columns lie in two words, the last one's in but one."""
    name = kernel.spec.name
    program = hopper_program(name, version.stem, dtype)
    two = len(kernel.spec.outputs)
    for blocks, cols in itertools.product((1, 2, 8, 16), (*range(1, 34), *range(5000, 5009))):
        inputs = random_inputs(kernel, {"rows": 9, "cols": cols}, dtype, device="cuda")
        outputs = tuple(torch.empty_like(inputs[0]) for _ in kernel.spec.outputs)
        shared = row_parts.packs_of_part(cols * inputs[0].element_size() // 16, blocks) * two * 16
        arguments = (*inputs, *outputs, cols)
        program.launch(
            f"{name}_cluster", 9 * blocks, 64, *arguments, shared_bytes=shared, cluster=blocks, overlaps=True
        )
        error = relative_error(outputs, reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{blocks} blocks, {cols} columns"


@pytest.mark.parametrize(("kernel", "version"), CLUSTERS, ids=name_of)
def test_few_rows_that_begin_amid_16_bytes(kernel: Kernel, version: Implementation) -> None:
    """Views, which registers do not keep."""
    call = built(kernel, version, Dtype.BFLOAT16)
    for rows, cols in ((3, 4096), (5, 20001), (2, 131_072)):
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, Dtype.BFLOAT16, device="cuda")
        inputs = [torch.cat((one.new_zeros(1), one.flatten()))[1:].view(one.shape) for one in inputs]
        error = relative_error(call(*inputs), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), f"{rows} x {cols}"


FEW = {  # rows, columns: on both sides of each border that the launchers have
    "rms_norm/cuda_cluster": ((412, 30_400), (412, 32_608), (576, 33_560), (400, 65_536), (397, 65_544)),
    "add_rms_norm/cuda_cluster": ((397, 43_200), (454, 43_848), (397, 92_648), (200, 98_304), (200, 98_312)),
    "softmax/cuda_cluster": (
        (206, 77_520),
        (298, 69_760),
        (396, 50_001),
        (242, 117_088),
        (250, 60_002),
        (430, 81_256),
        (397, 52_000),
    ),
    "softmax_backward/cuda_registers": (
        *((5, 3072), (1, 6144), (3, 6145), (4, 8192), (16, 16384), (7, 16381), (66, 16384), (64, 65536)),
        *((100, 40000), (132, 40001), (133, 40000), (3, 150_001), (70, 131_072)),
        # By clusters of each size and packs of a thread.
        *(
            (300, 20_001),
            (464, 20_360),
            (281, 27_416),
            (703, 65_784),
            (220, 98_401),
            (143, 111_448),
            (5, 262_144),
        ),
        *(
            (150, 131_073),
            (70, 204_648),
            (1, 294_912),
            (2, 294_913),
            (18, 261_255),
            (200, 16_385),
            (133, 16_384),
        ),
    ),
    "cross_entropy/cuda_online": (
        *((32, 50257), (16, 131_072), (66, 16384), (100, 16384), (132, 16379), (200, 4096), (200, 16384)),
        *((265, 20001), (300, 20000), (265, 16384)),
        *((57, 18_848), (79, 18_251), (88, 83_784), (19, 313_625)),
        # In registers.
        *(
            (1, 12_289),
            (5, 12_296),
            (24, 32_768),
            (24, 32_769),
            (18, 38_248),
            (1, 40_422),
            (9, 78_520),
            (25, 51_216),
        ),
        *((24, 51_216), (4, 147_316), (2, 182_295), (2, 234_350), (4, 293_809), (1, 393_216), (3, 393_217)),
    ),
    "rms_norm_backward/cuda_phases": ((8, 131_072), (16, 65536), (64, 16384), (200, 8192), (119, 8200)),
    "layer_norm_backward/cuda_phases": ((8, 131_072), (16, 65537), (64, 16384), (200, 8192), (119, 8200)),
}


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(
    ("kernel", "version"),
    [pair for pair in implementations(Provider.CUDA) if pair[1].key in FEW],
    ids=name_of,
)
def test_few_rows_that_blocks_share(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    call = built(kernel, version, dtype)
    for rows, cols in FEW[version.key]:
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        call(*inputs)
        results = call(*inputs)  # which starts while the first one ends
        error = relative_error(results, reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"


IGNORED = -100


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
def test_labels_of_rows_in_registers(dtype: Dtype) -> None:
    """Of all kernels of held_rows.cuh; beside the packs, in the first one, in the last and in none."""
    program = hopper_program("cross_entropy", "cuda_online", dtype)
    scalar = getattr(torch, dtype)
    pack = 16 // torch.tensor([], dtype=scalar).element_size()
    for blocks, packs, threads in itertools.product((8, 16), (1, 2, 3, 4, 6), (32, 160, 512)):
        room = blocks * packs * threads * pack
        for cols in (room, room - 1, room - pack - 1, room // 2 + 3, pack + 3):
            columns = {0, 1, pack - 1, pack, cols // 2, cols - pack, cols - 2, cols - 1}
            valid = sorted(column for column in columns if 0 <= column < cols)
            labels = torch.tensor([*valid, IGNORED, cols, -1], device="cuda")
            logits = torch.randn(len(labels), cols, device="cuda").to(scalar)
            loss = torch.empty(len(labels), dtype=scalar, device="cuda")
            grid = (blocks, len(labels))
            how = {"cluster": blocks, "overlaps": True}
            program.launch(f"cross_entropy_held_{packs}", grid, threads, logits, labels, loss, cols, **how)
            sums = torch.logsumexp(logits.double(), dim=1)[: len(valid)]
            expected = sums - logits.double()[range(len(valid)), valid]
            where = f"{blocks} x {threads} threads, {packs} packs, {cols} columns"
            assert torch.allclose(loss[: len(valid)].double(), expected, rtol=1e-2, atol=1e-2), where
            assert loss[len(valid)] == 0, where
            assert loss[len(valid) + 1 :].isnan().all(), where

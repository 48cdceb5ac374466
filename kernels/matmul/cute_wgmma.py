"""C = A B in the CuTe DSL on Hopper's tensor cores: TMA fills a ring of tiles, two warp groups multiply.

Formula: C[i, j] = sum_l A[i, l] B[l, j], sums in float32; 2 m n k FLOP, (m k + k n + m n) s compulsory bytes.
Mapping: a block owns a tile of C of 128 x COLUMNS. Its first warp group only copies, one warp of it by TMA;
the other two own 64 rows each and keep them in registers. A stage of the ring is 64 elements of k: 128 bytes,
a row of the swizzle that wgmma reads without conflicts. Blocks go down a band of eight tiles before the next
column, so that what they read together is in L2. TMA gives zeros beyond the edges; rows that are no multiple
of 16 bytes are copied first.
Idea: cuda_wgmma in another language: CUTLASS's warp-specialised kernels for Hopper; here one tile a block,
and no clusters.
"""

import functools

import cutlass
import torch
from cuda.bindings import driver
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.memory.smem import SmemAllocator
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import hopper_helpers

from roofscope import Refusal, needs_hopper
from roofscope.kernels.shared.device_pointers import VECTOR_BYTES, pointer, stream_of, typed
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
ROWS, DEPTH = 128, 64  # of a tile of C, and elements of k in a stage
STAGES = {128: 6, 256: 4}  # by the columns of a tile: both come to 192 KiB
GROUP = 128  # threads of a warp group
MULTIPLYING = 2  # warp groups
THREADS = (1 + MULTIPLYING) * GROUP
WARPS = MULTIPLYING * GROUP // 32  # that read a stage, and each say when they have
BAND = 8  # tiles
UNIT = 8  # elements of 16 bytes
SWIZZLE_BYTES = 1024  # after which the swizzle of 128 bytes repeats
FEW_REGISTERS, MANY_REGISTERS = 40, 232  # 40 + 2 * 232 = 504 of the 512 that three groups share


@cute.jit
def _tile_of(block: cutlass.Int32, rows: cutlass.Int32, columns: cutlass.Int32):
    """Row and column of a block's tile: bands of BAND tiles, each from left to right."""
    of_band = BAND * columns
    first = block // of_band * BAND
    height = cutlass.min(rows - first, BAND)
    within = block % of_band
    return first + within % height, within // height


@cute.kernel
def _multiply(
    copy_a: cute.CopyAtom,
    a: cute.Tensor,
    copy_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
    COLUMNS: cutlass.Constexpr,
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp = cute.arch.warp_idx()
    stages = STAGES[COLUMNS]
    tile_row, tile_column = _tile_of(
        block, cute.ceil_div(c.shape[0], ROWS), cute.ceil_div(c.shape[1], COLUMNS)
    )
    memory = SmemAllocator()
    barriers = memory.allocate_array(cutlass.Int64, 2 * stages)
    a_ring = memory.allocate_tensor(c.element_type, a_layout.outer, SWIZZLE_BYTES, a_layout.inner)
    b_ring = memory.allocate_tensor(c.element_type, b_layout.outer, SWIZZLE_BYTES, b_layout.inner)
    ring = pipeline.PipelineTmaAsync.create(
        num_stages=stages,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, WARPS),
        tx_count=(ROWS + COLUMNS) * DEPTH * c.element_type.width // 8,
        barrier_storage=barriers,
        cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )
    steps = cute.ceil_div(a.shape[1], DEPTH)
    a_tiles = cute.local_tile(a, (ROWS, DEPTH), (tile_row, None))
    b_tiles = cute.local_tile(b, (COLUMNS, DEPTH), (tile_column, None))
    if warp < GROUP // 32:
        cute.arch.setmaxregister_decrease(FEW_REGISTERS)
        if warp == 0:
            _fill(ring, stages, steps, (copy_a, a_tiles, a_ring), (copy_b, b_tiles, b_ring))
    else:
        cute.arch.setmaxregister_increase(MANY_REGISTERS)
        c_tile = cute.local_tile(c, (ROWS, COLUMNS), (tile_row, tile_column))
        part = mma.get_slice(thread - GROUP)
        sums = cute.make_rmem_tensor(part.partition_C(c_tile).shape, cutlass.Float32)
        _sum_up(ring, stages, steps, mma, a_ring, b_ring, sums)
        places = cute.make_identity_tensor((ROWS, COLUMNS))
        _store(
            sums,
            part.partition_C(c_tile),
            part.partition_C(places),
            c,
            (tile_row * ROWS, tile_column * COLUMNS),
        )


@cute.jit
def _fill(
    ring: pipeline.PipelineTmaAsync, STAGES: cutlass.Constexpr, steps: cutlass.Int32, of_a, of_b
) -> None:
    """One warp copies tile after tile as stages become free; a copy tells the barrier when it is there."""
    copy_a, a_tiles, a_ring = of_a
    copy_b, b_tiles, b_ring = of_b
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        copy_a, 0, alone, cute.group_modes(a_ring, 0, 2), cute.group_modes(a_tiles, 0, 2)
    )
    to_b, from_b = cpasync.tma_partition(
        copy_b, 0, alone, cute.group_modes(b_ring, 0, 2), cute.group_modes(b_tiles, 0, 2)
    )
    place = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
    for step in cutlass.range(steps, unroll=1):
        ring.producer_acquire(place)
        barrier = ring.producer_get_barrier(place)
        cute.copy(copy_a, from_a[None, step], to_a[None, place.index], tma_bar_ptr=barrier)
        cute.copy(copy_b, from_b[None, step], to_b[None, place.index], tma_bar_ptr=barrier)
        ring.producer_commit(place)
        place.advance()


@cute.jit
def _sum_up(
    ring: pipeline.PipelineTmaAsync,
    STAGES: cutlass.Constexpr,
    steps: cutlass.Int32,
    mma: cute.TiledMma,
    a_ring: cute.Tensor,
    b_ring: cute.Tensor,
    sums: cute.Tensor,
) -> None:
    """Products of a stage at a time, of which one may still be under way when the next is begun."""
    # wgmma reads by descriptors, which are those of a whole warp group.
    group = cute.arch.make_warp_uniform(cute.arch.warp_idx() // (GROUP // 32) - 1)
    part = mma.get_slice(group * GROUP)
    a_parts = mma.make_fragment_A(part.partition_A(a_ring))
    b_parts = mma.make_fragment_B(part.partition_B(b_ring))
    sums.fill(0.0)
    mma.set(warpgroup.Field.ACCUMULATE, True)
    place = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
    behind = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
    for step in cutlass.range(steps, unroll=1):
        ring.consumer_wait(place)
        warpgroup.fence()
        for part_of_k in cutlass.range_constexpr(cute.size(a_parts, mode=[2])):
            at = (None, None, part_of_k, place.index)
            cute.gemm(mma, sums, a_parts[at], b_parts[at], sums)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        if step > 0:  # the products of the stage before are done
            ring.consumer_release(behind)
            behind.advance()
        place.advance()
    warpgroup.wait_group(0)


@cute.jit
def _store(sums: cute.Tensor, to: cute.Tensor, places: cute.Tensor, c: cute.Tensor, corner) -> None:
    """A thread has pairs of neighbours in a row; rows of C are whole pairs, so one comparison is for both."""
    _, blocks_of_m, blocks_of_n = sums.shape
    _pair, halves, eights = sums.shape[0]
    for m in cutlass.range_constexpr(blocks_of_m):
        for n in cutlass.range_constexpr(blocks_of_n):
            for half in cutlass.range_constexpr(halves):
                for eight in cutlass.range_constexpr(eights):
                    at = ((None, half, eight), m, n)
                    row, column = places[(0, half, eight), m, n]
                    if row + corner[0] < c.shape[0] and column + corner[1] < c.shape[1]:
                        to[at].store(sums[at].load().to(c.element_type))


@cute.jit
def _launch(
    a: cute.Pointer,
    b: cute.Pointer,
    c: cute.Pointer,
    m: cutlass.Int32,
    n: cutlass.Int32,
    a_columns: cutlass.Int32,
    b_rows: cutlass.Int32,
    stream: driver.CUstream,
    COLUMNS: cutlass.Constexpr,
) -> None:
    """``n`` and ``a_columns`` are multiples of UNIT; B may have fewer rows than A has columns."""
    n, a_columns = cute.assume(n, divby=UNIT), cute.assume(a_columns, divby=UNIT)
    row_of_a = cute.assume(cutlass.Int64(a_columns), divby=UNIT)
    row_of_n = cute.assume(cutlass.Int64(n), divby=UNIT)
    a_tensor = cute.make_tensor(a, cute.make_layout((m, a_columns), stride=(row_of_a, 1)))
    b_tensor = cute.make_tensor(b, cute.make_layout((n, b_rows), stride=(1, row_of_n)))
    c_tensor = cute.make_tensor(c, cute.make_layout((m, n), stride=(row_of_n, 1)))
    tile, element = (ROWS, COLUMNS, DEPTH), a_tensor.element_type
    mma = hopper_helpers.make_trivial_tiled_mma(
        element,
        element,
        cute.nvgpu.OperandMajorMode.K,
        cute.nvgpu.OperandMajorMode.MN,
        cutlass.Float32,
        (MULTIPLYING, 1, 1),
        (ROWS // MULTIPLYING, COLUMNS),
    )
    a_layout = hopper_helpers.make_smem_layout_a(LayoutEnum.ROW_MAJOR, tile, element, STAGES[COLUMNS])
    b_layout = hopper_helpers.make_smem_layout_b(LayoutEnum.COL_MAJOR, tile, element, STAGES[COLUMNS])
    load = cpasync.CopyBulkTensorTileG2SOp()
    copy_a, a_coordinates = cpasync.make_tiled_tma_atom(
        load, a_tensor, cute.slice_(a_layout, (None, None, 0)), (ROWS, DEPTH)
    )
    copy_b, b_coordinates = cpasync.make_tiled_tma_atom(
        load, b_tensor, cute.slice_(b_layout, (None, None, 0)), (COLUMNS, DEPTH)
    )
    blocks = cute.ceil_div(m, ROWS) * cute.ceil_div(n, COLUMNS)
    _multiply(
        copy_a, a_coordinates, copy_b, b_coordinates, c_tensor, mma, a_layout, b_layout, COLUMNS
    ).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


@functools.cache
def compiled(dtype: torch.dtype, columns: int):
    """The launch for tiles of C with this many columns."""
    matrix, size = typed(dtype, VECTOR_BYTES), cutlass.Int32(UNIT)
    return cute.compile(_launch, matrix, matrix, matrix, size, size, size, size, driver.CUstream(0), columns)


def tile_columns(m: int, n: int, multiprocessors: int) -> int:
    """Wide tiles read fewer bytes a FLOP; where they do not fill the GPU, narrow ones make more blocks."""
    return 256 if -(-m // ROWS) * -(-n // 256) >= multiprocessors else 128


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous. Raises Refusal for float32 and where wgmma is missing."""
    if a.dtype == torch.float32:
        raise Refusal("matmul/cute_wgmma multiplies 16-bit elements; cuda_ffma takes float32.")
    needs_hopper("matmul/cute_wgmma", a.device)
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/cute_wgmma", m, n, k)
    if not m * n:
        return torch.empty((m, n), dtype=a.dtype, device=a.device)
    # Where C's rows are no whole 16 bytes, a copy at the end makes them so, and counts as time.
    c = torch.empty((m, n + -n % UNIT), dtype=a.dtype, device=a.device)
    a, b = in_whole_units(a), in_whole_units(b)
    columns = tile_columns(m, n, torch.cuda.get_device_properties(a.device).multi_processor_count)
    sizes = map(cutlass.Int32, (m, c.shape[1], a.shape[1], b.shape[0]))
    pointers = (pointer(matrix, VECTOR_BYTES) for matrix in (a, b, c))
    compiled(a.dtype, columns)(*pointers, *sizes, stream_of(a))
    return c[:, :n].contiguous()

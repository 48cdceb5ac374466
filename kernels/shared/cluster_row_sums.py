"""Which kernel of cluster_row_sums.cuh takes few long rows of float32, a cluster each, and its launch."""

from typing import NamedTuple

import torch

from roofscope import CudaProgram

HOPPER = "sm_90"
# Of a cluster: the first, but where a block would have next to nothing, or where a multiprocessor would have
# more than so many such blocks.
BLOCKS, MOST_LARGE = (16, 8), 6
LEAST_THREADS, MOST_THREADS = 96, 512
# Elements of an access, as many as rows begin on: accesses of a thread, more where threads would be too many.
ACCESSES = {4: (4,), 2: (4, 8), 1: (8,)}
MANY_THREADS = 2**16  # of all clusters
SHORTEST, LONGEST = 4096, 2**17  # columns
MOST_BYTES = 8 * 2**20  # of all rows: of more all of the GPU has more under way
MOST_ROWS = 0.5  # of the multiprocessors
WARP, ELEMENT_BYTES = 32, 4


class ClusterSums(NamedTuple):
    """Clusters of so many blocks a row; a thread has ``each`` accesses of ``width`` elements."""

    blocks: int
    threads: int
    each: int
    width: int
    part: int  # elements of a block


def cluster_of_rows(program: CudaProgram, x: torch.Tensor, *others: torch.Tensor) -> ClusterSums | None:
    """How clusters take the rows of ``x``, (rows, cols), and vectors; None where others are faster."""
    rows, cols = x.shape
    if x.element_size() != ELEMENT_BYTES or not SHORTEST < cols <= LONGEST:
        return None
    if rows > MOST_ROWS * program.multiprocessor_count or rows * cols * ELEMENT_BYTES > MOST_BYTES:
        return None
    if not program.architecture.startswith(HOPPER):
        return None
    return cluster_sums(rows, cols, width_of(cols, x, *others), program.multiprocessor_count)


def width_of(cols: int, *tensors: torch.Tensor) -> int:
    """Elements of the widest access that all rows, and the tensors, begin on."""
    starts = [cols * ELEMENT_BYTES, *(tensor.data_ptr() for tensor in tensors)]
    return next(width for width in ACCESSES if all(start % (width * ELEMENT_BYTES) == 0 for start in starts))


def cluster_sums(rows: int, cols: int, width: int, multiprocessors: int) -> ClusterSums | None:
    """For rows that begin on ``width`` elements; None where a cluster does not hold one."""
    blocks = BLOCKS if rows * BLOCKS[0] <= MOST_LARGE * multiprocessors else BLOCKS[-1:]
    shapes = [shape_of(cols, width, each, blocks) for each in ACCESSES[width]]
    few = (one for one in shapes if rows * one.blocks * one.threads <= MANY_THREADS)
    for shape in (*few, *reversed(shapes)):
        if shape.threads <= MOST_THREADS:
            return shape
    return None


def shape_of(cols: int, width: int, each: int, blocks: tuple[int, ...]) -> ClusterSums:
    """Just enough threads with ``each`` accesses."""

    def of(blocks: int) -> ClusterSums:
        accesses = -(-cols // (width * blocks * WARP)) * WARP
        threads = -(-accesses // (each * WARP)) * WARP
        return ClusterSums(blocks, threads, each, width, accesses * width)

    shapes = [of(one) for one in blocks]
    return next((shape for shape in shapes if shape.threads >= LEAST_THREADS), shapes[-1])


def launch_cluster_sums(
    program: CudaProgram, name: str, shape: ClusterSums, x: torch.Tensor, *others: torch.Tensor
) -> None:
    """Launch ``<name>_cluster_<each>_<width>`` over the rows of ``x``, (rows, cols)."""
    rows, cols = x.shape
    kernel, grid = f"{name}_cluster_{shape.each}_{shape.width}", (shape.blocks, rows)
    sizes = (cols, shape.part)
    program.launch(kernel, grid, shape.threads, x, *others, *sizes, cluster=shape.blocks, overlaps=True)

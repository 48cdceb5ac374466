"""How many blocks of a kernel a multiprocessor holds at once, and what keeps it from holding more.

As NVIDIA's occupancy calculator has it (cuda_occupancy.h, which comes with the CUDA toolkit), for the largest
share of the L1 cache that can be shared memory; tests hold it against that header.
"""

from enum import StrEnum

from msgspec import Struct

WARP = 32
_REGISTERS_AT_ONCE = 256  # a warp gets them in such pieces
_PARTITIONS = 4  # of a multiprocessor, each with a quarter of its registers
REGISTERS = 65536  # of a multiprocessor, and at most of a block
_MOST_REGISTERS = 255  # of a thread
_MOST_THREADS = 1024  # of a block
_KIB = 1024


class Limits(Struct, frozen=True):
    """Of a multiprocessor. ``reserved_bytes`` of shared memory are the system's in each block."""

    warps: int
    blocks: int
    shared_bytes: int
    block_shared_bytes: int  # of one block, by the kernel's own wish
    shared_at_once: int = 128
    reserved_bytes: int = _KIB


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Shared Memory Capacity
# per Compute Capability"; blocks and granularities also in cuda_occupancy.h.
_LIMITS = {
    (7, 0): Limits(64, 32, 96 * _KIB, 96 * _KIB, 256, 0),
    (7, 2): Limits(64, 32, 96 * _KIB, 96 * _KIB, 256, 0),
    (7, 5): Limits(32, 16, 64 * _KIB, 64 * _KIB, 256, 0),
    (8, 0): Limits(64, 32, 164 * _KIB, 163 * _KIB),
    (8, 6): Limits(48, 16, 100 * _KIB, 99 * _KIB),
    (8, 7): Limits(48, 16, 164 * _KIB, 163 * _KIB),
    (8, 9): Limits(48, 24, 100 * _KIB, 99 * _KIB),
    (9, 0): Limits(64, 32, 228 * _KIB, 227 * _KIB),
    (10, 0): Limits(64, 32, 228 * _KIB, 227 * _KIB),
    (10, 3): Limits(64, 32, 228 * _KIB, 227 * _KIB),
    (11, 0): Limits(48, 24, 228 * _KIB, 227 * _KIB),
    (12, 0): Limits(48, 24, 100 * _KIB, 99 * _KIB),
    (12, 1): Limits(48, 24, 100 * _KIB, 99 * _KIB),
}


class Cause(StrEnum):
    """What a block takes up that is used up first."""

    REGISTERS = "registers"
    SHARED_MEMORY = "shared memory"
    WARPS = "warps"  # as many as a multiprocessor holds: nothing keeps it from more
    BLOCKS = "blocks"  # as many as a multiprocessor holds, of few threads each
    GRID = "the grid"  # it has fewer blocks than would fit


class Occupancy(Struct, frozen=True):
    """Of one multiprocessor; ``share`` is of the warps that it holds at most, 0 to 1."""

    blocks: int
    warps: int
    most_warps: int
    causes: tuple[Cause, ...]  # several where they allow the same

    @property
    def share(self) -> float:
        return self.warps / self.most_warps


def limits_of(capability: tuple[int, int] | None) -> Limits | None:
    """None for a compute capability that is not known here."""
    return _LIMITS.get(capability) if capability else None


def occupancy(
    capability: tuple[int, int] | None, threads: int, registers: int | None, shared_bytes: int | None
) -> Occupancy | None:
    """Of a kernel with blocks of so many threads; ``shared_bytes`` is static and dynamic together.

    None where the device is not known, and where no block of this kind can be launched at all.
    """
    limits = limits_of(capability)
    if limits is None or not 0 < threads <= _MOST_THREADS:
        return None
    warps = _parts(threads, WARP)
    allowed = {
        Cause.WARPS: limits.warps // warps,
        Cause.BLOCKS: limits.blocks,
    }
    if registers:
        allowed[Cause.REGISTERS] = _by_registers(registers, warps)
    if shared_bytes is not None:
        allowed[Cause.SHARED_MEMORY] = _by_shared_memory(shared_bytes, limits)
    blocks = min(allowed.values())
    if blocks < 1:
        return None
    return Occupancy(
        blocks,
        blocks * warps,
        limits.warps,
        tuple(cause for cause in Cause if allowed.get(cause) == blocks),
    )


def in_grid(found: Occupancy, grid_blocks: int, multiprocessors: int | None) -> Occupancy:
    """Of a grid that is too small to fill every multiprocessor once, the most that one of them gets."""
    if not multiprocessors or grid_blocks < 1:
        return found
    share = _parts(grid_blocks, multiprocessors)
    if share >= found.blocks:
        return found
    per_block = found.warps // found.blocks
    return Occupancy(share, share * per_block, found.most_warps, (Cause.GRID,))


def _by_registers(registers: int, warps: int) -> int:
    a_warp = _parts(registers * WARP, _REGISTERS_AT_ONCE) * _REGISTERS_AT_ONCE
    # The hardware's check takes a warp for every partition, also where the last ones of a block are missing.
    if registers > _MOST_REGISTERS or a_warp * _parts(warps, _PARTITIONS) * _PARTITIONS > REGISTERS:
        return 0
    return REGISTERS // _PARTITIONS // a_warp * _PARTITIONS // warps


def _by_shared_memory(shared_bytes: int, limits: Limits) -> int:
    taken = _parts(shared_bytes + limits.reserved_bytes, limits.shared_at_once) * limits.shared_at_once
    if shared_bytes > limits.block_shared_bytes:
        return 0
    return limits.shared_bytes // taken if taken else limits.blocks


def _parts(count: int, size: int) -> int:
    return -(-count // size)

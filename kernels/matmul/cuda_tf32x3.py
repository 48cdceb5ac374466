"""Launcher of cuda_tf32x3.cu: float32 by three products in TF32, by TMA and wgmma."""

import functools
from dataclasses import dataclass

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.tile_shares import new_ticket

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

_ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh
_STEP = _ROW // 4
_ROWS = 128  # of every tile
_SPLIT_THREADS = 256


@dataclass(frozen=True)
class Tile:
    """A kernel's columns of C, stages of its ring, blocks of its cluster, time of a step on an H200."""

    columns: int
    stages: int
    cluster: int
    step_ns: int

    @property
    def shared_bytes(self) -> int:
        stores = 2 * _ROWS * _ROW
        return self.stages * (2 * (_ROWS + self.columns) * _ROW + 2 * 8) + stores

    def count(self, m: int, n: int) -> int:
        """Tiles of a cluster that cover C."""
        return -(-m // (_ROWS * self.cluster)) * -(-n // self.columns)


# Those of 128 columns in the order in which they are preferred.
TILES = {
    "tile_128x128": Tile(128, stages=3, cluster=1, step_ns=1030),
    "tile_128x128_pair": Tile(128, stages=3, cluster=2, step_ns=1030),
    "tile_128x64": Tile(64, stages=4, cluster=1, step_ns=750),
}
_AT_LEAST = 1.05  # times as fast sharing must be by this model, which knows it less well
_SHARED = 1.11  # times as long a step of shared tiles takes: clusters read other lines at once
_LARGE = 2**25  # elements of C, from which on tiles read less of B where two blocks share it


@dataclass(frozen=True)
class Plan:
    """A kernel, blocks of its grid, tiles that clusters compute one by one, and about the time."""

    name: str
    blocks: int
    alone: int
    time_ns: float


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous. Raises Refusal for 16 bits and where wgmma is missing."""
    if a.dtype != torch.float32:
        raise Refusal("matmul/cuda_tf32x3 multiplies float32; 16-bit elements need one product, not three.")
    needs_hopper("matmul/cuda_tf32x3", a.device)
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/cuda_tf32x3", m, n, k)
    return launch(program, choose(m, n, k, program.multiprocessor_count), a, b)


@functools.lru_cache(maxsize=4096)
def choose(m: int, n: int, k: int, multiprocessors: int) -> Plan:
    """The one of least time: large tiles need fewer bytes a FLOP, small ones fill more units."""
    plans = [plan for name in TILES for plan in plans_of(name, m, n, k, multiprocessors)]
    return min(plans, key=lambda plan: plan.time_ns)


def plans_of(name: str, m: int, n: int, k: int, multiprocessors: int) -> list[Plan]:
    """With every tile computed by one cluster; and with those of the last round shared along k."""
    tile, steps = TILES[name], -(-k // _STEP)
    units = multiprocessors // tile.cluster
    count = tile.count(m, n)
    whole, rest = divmod(count, units)
    step_ns, elements = tile.step_ns, _ROWS * tile.columns
    if tile.cluster == 1 and m * n >= _LARGE:
        step_ns *= 1.02
    end_ns = 720 + elements * (0.21 if n % 4 == 0 else 0.29)

    def plan(blocks: int, alone: int, time_ns: float) -> Plan:
        return Plan(name, blocks * tile.cluster, alone, time_ns)

    plans = [plan(min(count, units), count, (whole + bool(rest)) * (steps * step_ns + end_ns))]
    if rest * steps > 0 and (rest + units) * steps < 2**31:  # which 32 bits count
        for shared_by in [units] if whole else _sharers(rest, min(units, rest * steps)):
            each = -(-rest * steps // shared_by)
            meet_ns = 1560 + 840 * -(-shared_by // rest)
            time_ns = whole * (steps * step_ns + end_ns) + each * step_ns * _SHARED + end_ns + meet_ns
            plans.append(plan(shared_by, count - rest, time_ns * _AT_LEAST))
    return plans


def _sharers(tiles: int, most: int) -> list[int]:
    """Clusters that may share so many tiles: whole numbers for each of them, and as many as there are."""
    return sorted({*(tiles * each for each in range(2, 17) if tiles * each <= most), most})


def launch(program: CudaProgram, plan: Plan, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness."""
    tile = TILES[plan.name]
    (m, k), n = a.shape, b.shape[1]
    if not m * n:
        return torch.empty((m, n), device=a.device)
    width = max(k + -k % 4, 4)  # rows of whole 16 bytes
    a_parts = torch.empty((2, m, width), device=a.device)
    b_parts = torch.empty((2, n, width), device=a.device)
    c = torch.empty((m, n), device=a.device)
    blocks_of_a = -(-m // 32) * -(-width // 128)
    blocks_of_b = -(-n // 64) * -(-width // 64)
    program.launch(
        "split", blocks_of_a + blocks_of_b, _SPLIT_THREADS,
        a, a_parts[0], a_parts[1], b, b_parts[0], b_parts[1], m, n, k, width, blocks_of_a, overlaps=True,
    )  # fmt: skip
    a_box, b_box = (_ROWS, _STEP), (tile.columns // tile.cluster, _STEP)
    # Rows of C that are not of whole 16 bytes are stored by threads, and the map of C is one of A.
    is_loose = n % 4 != 0
    # Parts of tiles that meet in memory, and of each a flag that it is there.
    sums, flags = c, c
    if plan.alone < tile.count(m, n):
        sums = torch.empty(plan.blocks * _ROWS * tile.columns, device=a.device)
        flags = torch.empty(plan.blocks * (_ROWS // 64), dtype=torch.int64, device=a.device)
    program.launch(
        plan.name,
        plan.blocks,
        384,
        *(tensor_map(part, a_box) for part in a_parts),
        *(tensor_map(part, b_box) for part in b_parts),
        tensor_map(a_parts[0], a_box) if is_loose else tensor_map(c, (64, _STEP)),
        m,
        n,
        k,
        sums,
        flags,
        new_ticket(),
        plan.alone,
        c if is_loose else 0,
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return c

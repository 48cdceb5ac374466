"""Launches what wgmma_matmul.cuh compiles to: the choice of a tile, the tensor maps, the padding."""

from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram, needs_hopper, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units
from roofscope.kernels.shared.tile_shares import new_ticket

_ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh
_BAND = 64
_EQUAL = 0  # of `parts`
_LINE = 128  # bytes of a line of L2
_BYTES_PER_NS = 90  # that come into a multiprocessor of an H100, from rows that do not begin where lines do
_ALIGNED = (True, True)


@dataclass(frozen=True)
class Plan:
    """Blocks of a grid, tiles that clusters compute one by one, and about the time of the product."""

    blocks: int
    alone: int
    time_ns: int


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, stages of its ring, time of a step on an H100 or H200.

    ``cluster`` blocks compute tiles one above the other. Where few tiles are left for a last round, each may
    be shared by ``parts`` blocks, over a part of k each; or, where that is 0, all clusters share these tiles
    equally, wherever in a tile a share begins.
    """

    rows: int
    columns: int
    stages: int
    step_ns: int
    cluster: int = 1
    parts: int = 1

    @property
    def threads(self) -> int:
        return (self.rows // 64 + 1) * 128

    @property
    def shared_bytes(self) -> int:
        stores = 2 * self.rows * _ROW
        in_bands = -(-self.columns // _BAND) * _BAND
        return self.stages * ((self.rows + in_bands) * _ROW + 2 * 8) + stores + 2 * 8

    def count(self, m: int, n: int) -> int:
        """Tiles of a cluster that cover C."""
        return -(-m // (self.rows * self.cluster)) * -(-n // self.columns)

    def step_of(self, aligned: tuple[bool, bool]) -> int:
        """Time of a step where rows of A, and of B, begin on lines, or else come from two of them each."""
        if all(aligned):
            return self.step_ns
        a_bytes, b_bytes = self.rows * _ROW, self.columns * _ROW // self.cluster
        line_bytes = a_bytes * (1 if aligned[0] else 2) + b_bytes * (1 if aligned[1] else 2)
        return max(self.step_ns, line_bytes // _BYTES_PER_NS)

    def plans(
        self, m: int, n: int, steps: int, multiprocessors: int, aligned: tuple[bool, bool] = _ALIGNED
    ) -> list[Plan]:
        """With every tile computed by one cluster; and with those of the last round shared, if that can be.

        What the times of all tiles have in common, the start of a kernel, is not counted.
        """
        together = self.cluster * max(self.parts, 1)
        most = multiprocessors // together * together
        units, count = most // self.cluster, self.count(m, n)
        step_ns = self.step_of(aligned)
        end_ns = self.rows * self.columns // 10
        blocks = min(-(-count * self.cluster // together) * together, most)
        rounds, rest = divmod(count, max(units, 1))
        plans = [Plan(blocks, count, (rounds + bool(rest)) * steps * step_ns + end_ns)]
        shared_ns = rounds * steps * step_ns + end_ns
        if self.parts == _EQUAL and rest and rest * steps < 2**31:  # which 32 bits count
            # A tile's parts meet in memory, where one block adds them one by one.
            exchange_ns = 8000 + 1500 * -(-units // rest)
            shared_ns += -(-rest * steps // units) * step_ns + exchange_ns
            plans.append(Plan(most, count - rest, shared_ns))
        elif self.parts > 1 and 0 < rest * self.parts <= units:
            exchange_ns = 1500 + self.rows * self.columns * 9 // 64
            shared_ns += -(-steps // self.parts) * step_ns + exchange_ns
            plans.append(Plan(most if rounds else rest * self.parts, count - rest, shared_ns))
        return plans

    def plan(
        self, m: int, n: int, steps: int, multiprocessors: int, aligned: tuple[bool, bool] = _ALIGNED
    ) -> Plan:
        """The one of least time."""
        return min(self.plans(m, n, steps, multiprocessors, aligned), key=lambda plan: plan.time_ns)


TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=660, cluster=2, parts=_EQUAL),
    "tile_128x224_pair": Tile(128, 224, stages=4, step_ns=605, cluster=2, parts=_EQUAL),
    "tile_128x256": Tile(128, 256, stages=4, step_ns=670, parts=2),
    "tile_128x192": Tile(128, 192, stages=4, step_ns=525, parts=2),
    "tile_128x128": Tile(128, 128, stages=6, step_ns=370, parts=2),
    "tile_64x128": Tile(64, 128, stages=8, step_ns=235, parts=2),
    "tile_64x64_halves": Tile(64, 64, stages=8, step_ns=147, parts=2),
    "tile_64x64": Tile(64, 64, stages=8, step_ns=145),
}


def multiply(
    program: CudaProgram, key: str, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """C (m x n) of a dtype from A (m x k) and B, k x n in 16 bits and n x k otherwise.

    Raises Refusal under the name ``key`` where wgmma is missing and beyond 32-bit sizes.
    """
    needs_hopper(key, a.device)
    m, n = a.shape[0], b.shape[1 if b.element_size() == 2 else 0]
    require_32_bit_product(key, m, n, a.shape[1])
    steps = -(-a.shape[1] * a.element_size() // _ROW)
    aligned = (_begins_on_lines(a), _begins_on_lines(b))
    name = choose(m, n, steps, program.multiprocessor_count, aligned)
    return launch(program, name, a, b, dtype, *extra)


def _begins_on_lines(matrix: torch.Tensor) -> bool:
    """Whether every row does, once it is of whole 16 bytes."""
    row_bytes = matrix.shape[1] * matrix.element_size()
    return (row_bytes + -row_bytes % 16) % _LINE == 0


def choose(m: int, n: int, steps: int, multiprocessors: int, aligned: tuple[bool, bool] = _ALIGNED) -> str:
    """The tile that takes least time: large ones need fewer bytes a FLOP, small ones fill more units."""
    return min(TILES, key=lambda name: TILES[name].plan(m, n, steps, multiprocessors, aligned).time_ns)


def launch(
    program: CudaProgram,
    name: str,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    plan: Plan | None = None,
) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness, by its best plan if none is given."""
    tile, along_n = TILES[name], b.element_size() == 2
    (m, k), n = a.shape, b.shape[1 if along_n else 0]
    if not m * n:
        return torch.empty((m, n), dtype=dtype, device=a.device)
    # Rows of whole 16 bytes; where C has others, a copy at the end makes them so, and counts as time.
    c = torch.empty((m, n + -n % (16 // dtype.itemsize)), dtype=dtype, device=a.device)
    a, b = in_whole_units(a), in_whole_units(b)
    step = _ROW // a.element_size()
    if plan is None:
        aligned = (_begins_on_lines(a), _begins_on_lines(b))
        plan = tile.plan(m, n, -(-k // step), program.multiprocessor_count, aligned)
    # Parts of tiles that meet in memory, and of each a flag that it is there.
    sums, flags = c, c
    if tile.parts == _EQUAL and plan.alone < tile.count(m, n):
        sums = torch.empty(plan.blocks * tile.rows * tile.columns, dtype=torch.float32, device=a.device)
        flags = torch.empty(plan.blocks * tile.rows // 64, dtype=torch.int64, device=a.device)
    box = _ROW // dtype.itemsize
    in_bands = step if tile.columns % (_BAND * tile.cluster) == 0 else step // tile.cluster
    b_box = (in_bands, _BAND) if along_n else (tile.columns // tile.cluster, step)
    program.launch(
        name,
        plan.blocks,
        tile.threads,
        tensor_map(a, (tile.rows, step)),
        tensor_map(b, b_box),
        tensor_map(c, (64, box if tile.columns % box == 0 else box // 2)),
        m,
        n,
        k,
        sums,
        flags,
        new_ticket(),
        plan.alone,
        *extra,
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return c[:, :n].contiguous()

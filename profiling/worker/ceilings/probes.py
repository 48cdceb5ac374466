"""Launches the kernels of ``probes.cu``: passes over memory, reads of L2, multiply-adds in registers."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from msgspec import Struct

from roofscope.profiling.roofline.roofline import Mix
from roofscope.profiling.worker.failures import BuildError, Unavailable

SOURCE = Path(__file__).with_name("probes.cu")
PACK_BYTES = 16

# From Turing on, blocks of 1024 threads a multiprocessor are all resident at once on any GPU.
THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 4

RESIDENT_PACKS = 4  # as in probes.cu
STEPS_PER_ROUND = 8 * 64  # CHAINS x STEPS of probes.cu


class Loop(Struct, frozen=True):
    """One instruction over and over in registers: its name for people, its kernel, its FLOPs a lane."""

    name: str
    kernel: str
    flop_count: int
    real: type[np.float32] | type[np.float64] = np.float32  # of factor and addend


FMA_FLOAT32 = Loop("float32 multiply-adds", "fma_float32", 2)
FMA_FLOAT64 = Loop("float64 multiply-adds", "fma_float64", 2, np.float64)
FMA_HALF2 = Loop("packed float16 multiply-adds", "fma_half2", 4)
FMA_BFLOAT162 = Loop("packed bfloat16 multiply-adds", "fma_bfloat162", 4)
EXP2 = Loop("ex2.approx", "exp2_float32", 1)
TANH = Loop("tanh.approx", "tanh_float32", 1)
LOOPS = (FMA_FLOAT32, FMA_FLOAT64, FMA_HALF2, FMA_BFLOAT162, EXP2, TANH)

HINTS = {"cached": "", "streamed": ", evict first", "kept": ", evict last"}


class Tile(Struct, frozen=True):
    """What one block moves: ``threads`` x ``packs`` x 16 bytes, without or with a hint on what L2 keeps."""

    threads: int
    packs: int
    access: str = "cached"  # or another key of HINTS, as in probes.cu

    @property
    def byte_count(self) -> int:
        return self.threads * self.packs * PACK_BYTES

    def __str__(self) -> str:
        return f"{self.threads} threads x {self.packs} x 16 B a block{HINTS[self.access]}"


# Many threads with one access each are the best of copy and triad on an H200, more accesses those of read;
# "evict first" costs there and helps elsewhere.
TILES = (
    Tile(256, 1),
    Tile(512, 1),
    Tile(1024, 1),
    Tile(256, 2),
    Tile(512, 2),
    Tile(256, 4),
    Tile(256, 8),
    Tile(256, 4, "streamed"),
    Tile(512, 4, "streamed"),
    Tile(256, 1, "kept"),
    Tile(512, 1, "kept"),
)


class Sweep(Struct, frozen=True):
    """A call that moves ``byte_count`` bytes between DRAM and the multiprocessors."""

    name: str
    byte_count: int
    call: Callable[[], object]


class GpuProperties(Protocol):
    """The fields that are read of torch.cuda.get_device_properties, which has no types."""

    major: int
    minor: int
    multi_processor_count: int
    max_threads_per_multi_processor: int


class _Program(Protocol):
    """The part of a compiled source that is used."""

    def launch(
        self, name: str, grid: int, block: int, *arguments: torch.Tensor | int | np.generic
    ) -> None: ...


class Probes:
    """The probes on one GPU. ``program`` is the compiled source."""

    def __init__(self, program: _Program, device: torch.device, gpu: GpuProperties) -> None:
        self._program = program
        self._gpu = gpu
        # A float64 serves both types, because nothing is ever written.
        self._sink = torch.zeros(1, dtype=torch.float64, device=device)

    @property
    def resident_threads(self) -> int:
        return self._resident_blocks * THREADS

    @property
    def _resident_blocks(self) -> int:
        return self._gpu.multi_processor_count * BLOCKS_PER_MULTIPROCESSOR

    def sweeps(self, mix: Mix, arrays: Sequence[torch.Tensor]) -> list[Sweep]:
        """One pass of this mix over three equal arrays, with every tile."""
        return [self._sweep(mix, tile, arrays) for tile in TILES]

    def _sweep(self, mix: Mix, tile: Tile, arrays: Sequence[torch.Tensor]) -> Sweep:
        blocks = self._whole_waves(arrays[0].nbytes // tile.byte_count, tile)
        launch = partial(self._program.launch, f"{mix}_{tile.packs}_{tile.access}", blocks, tile.threads)
        a, b, c = arrays
        half = np.float32(0.5)
        # In turn, so that what one pass leaves in L2 does not serve the next.
        sources = cycle(arrays)
        calls: dict[Mix, tuple[int, Callable[[], object]]] = {
            Mix.READ: (1, lambda: launch(next(sources), self._sink)),
            Mix.WRITE: (1, lambda: launch(a, half)),
            Mix.COPY: (2, lambda: launch(b, c)),
            Mix.TRIAD: (3, lambda: launch(a, b, c, half)),
        }
        moved, call = calls[mix]
        return Sweep(f"Our {mix} kernel ({tile})", moved * blocks * tile.byte_count, call)

    def _whole_waves(self, blocks: int, tile: Tile) -> int:
        """Blocks without those of a last wave that would leave multiprocessors idle."""
        wave = self._gpu.multi_processor_count * (self._gpu.max_threads_per_multi_processor // tile.threads)
        return max(blocks // wave * wave, min(blocks, wave))

    def resident_read(self, data: torch.Tensor, packs: int, laps: int) -> int:
        """Read the first ``packs`` x 16 bytes of data ``laps`` times in one launch; the bytes read.

        ``packs`` is a multiple of ``resident_threads``.
        """
        steps = packs // self.resident_threads * laps // RESIDENT_PACKS * RESIDENT_PACKS
        self._program.launch("read_resident", self._resident_blocks, THREADS, data, packs, steps, self._sink)
        return steps * self.resident_threads * PACK_BYTES

    def multiply_add(self, real: type[np.float32] | type[np.float64], rounds: int) -> int:
        """Multiply and add in registers, on every lane; the FLOPs done (FMA = 2)."""
        return self.repeat(FMA_FLOAT32 if real is np.float32 else FMA_FLOAT64, rounds)

    def repeat(self, loop: Loop, rounds: int) -> int:
        """Repeat one instruction in registers, on every lane; the FLOPs done (FMA = 2, a function 1)."""
        # A factor below one keeps the values in the normal range; bfloat16 has just this one.
        arguments = (loop.real(0.99609375), loop.real(0.5), self._sink)
        self._program.launch(loop.kernel, self._resident_blocks, THREADS, rounds, *arguments)
        return self.resident_threads * rounds * STEPS_PER_ROUND * loop.flop_count


def load_probes(device: torch.device) -> tuple[Probes | None, str]:
    """The probes compiled for a GPU, or None and one sentence with the reason."""
    gpu = cast(GpuProperties, torch.cuda.get_device_properties(device))  # pyright: ignore[reportUnknownMemberType]
    try:
        # Imported here, because the module needs cuda.core, which may be missing.
        from roofscope.profiling.worker.build.providers.cuda import CudaProgram, architecture_of

        architecture = architecture_of((gpu.major, gpu.minor))
        program = CudaProgram(SOURCE, None, architecture, device)
    except (Unavailable, BuildError) as error:
        return None, str(error)
    return Probes(program, device, gpu), ""

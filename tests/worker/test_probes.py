"""Our probes: the bytes and FLOPs that they claim, and that the compiler kept the work. No GPU."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from roofscope.profiling.roofline.roofline import Mix  # noqa: E402
from roofscope.profiling.worker.ceilings.probes import (  # noqa: E402
    EXP2,
    FMA_BFLOAT162,
    FMA_FLOAT32,
    FMA_FLOAT64,
    FMA_HALF2,
    LOOPS,
    SOURCE,
    TANH,
    TILES,
    Loop,
    Probes,
    Tile,
)

CAPABILITIES = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)]
CPU = torch.device("cpu")


@dataclass
class H200:
    major: int = 9
    minor: int = 0
    multi_processor_count: int = 132
    max_threads_per_multi_processor: int = 2048


@dataclass
class Launches:
    """Plays a compiled program, and keeps what is launched."""

    seen: list[tuple[str, int, int, tuple[Any, ...]]] = field(default_factory=list)

    def launch(self, name: str, grid: int, block: int, *arguments: Any) -> None:
        self.seen.append((name, grid, block, arguments))


@pytest.fixture
def launches() -> Launches:
    return Launches()


@pytest.fixture
def probes(launches: Launches) -> Probes:
    return Probes(launches, CPU, H200())


@pytest.mark.parametrize(("mix", "moved"), [(Mix.READ, 1), (Mix.WRITE, 1), (Mix.COPY, 2), (Mix.TRIAD, 3)])
def test_a_sweep_moves_the_bytes_it_claims(probes: Probes, launches: Launches, mix: Mix, moved: int) -> None:
    arrays = [torch.zeros(48 * 2**20) for _ in range(3)]
    for tile, sweep in zip(TILES, probes.sweeps(mix, arrays), strict=True):
        sweep.call()
        name, grid, block, arguments = launches.seen[-1]
        assert name == f"{mix}_{tile.packs}_{tile.access}"
        assert sweep.byte_count == moved * grid * block * tile.packs * 16
        # Whole waves, within the arrays and nearly all of them.
        assert grid % (132 * 2048 // block) == 0
        assert 0.8 * arrays[0].nbytes < grid * block * tile.packs * 16 <= arrays[0].nbytes
        assert sum(any(argument is array for array in arrays) for argument in arguments) == moved


def test_reads_take_the_arrays_in_turn(probes: Probes, launches: Launches) -> None:
    arrays = [torch.zeros(2**20) for _ in range(3)]
    sweep = probes.sweeps(Mix.READ, arrays)[0]
    for _ in range(4):
        sweep.call()
    sources = [next(i for i, array in enumerate(arrays) if array is seen[3][0]) for seen in launches.seen]
    assert sources == [0, 1, 2, 0]


def test_an_array_smaller_than_a_wave_is_swept_whole(probes: Probes) -> None:
    arrays = [torch.zeros(2**20) for _ in range(3)]
    assert [sweep.byte_count for sweep in probes.sweeps(Mix.WRITE, arrays)] == [4 * 2**20] * len(TILES)


def test_resident_read_counts_its_laps(probes: Probes, launches: Launches) -> None:
    packs = 3 * probes.resident_threads
    assert probes.resident_threads == 132 * 4 * 256
    byte_count = probes.resident_read(torch.zeros(1), packs, laps=400)
    ((_, grid, block, (_, launched_packs, steps, _)),) = launches.seen
    assert grid * block == probes.resident_threads
    assert launched_packs == packs
    assert steps == 3 * 400
    assert byte_count == 400 * packs * 16


@pytest.mark.parametrize(
    ("loop", "flop_count_each"),
    [(FMA_FLOAT32, 2), (FMA_FLOAT64, 2), (FMA_HALF2, 4), (FMA_BFLOAT162, 4), (EXP2, 1), (TANH, 1)],
    ids=lambda value: getattr(value, "kernel", None),
)
def test_a_loop_counts_the_flops_of_its_instruction(
    probes: Probes, launches: Launches, loop: Loop, flop_count_each: int
) -> None:
    flop_count = probes.repeat(loop, rounds=10)
    ((name, grid, block, arguments),) = launches.seen
    assert name == loop.kernel
    assert [type(value) for value in arguments[1:3]] == [loop.real, loop.real]
    # CHAINS and STEPS as the source has them.
    text = SOURCE.read_text()
    chains, steps = (
        int(re.search(rf"constexpr int {word} = (\d+)", text)[1]) for word in ("CHAINS", "STEPS")
    )
    assert flop_count == grid * block * 10 * chains * steps * flop_count_each


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_multiply_adds_are_the_loop_of_their_type(probes: Probes, launches: Launches, real: Any) -> None:
    probes.multiply_add(real, rounds=10)
    assert launches.seen[0][0] == f"fma_{real.__name__}"


def test_tile_is_told_in_words() -> None:
    assert Tile(256, 4).byte_count == 16 * 1024
    assert str(Tile(256, 4)) == "256 threads x 4 x 16 B a block"
    assert str(Tile(256, 4, "streamed")) == "256 threads x 4 x 16 B a block, evict first"
    assert str(Tile(256, 1, "kept")) == "256 threads x 1 x 16 B a block, evict last"


# ---- the source, compiled ----


def cubin(capability: tuple[int, int]) -> bytes:
    cuda = pytest.importorskip(
        "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
    )
    return cuda.compile_source(SOURCE, None, cuda.architecture_of(capability)).code


def dump(tmp_path: Path, code: bytes, option: str) -> str:
    """By the tool that comes with Triton."""
    triton = pytest.importorskip("triton", reason="cuobjdump comes with Triton, which is not installed here")
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    if not tool.exists():
        pytest.skip("this Triton comes without cuobjdump")
    path = tmp_path / "probes.cubin"
    path.write_bytes(code)
    return subprocess.run([tool, option, path], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda value: "sm_{}{}".format(*value))
def test_source_has_every_kernel_and_keeps_to_registers(
    capability: tuple[int, int], probes: Probes, launches: Launches, tmp_path: Path
) -> None:
    code = cubin(capability)
    arrays = [torch.zeros(2**20) for _ in range(3)]
    for mix in Mix:
        for sweep in probes.sweeps(mix, arrays):
            sweep.call()
    probes.resident_read(arrays[0], probes.resident_threads, 4)
    for loop in LOOPS:
        probes.repeat(loop, 1)
    usage = dump(tmp_path, code, "-res-usage")
    kernels = re.findall(r"Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)", usage)
    assert {name for name, *_ in launches.seen} <= {name for name, *_ in kernels}
    assert [name for name, _, stack, local in kernels if int(stack) or int(local)] == []
    # What is launched for one block each of four resident ones must fit in 64 Ki registers.
    assert all(int(registers) <= 64 for _, registers, *_ in kernels)


def test_the_compiler_kept_the_work(tmp_path: Path) -> None:
    """One instruction a multiply-add, one access of 16 bytes a pack, and L2 reads within the loop."""
    listing = dump(tmp_path, cubin((9, 0)), "-sass")
    bodies = dict(re.findall(r"Function : (\w+)\n(.*?)(?=Function : |\Z)", listing, re.DOTALL))
    instructions = {
        FMA_FLOAT32: "FFMA",
        FMA_FLOAT64: "DFMA",
        FMA_HALF2: r"HFMA2(?:\.MMA)?",
        FMA_BFLOAT162: r"HFMA2(?:\.MMA)?\.BF16_V2",
        EXP2: r"MUFU\.EX2",
        TANH: r"MUFU\.TANH",
    }
    for loop, instruction in instructions.items():
        body = bodies[loop.kernel]
        # One a step, not a second copy of the loop beside it, and hardly another instruction.
        assert 512 <= len(re.findall(rf"\b{instruction} ", body)) < 540, loop.name
        assert len(re.findall(r"/\*[0-9a-f]{4}\*/ ", body)) < 700, loop.name
    for tile in TILES:
        hint = ".EF" if tile.access == "streamed" else ""
        load, store = rf"\bLDG\.E{hint}\.128(\.CONSTANT)? ", rf"\bSTG\.E{hint}\.128 "
        kernels = {mix: bodies[f"{mix}_{tile.packs}_{tile.access}"] for mix in Mix}
        loads = {mix: len(re.findall(load, body)) / tile.packs for mix, body in kernels.items()}
        stores = {mix: len(re.findall(store, body)) / tile.packs for mix, body in kernels.items()}
        assert loads == {Mix.READ: 1, Mix.WRITE: 0, Mix.COPY: 1, Mix.TRIAD: 2}
        assert stores == {Mix.READ: 0, Mix.WRITE: 1, Mix.COPY: 1, Mix.TRIAD: 1}
    resident = bodies["read_resident"]
    assert len(re.findall(r"\bLDG\.E\.128\.STRONG\.GPU ", resident)) >= 4

"""Which tile of wgmma_matmul.cuh computes a product: their table, and the choice by tile_times.py."""

import functools
from dataclasses import replace

from roofscope.kernels.shared.tile_times import ALIGNED, EQUAL, IN_TURN, Plan, Tile, fastest
from roofscope.kernels.shared.wgmma_refitted import REFITTED, REFITTED_RATES

# Rows times columns times steps beyond which power limits products: this is the fastest that was timed.
LONG, _LONG_OF_32_BITS = 2 * 10**9, 4 * 10**9
_MUCH = 1.12  # times as long as the fastest the tile for those may take: for less the model is too coarse
_LONG_TILE = "tile_128x256_pair"
_LONG_TILE_OF_32_BITS = "across_256x128_pair"
# Steps, and rows times columns times steps, of the products that REFITTED is of.
_TIMED_STEPS, _TIMED_FROM = 8, 2**21
_STEPS_IN_TURN = 4  # from which on tiles in turn were
# Which kernels of 16 bits alone have: AMID_LINES_KERNELS.
TILES_AMID_LINES = {
    "across_184x128_1x2",
    "across_88x128_2x4",
    "across_216x128_1x2",
    "across_176x128_2x4",
    "across_168x64_2x4",
    "across_96x64_2x4",
    "across_144x64_4x2",
    "across_120x64_2x1",
    "across_112x64_2x4",
    "across_56x64_4x2",
    "across_88x128_4x1",
    "across_104x128_2x1",
    "across_288x128_2x1",
    "across_288x128_1x2",
    "across_136x256_1x2",
    "across_160x256_2x1",
    "across_224x128_1x2",
    "turns_104x192_1x2",
    "turns_104x192_2x1",
    "turns_112x192_2x1",
    "turns_160x128_2x1",
}
# Which no others were timed with, or at one size only, where it was slower than thought.
_TILES_OF_TIMED = {
    "across_144x128_2x2",
    "across_128x128_quarters",
    "across_128x64_2x4",
    "across_96x128_2x4",
    "across_136x128_2x1",
    "across_192x192_2x1",
    *TILES_AMID_LINES,
}

TILES_OF_FEW_ROWS = {"across_16x64_halves", "across_32x64_halves"}  # which wgmma_few_rows.py chooses


TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=577, start_ns=580, above=2, parts=EQUAL),
    "tile_128x224_pair": Tile(128, 224, stages=4, step_ns=524, start_ns=490, above=2, parts=EQUAL),
    "tile_128x256": Tile(128, 256, stages=4, step_ns=584, start_ns=380, parts=2),
    "tile_128x192": Tile(128, 192, stages=4, step_ns=429, start_ns=450, parts=2),
    "tile_128x128": Tile(128, 128, stages=6, step_ns=314, start_ns=90, parts=2),
    "tile_64x128": Tile(64, 128, stages=8, step_ns=170, start_ns=310, parts=2),
    "tile_64x64": Tile(64, 64, stages=8, step_ns=121, start_ns=80),
    "across_256x128_pair": Tile(
        256, 128, stages=4, step_ns=580, start_ns=890, beside=2, parts=EQUAL, across=True
    ),
    "across_208x128_pair": Tile(
        208, 128, stages=4, step_ns=464, start_ns=730, beside=2, parts=EQUAL, across=True
    ),
    "across_144x128_pair": Tile(
        144, 128, stages=5, step_ns=315, start_ns=740, beside=2, parts=EQUAL, across=True
    ),
    "across_192x192_pair": Tile(192, 192, stages=4, step_ns=614, start_ns=880, beside=2, across=True),
    "across_176x192_above": Tile(176, 192, stages=4, step_ns=603, start_ns=1130, above=2, across=True),
    "across_96x192_above": Tile(96, 192, stages=5, step_ns=341, start_ns=30, above=2, across=True),
    "across_64x128_quarters": Tile(64, 128, stages=8, step_ns=184, start_ns=440, parts=4, across=True),
    "across_64x64_quarters": Tile(64, 64, stages=12, step_ns=150, start_ns=310, parts=4, across=True),
    "across_64x64_eighths": Tile(64, 64, stages=12, step_ns=135, start_ns=420, parts=8, across=True),
    "across_32x64_quarters": Tile(32, 64, stages=16, step_ns=130, start_ns=240, parts=4, across=True),
    "across_160x128_2x2": Tile(160, 128, stages=5, step_ns=330, start_ns=620, above=2, beside=2, across=True),
    "across_112x128_2x2": Tile(
        112, 128, stages=6, step_ns=225, start_ns=430, above=2, beside=2, parts=EQUAL, across=True
    ),
    "across_112x128_4x2": Tile(112, 128, stages=6, step_ns=234, start_ns=490, above=4, beside=2, across=True),
    "across_96x128_4x2": Tile(96, 128, stages=6, step_ns=219, start_ns=540, above=4, beside=2, across=True),
    "across_80x128_2x2": Tile(80, 128, stages=7, step_ns=180, start_ns=680, above=2, beside=2, across=True),
    "across_64x64_4x2": Tile(64, 64, stages=9, step_ns=133, start_ns=180, above=4, beside=2, across=True),
    "across_32x64_4x2": Tile(32, 64, stages=9, step_ns=133, start_ns=0, above=4, beside=2, across=True),
    "across_96x64_quarters": Tile(96, 64, stages=8, step_ns=148, start_ns=520, parts=4, across=True),
    "across_80x64": Tile(80, 64, stages=9, step_ns=156, start_ns=510, parts=2, across=True),
    "across_48x64": Tile(48, 64, stages=9, step_ns=123, start_ns=420, parts=2, across=True),
    "tile_128x160_2x1": Tile(128, 160, stages=4, step_ns=383, start_ns=660, above=2, parts=EQUAL),
    "tile_64x128_8x1": Tile(64, 128, stages=8, step_ns=162, start_ns=240, above=8),
    "tile_128x128_4x1": Tile(128, 128, stages=6, step_ns=243, start_ns=100, above=4),
    "tile_128x128_4x2": Tile(128, 128, stages=6, step_ns=240, start_ns=270, above=4, beside=2),
    "tile_128x192_2x1": Tile(128, 192, stages=4, step_ns=412, start_ns=840, above=2, parts=EQUAL),
    "tile_128x256_4x1": Tile(128, 256, stages=4, step_ns=514, start_ns=610, above=4),
    "across_112x192_2x1": Tile(112, 192, stages=5, step_ns=358, start_ns=330, above=2, across=True),
    "across_128x192_2x1": Tile(128, 192, stages=5, step_ns=418, start_ns=450, above=2, across=True),
    "across_144x192_2x1": Tile(144, 192, stages=4, step_ns=472, start_ns=570, above=2, across=True),
    "across_160x192_2x1": Tile(160, 192, stages=4, step_ns=533, start_ns=390, above=2, across=True),
    "across_96x128_quarters": Tile(96, 128, stages=6, step_ns=231, start_ns=410, parts=4, across=True),
    "across_80x128_4x1": Tile(80, 128, stages=7, step_ns=192, start_ns=410, above=4, across=True),
    "across_112x128_4x1": Tile(112, 128, stages=6, step_ns=236, start_ns=300, above=4, across=True),
    "across_80x128_2x1": Tile(80, 128, stages=7, step_ns=193, start_ns=540, above=2, across=True),
    "across_176x128_2x1": Tile(176, 128, stages=5, step_ns=412, start_ns=670, above=2, across=True),
    "across_208x128_2x1": Tile(208, 128, stages=4, step_ns=487, start_ns=710, above=2, across=True),
    "across_160x128_1x4": Tile(160, 128, stages=5, step_ns=328, start_ns=710, beside=4, across=True),
    "across_64x64_4x1": Tile(64, 64, stages=9, step_ns=117, start_ns=240, above=4, across=True),
    "across_96x64_4x1": Tile(96, 64, stages=9, step_ns=145, start_ns=260, above=4, across=True),
    "across_96x64_1x4": Tile(96, 64, stages=9, step_ns=113, start_ns=450, beside=4, across=True),
    "across_64x64_1x8": Tile(64, 64, stages=9, step_ns=125, start_ns=70, beside=8, across=True),
    "across_128x64_1x8": Tile(128, 64, stages=8, step_ns=133, start_ns=510, beside=8, across=True),
    "across_80x64_2x2": Tile(80, 64, stages=9, step_ns=131, start_ns=450, above=2, beside=2, across=True),
    "across_48x64_4x2": Tile(48, 64, stages=9, step_ns=137, start_ns=80, above=4, beside=2, across=True),
    "across_32x64_4x1": Tile(32, 64, stages=9, step_ns=119, start_ns=50, above=4, across=True),
    "across_208x128_2x2": Tile(208, 128, stages=4, step_ns=448, start_ns=640, above=2, beside=2, across=True),
    "across_16x64_4x1": Tile(16, 64, stages=9, step_ns=130, start_ns=10, above=4, across=True),
    "across_64x128_eighths": Tile(64, 128, stages=8, step_ns=184, start_ns=560, parts=8, across=True),
    "across_128x64_eighths": Tile(128, 64, stages=8, step_ns=147, start_ns=680, parts=8, across=True),
    "across_48x64_8x1": Tile(48, 64, stages=9, step_ns=152, start_ns=0, above=8, across=True),
    "tile_64x128_1x1": Tile(64, 128, stages=8, step_ns=157, start_ns=180),
    "tile_64x128_2x1": Tile(64, 128, stages=8, step_ns=115, start_ns=0, above=2),
    "tile_64x192_1x1": Tile(64, 192, stages=6, step_ns=213, start_ns=340),
    "tile_128x128_2x1": Tile(128, 128, stages=6, step_ns=258, start_ns=70, above=2),
    "across_64x64_halves": Tile(64, 64, stages=8, step_ns=132, start_ns=370, parts=2, across=True),
    "across_128x64_halves": Tile(128, 64, stages=8, step_ns=184, start_ns=250, parts=2, across=True),
    "across_184x128_1x2": Tile(184, 128, stages=4, step_ns=358, start_ns=850, beside=2, across=True),
    "across_88x128_2x4": Tile(
        88, 128, stages=7, step_ns=174, start_ns=680, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_216x128_1x2": Tile(216, 128, stages=4, step_ns=440, start_ns=840, beside=2, across=True),
    "across_176x128_2x4": Tile(
        176, 128, stages=5, step_ns=357, start_ns=840, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_168x64_2x4": Tile(
        168, 64, stages=7, step_ns=180, start_ns=990, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_96x64_2x4": Tile(
        96, 64, stages=10, step_ns=121, start_ns=1070, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_144x64_4x2": Tile(
        144, 64, stages=8, step_ns=150, start_ns=800, above=4, beside=2, parts=EQUAL, across=True
    ),
    "across_120x64_2x1": Tile(
        120, 64, stages=9, step_ns=140, start_ns=850, above=2, parts=EQUAL, across=True
    ),
    "across_112x64_2x4": Tile(
        112, 64, stages=9, step_ns=129, start_ns=950, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_56x64_4x2": Tile(
        56, 64, stages=10, step_ns=105, start_ns=1040, above=4, beside=2, parts=EQUAL, across=True
    ),
    "across_88x128_4x1": Tile(
        88, 128, stages=7, step_ns=179, start_ns=700, above=4, parts=EQUAL, across=True
    ),
    "across_104x128_2x1": Tile(
        104, 128, stages=6, step_ns=227, start_ns=880, above=2, parts=EQUAL, across=True
    ),
    "across_288x128_2x1": Tile(
        288, 128, stages=4, step_ns=648, start_ns=920, above=2, parts=EQUAL, across=True
    ),
    "across_288x128_1x2": Tile(
        288, 128, stages=4, step_ns=660, start_ns=870, beside=2, parts=EQUAL, across=True
    ),
    "across_136x256_1x2": Tile(136, 256, stages=4, step_ns=524, start_ns=1050, beside=2, across=True),
    "across_160x256_2x1": Tile(
        160, 256, stages=4, step_ns=694, start_ns=2550, above=2, parts=EQUAL, across=True
    ),
    "across_224x128_1x2": Tile(
        224, 128, stages=4, step_ns=468, start_ns=750, beside=2, parts=EQUAL, across=True
    ),
    "turns_104x192_1x2": Tile(
        104, 192, stages=5, step_ns=388, start_ns=900, beside=2, parts=IN_TURN, across=True
    ),
    "turns_104x192_2x1": Tile(
        104, 192, stages=5, step_ns=313, start_ns=1050, above=2, parts=IN_TURN, across=True
    ),
    "turns_112x192_2x1": Tile(
        112, 192, stages=5, step_ns=330, start_ns=1050, above=2, parts=IN_TURN, across=True
    ),
    "turns_160x128_2x1": Tile(
        160, 128, stages=5, step_ns=346, start_ns=900, above=2, parts=IN_TURN, across=True
    ),
    "across_192x128_1x4": Tile(192, 128, stages=4, step_ns=395, start_ns=710, beside=4, across=True),
    "across_144x128_2x2": Tile(144, 128, stages=5, step_ns=317, start_ns=450, above=2, beside=2, across=True),
    "across_192x128_2x2": Tile(192, 128, stages=4, step_ns=413, start_ns=640, above=2, beside=2, across=True),
    "across_192x128_halves": Tile(192, 128, stages=4, step_ns=444, start_ns=450, parts=2, across=True),
    "across_128x128_quarters": Tile(128, 128, stages=6, step_ns=293, start_ns=460, parts=4, across=True),
    "across_128x64_2x4": Tile(128, 64, stages=8, step_ns=124, start_ns=1100, above=2, beside=4, across=True),
    "across_96x128_2x4": Tile(96, 128, stages=6, step_ns=196, start_ns=0, above=2, beside=4, across=True),
    "across_136x128_2x1": Tile(136, 128, stages=5, step_ns=334, start_ns=0, above=2, across=True),
    "across_192x192_2x1": Tile(192, 192, stages=4, step_ns=496, start_ns=0, above=2, across=True),
    "across_16x64_halves": Tile(16, 64, stages=8, step_ns=101, start_ns=410, parts=2, across=True),
    "across_32x64_halves": Tile(32, 64, stages=7, step_ns=123, start_ns=390, parts=2, across=True),
}


@functools.cache
def _refitted() -> dict[str, Tile]:
    """The tiles with what was fitted to products of 16 bits of whole rows."""
    return {
        name: replace(TILES[name], step_ns=step_ns, start_ns=start_ns, rates=REFITTED_RATES)
        for name, (step_ns, start_ns) in REFITTED.items()
    }


@functools.lru_cache(maxsize=4096)
def best(
    m: int,
    n: int,
    steps: int,
    multiprocessors: int,
    aligned: tuple[bool, bool] = ALIGNED,
    clustered: tuple[int, int] | None = None,
    c_bytes: int = 2,
    amid_lines: bool = False,
) -> tuple[str, Plan]:
    """The tile and plan of least time: large ones need fewer bytes a FLOP, small ones fill more units.

    ``amid_lines``: of 16 bits, A and B too, whose rows do not all begin on lines. Of such, sizes like those
    timed since have times of their own.
    """
    sizes = (m, n, steps, multiprocessors, aligned, clustered, c_bytes)
    is_like_timed = amid_lines and n * c_bytes % 16 == 0 and _TIMED_FROM <= m * n * steps <= LONG
    is_timed = is_like_timed and steps >= _TIMED_STEPS
    tiles = _refitted() if is_timed else TILES

    if is_like_timed and _STEPS_IN_TURN <= steps < _TIMED_STEPS:
        # Only which tiles gain by being stored meanwhile is known of these.
        in_turn = fastest(_refitted().items(), *sizes)
        if TILES[in_turn[0]].parts == IN_TURN:
            return in_turn

    left_out = {_LONG_TILE_OF_32_BITS} | TILES_OF_FEW_ROWS | (set[str]() if is_timed else _TILES_OF_TIMED)
    usual = fastest((item for item in tiles.items() if item[0] not in left_out), *sizes)
    if m * n * steps > (_LONG_OF_32_BITS if c_bytes == 4 else LONG):
        name = _LONG_TILE_OF_32_BITS if c_bytes == 4 else _LONG_TILE
        long = fastest([(name, tiles[name])], *sizes)
        return long if long[1].time_ns <= _MUCH * usual[1].time_ns else usual
    return usual

"""What the tiles of wgmma_plans.py have in common, and times fitted again to products of rows amid lines.

Fitted to 390 sizes of whole rows in bfloat16 on H200s, with some 30 ways each, so that the way of least time
by the model is a fast one, rather than that the model is exact.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """What all tiles have in common."""

    line_ns: float = 0.26  # of a line of L2 that a block copies
    amid: float = 7.6  # times as long takes a row that begins amid half of one
    amid_of_a: float = 1  # of that, where the row is of A
    # Of a line that a block copies, for each block at work, as L2 serves all; and as ``amid`` of that.
    busy_line_ns: float = 0
    busy_amid: float = 1
    multicast_bytes_per_ns: float = 165  # into a multiprocessor
    # The same of blocks that share no copies, at most, which a short k does not show.
    alone_bytes_per_ns: float = 90
    dram_bytes_per_ns: float = 4083
    far: float = 1.49  # times as long it takes to bring what several clusters read: L2 has two halves
    # Of a step, for each row of B, or of A, of each block that wants the same lines of L2 at once.
    crowd_b_ns: float = 0.0056
    crowd_a_ns: float = 0.0029
    shared_step_ns: float = 91  # by which a step of shared tiles is longer: clusters read other lines at once
    full: float = 1.12  # times as long take tiles of pairs that fill a round
    meet: float = 1  # times as long it takes to add the parts of tiles
    beyond: float = 0  # power of what tiles cover over what C has, by which steps are longer


FITTED_RATES = Rates()
REFITTED_RATES = Rates(
    line_ns=0.183,
    amid=6.14,
    amid_of_a=0.781,
    busy_line_ns=0.00769,
    busy_amid=1.66,
    multicast_bytes_per_ns=209,
    alone_bytes_per_ns=90,
    dram_bytes_per_ns=7670,
    far=1.14,
    crowd_b_ns=0.0047,
    crowd_a_ns=0.0027,
    shared_step_ns=77,
    full=1.04,
    meet=1.17,
    beyond=0.333,
)
# Of a tile, the nanoseconds of a step and of its start. What is not here was not among the ways.
REFITTED = {
    "tile_128x256_pair": (563, 1180),
    "tile_128x224_pair": (529, 1140),
    "tile_128x256": (557, 820),
    "tile_128x192": (379, 660),
    "tile_128x128": (317, 730),
    "tile_64x128": (182, 960),
    "tile_64x64": (120, 460),
    "across_256x128_pair": (581, 1460),
    "across_208x128_pair": (444, 1290),
    "across_144x128_pair": (341, 1400),
    "across_192x192_pair": (549, 1220),
    "across_176x192_above": (498, 1470),
    "across_96x192_above": (284, 700),
    "across_64x128_quarters": (190, 890),
    "across_64x64_quarters": (146, 630),
    "across_64x64_eighths": (133, 830),
    "across_32x64_quarters": (129, 690),
    "across_160x128_2x2": (328, 620),
    "across_112x128_2x2": (236, 780),
    "across_112x128_4x2": (233, 810),
    "across_96x128_4x2": (211, 730),
    "across_80x128_2x2": (188, 1300),
    "across_64x64_4x2": (133, 690),
    "across_32x64_4x2": (134, 510),
    "across_96x64_quarters": (149, 960),
    "across_80x64": (162, 1120),
    "across_48x64": (121, 780),
    "tile_128x160_2x1": (380, 1280),
    "tile_64x128_8x1": (143, 540),
    "tile_128x128_4x1": (246, 500),
    "tile_128x128_4x2": (257, 680),
    "tile_128x192_2x1": (393, 1400),
    "tile_128x256_4x1": (524, 1140),
    "across_112x192_2x1": (323, 890),
    "across_128x192_2x1": (388, 510),
    "across_144x192_2x1": (424, 910),
    "across_160x192_2x1": (488, 1000),
    "across_96x128_quarters": (223, 780),
    "across_80x128_4x1": (181, 460),
    "across_112x128_4x1": (232, 750),
    "across_80x128_2x1": (202, 1130),
    "across_176x128_2x1": (390, 1150),
    "across_208x128_2x1": (447, 1140),
    "across_160x128_1x4": (316, 1020),
    "across_64x64_4x1": (109, 590),
    "across_96x64_4x1": (174, 890),
    "across_96x64_1x4": (130, 1130),
    "across_64x64_1x8": (116, 520),
    "across_128x64_1x8": (133, 910),
    "across_80x64_2x2": (123, 660),
    "across_48x64_4x2": (130, 460),
    "across_32x64_4x1": (121, 560),
    "across_208x128_2x2": (431, 1130),
    "across_64x128_eighths": (180, 930),
    "across_128x64_eighths": (147, 1380),
    "across_48x64_8x1": (147, 470),
    "tile_64x128_1x1": (159, 820),
    "tile_64x128_2x1": (149, 1110),
    "tile_64x192_1x1": (214, 860),
    "tile_128x128_2x1": (295, 600),
    "across_64x64_halves": (137, 1000),
    "across_128x64_halves": (194, 900),
    "across_192x128_1x4": (365, 850),
    "across_144x128_2x2": (285, 580),
    "across_192x128_2x2": (393, 1040),
    "across_192x128_halves": (411, 890),
    "across_128x128_quarters": (284, 910),
    "across_128x64_2x4": (124, 1480),
    "across_96x128_2x4": (205, 480),
    "across_136x128_2x1": (331, 460),
    "across_192x192_2x1": (522, 510),
    "across_184x128_1x2": (358, 850),
    "across_88x128_2x4": (174, 680),
    "across_216x128_1x2": (440, 840),
    "across_176x128_2x4": (357, 840),
    "across_168x64_2x4": (180, 990),
    "across_96x64_2x4": (121, 1070),
    "across_144x64_4x2": (150, 800),
    "across_120x64_2x1": (140, 850),
    "across_112x64_2x4": (129, 950),
    "across_56x64_4x2": (105, 1040),
    "across_88x128_4x1": (179, 700),
    "across_104x128_2x1": (227, 880),
}

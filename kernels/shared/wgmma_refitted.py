"""What the tiles of wgmma_plans.py have in common, and times fitted again to products of rows amid lines.

Fitted to 260 sizes of whole rows in bfloat16 on an H200, with some 30 ways each, so that the way of least
time by the model is a fast one, rather than that the model is exact.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """What all tiles have in common."""

    line_ns: float = 0.26  # of a line of L2 that a block copies
    amid: float = 7.6  # times as long takes a row that begins amid half of one
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
    vain_bytes: float = 0  # that memory brings too of a box's row of B that begins amid half a line


FITTED_RATES = Rates()
REFITTED_RATES = Rates(
    line_ns=0.267,
    amid=7.53,
    multicast_bytes_per_ns=167,
    alone_bytes_per_ns=74,
    dram_bytes_per_ns=5548,
    far=1.17,
    crowd_b_ns=0.0060,
    crowd_a_ns=0.0031,
    shared_step_ns=97,
    full=1.08,
    meet=1.32,
)
# Of a tile, the nanoseconds of a step and of its start. What is not here was not among the ways.
REFITTED = {
    "tile_128x256_pair": (606, 670),
    "tile_128x224_pair": (564, 610),
    "tile_128x256": (607, 410),
    "tile_128x192": (421, 310),
    "tile_128x128": (322, 230),
    "tile_64x128": (170, 300),
    "tile_64x64": (121, 0),
    "across_256x128_pair": (620, 970),
    "across_208x128_pair": (436, 830),
    "across_144x128_pair": (356, 930),
    "across_192x192_pair": (584, 830),
    "across_176x192_above": (539, 1060),
    "across_96x192_above": (313, 30),
    "across_64x128_quarters": (184, 290),
    "across_64x64_quarters": (150, 350),
    "across_64x64_eighths": (135, 460),
    "across_32x64_quarters": (130, 250),
    "across_160x128_2x2": (332, 220),
    "across_112x128_2x2": (230, 360),
    "across_112x128_4x2": (245, 470),
    "across_96x128_4x2": (210, 360),
    "across_80x128_2x2": (191, 810),
    "across_64x64_4x2": (130, 180),
    "across_32x64_4x2": (134, 50),
    "across_96x64_quarters": (148, 490),
    "across_80x64": (159, 650),
    "across_48x64": (123, 480),
    "tile_128x160_2x1": (400, 780),
    "tile_64x128_8x1": (138, 0),
    "tile_128x128_4x1": (245, 100),
    "tile_128x128_4x2": (261, 280),
    "tile_128x192_2x1": (415, 910),
    "tile_128x256_4x1": (517, 690),
    "across_112x192_2x1": (334, 420),
    "across_128x192_2x1": (394, 60),
    "across_144x192_2x1": (441, 440),
    "across_160x192_2x1": (513, 470),
    "across_96x128_quarters": (226, 180),
    "across_80x128_4x1": (181, 0),
    "across_112x128_4x1": (240, 310),
    "across_80x128_2x1": (198, 640),
    "across_176x128_2x1": (415, 690),
    "across_208x128_2x1": (487, 710),
    "across_160x128_1x4": (332, 630),
    "across_64x64_4x1": (116, 210),
    "across_96x64_4x1": (169, 390),
    "across_96x64_1x4": (125, 690),
    "across_64x64_1x8": (130, 150),
    "across_128x64_1x8": (126, 340),
    "across_80x64_2x2": (119, 280),
    "across_48x64_4x2": (137, 0),
    "across_32x64_4x1": (120, 100),
    "across_208x128_2x2": (454, 670),
    "across_64x128_eighths": (184, 550),
    "across_128x64_eighths": (147, 680),
    "across_48x64_8x1": (147, 0),
    "tile_64x128_1x1": (157, 200),
    "tile_64x128_2x1": (136, 540),
    "tile_64x192_1x1": (213, 350),
    "tile_128x128_2x1": (318, 280),
    "across_64x64_halves": (135, 600),
    "across_128x64_halves": (185, 360),
    "across_192x128_1x4": (366, 480),
    "across_144x128_2x2": (282, 170),
    "across_192x128_2x2": (412, 630),
    "across_192x128_halves": (446, 480),
    "across_128x128_quarters": (299, 480),
    "across_128x64_2x4": (124, 1100),
    "across_96x128_2x4": (196, 0),
    "across_136x128_2x1": (334, 0),
    "across_192x192_2x1": (496, 0),
}

"""What the tiles of wgmma_plans.py have in common, and times fitted again to products of rows amid lines.

Fitted to 510 sizes of whole rows in bfloat16 on H200s, with some 30 ways each, so that the way of least time
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
    beyond: float = 0  # power of what tiles cover over what C has, by which steps are longer
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
    end_ns: float = 235  # to store a tile, beside its elements
    element_ns: float = 1 / 19.0
    vain_bytes: float = 0  # that memory brings too of a box's row of B that begins amid half a line


FITTED_RATES = Rates()
REFITTED_RATES = Rates(
    line_ns=0.166,
    amid=6.71,
    amid_of_a=0.611,
    busy_line_ns=0.00886,
    busy_amid=1.50,
    beyond=0.377,
    multicast_bytes_per_ns=215,
    alone_bytes_per_ns=101,
    dram_bytes_per_ns=7362,
    far=1.01,
    crowd_b_ns=0.0037,
    crowd_a_ns=0.0025,
    shared_step_ns=70,
    full=1.02,
    meet=1.12,
)
# Of a tile, the nanoseconds of a step and of its start. What is not here was not among the ways.
REFITTED = {
    "tile_128x256_pair": (556, 1280),
    "tile_128x224_pair": (512, 1260),
    "tile_128x256": (527, 820),
    "tile_128x192": (355, 670),
    "tile_128x128": (311, 780),
    "tile_64x128": (190, 1100),
    "tile_64x64": (120, 460),
    "across_256x128_pair": (574, 1540),
    "across_208x128_pair": (447, 1330),
    "across_144x128_pair": (333, 1500),
    "across_192x192_pair": (548, 1210),
    "across_176x192_above": (477, 1450),
    "across_96x192_above": (272, 890),
    "across_64x128_quarters": (194, 1020),
    "across_64x64_quarters": (142, 490),
    "across_64x64_eighths": (131, 780),
    "across_32x64_quarters": (126, 670),
    "across_160x128_2x2": (323, 590),
    "across_112x128_2x2": (236, 800),
    "across_112x128_4x2": (233, 780),
    "across_96x128_4x2": (212, 710),
    "across_80x128_2x2": (179, 1340),
    "across_64x64_4x2": (133, 740),
    "across_32x64_4x2": (134, 540),
    "across_96x64_quarters": (151, 1010),
    "across_80x64": (159, 1000),
    "across_48x64": (117, 340),
    "tile_128x160_2x1": (371, 1380),
    "tile_64x128_8x1": (147, 620),
    "tile_128x128_4x1": (243, 490),
    "tile_128x128_4x2": (257, 670),
    "tile_128x192_2x1": (391, 1460),
    "tile_128x256_4x1": (528, 1160),
    "across_112x192_2x1": (316, 900),
    "across_128x192_2x1": (382, 550),
    "across_144x192_2x1": (417, 950),
    "across_160x192_2x1": (480, 1090),
    "across_96x128_quarters": (207, 930),
    "across_80x128_4x1": (184, 410),
    "across_112x128_4x1": (228, 770),
    "across_80x128_2x1": (202, 1170),
    "across_176x128_2x1": (378, 1200),
    "across_208x128_2x1": (426, 1150),
    "across_160x128_1x4": (312, 1040),
    "across_64x64_4x1": (105, 730),
    "across_96x64_4x1": (175, 960),
    "across_96x64_1x4": (133, 1100),
    "across_64x64_1x8": (111, 630),
    "across_128x64_1x8": (135, 1030),
    "across_80x64_2x2": (130, 620),
    "across_48x64_4x2": (130, 560),
    "across_32x64_4x1": (121, 600),
    "across_208x128_2x2": (425, 1180),
    "across_64x128_eighths": (179, 1000),
    "across_128x64_eighths": (152, 1560),
    "across_48x64_8x1": (149, 590),
    "tile_64x128_1x1": (163, 950),
    "tile_64x128_2x1": (154, 1130),
    "tile_64x192_1x1": (216, 860),
    "tile_128x128_2x1": (278, 560),
    "across_64x64_halves": (136, 980),
    "across_128x64_halves": (201, 960),
    "across_192x128_1x4": (363, 820),
    "across_144x128_2x2": (284, 610),
    "across_192x128_2x2": (388, 1060),
    "across_192x128_halves": (390, 910),
    "across_128x128_quarters": (267, 940),
    "across_128x64_2x4": (127, 1360),
    "across_96x128_2x4": (212, 550),
    "across_136x128_2x1": (323, 500),
    "across_192x192_2x1": (544, 590),
    "across_184x128_1x2": (354, 890),
    "across_88x128_2x4": (181, 670),
    "across_216x128_1x2": (412, 910),
    "across_176x128_2x4": (362, 880),
    "across_168x64_2x4": (178, 1200),
    "across_96x64_2x4": (128, 1200),
    "across_144x64_4x2": (154, 860),
    "across_120x64_2x1": (139, 930),
    "across_112x64_2x4": (139, 990),
    "across_56x64_4x2": (104, 1270),
    "across_88x128_4x1": (176, 660),
    "across_104x128_2x1": (223, 1020),
    "across_288x128_2x1": (648, 920),
    "across_288x128_1x2": (660, 870),
    "across_136x256_1x2": (524, 1050),
    "across_160x256_2x1": (694, 2550),
    "across_224x128_1x2": (468, 750),
    "turns_104x192_1x2": (388, 900),
    "turns_104x192_2x1": (313, 1050),
    "turns_112x192_2x1": (330, 1050),
    "turns_160x128_2x1": (346, 900),
}

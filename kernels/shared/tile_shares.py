"""What launchers give kernels whose blocks leave parts of tiles for each other: ``tile_shares.cuh``."""

import random

_draw = random.Random()  # its own, for users seed the other


def new_ticket() -> int:
    """A number that no memory holds by chance: what flags of one launch are raised to."""
    return _draw.getrandbits(63)

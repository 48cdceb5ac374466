"""How many packs of 16 bytes a thread of a map in CUDA has."""

PACK_BYTES = 16
THREADS_AT_ONCE = 2048  # of a multiprocessor


def packs_of_thread(packs: int, multiprocessors: int, least: float = 1.0) -> int:
    """Two of more packs than ``least`` waves of blocks have, up to two waves; one otherwise.

    A second wave waits for the first. Of many waves only the last one leaves threads idle.
    """
    at_once = multiprocessors * THREADS_AT_ONCE
    return 2 if least * at_once < packs <= 2 * at_once else 1

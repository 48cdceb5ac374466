"""Long rows cut into pieces, a block each: into how many, of a cluster or of the whole grid."""

BLOCKS_PER_MULTIPROCESSOR = 4  # of which as many run at once
CLUSTERS = (2, 4, 8)  # blocks
CLUSTERS_FROM = (9, 0)
ALIGNED_COLS = 16  # whose bytes are a multiple of 16 in any element type, int8 among them


def row_pieces(
    rows: int,
    cols: int,
    one_round: int,
    multiprocessor_count: int,
    most: int = 1024,
    blocks: int = BLOCKS_PER_MULTIPROCESSOR,
) -> tuple[int, int]:
    """Columns of a piece, whole rounds of ``one_round`` of a block's threads, and the pieces of a row.

    So many ``blocks`` a multiprocessor where rows are long enough: more would wait for the first ones to end.
    """
    wanted = min(max(blocks * multiprocessor_count // max(rows, 1), 1), most)
    length = -(-cols // (wanted * one_round)) * one_round
    return length, -(-cols // length)


def cluster_pieces(
    rows: int, cols: int, most: int, rows_at_once: int, capability: tuple[int, int]
) -> tuple[int, int] | None:
    """Columns of a piece and blocks of a cluster, where it holds a row on chip, ``most`` columns a block.

    The smallest cluster that does, or a larger one where rows are fewer than ``rows_at_once`` blocks. None
    where no cluster does, or the GPU has none.
    """
    if capability < CLUSTERS_FROM:
        return None
    fitting = [size for size in CLUSTERS if cols <= size * most]
    if not fitting:
        return None
    size = next((size for size in fitting if rows * size >= rows_at_once), fitting[-1])
    return -(-cols // (size * ALIGNED_COLS)) * ALIGNED_COLS, size

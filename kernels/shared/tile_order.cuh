// The order in which blocks take the tiles of a matrix product.
#pragma once

// Row and column of a tile, counted in tiles.
struct TileIndex {
    unsigned row;
    unsigned column;
};

// Tiles in groups of `group` rows of tiles, column by column: blocks that run together share bands of A and B in L2.
__device__ __forceinline__ TileIndex grouped_tile(unsigned tile, unsigned rows, unsigned columns, unsigned group) {
    const unsigned first = tile / (group * columns) * group;
    const unsigned in_group = tile % (group * columns);
    const unsigned height = min(rows - first, group);
    return {first + in_group % height, in_group / height};
}

// The same, with one division in place of three where one group has all rows. For kernels whose first copy waits for it.
__device__ __forceinline__ TileIndex
grouped_tile_early(unsigned tile, unsigned rows, unsigned columns, unsigned group) {
    if (rows > group) return grouped_tile(tile, rows, columns, group);
    const unsigned column = tile / rows;
    return {tile - column * rows, column};
}

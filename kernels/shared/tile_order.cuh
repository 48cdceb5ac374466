// The order in which blocks take the tiles of a matrix product.
#pragma once

// Row and column of a tile, counted in tiles.
struct TilePlace {
    unsigned row;
    unsigned column;
};

// Tiles in groups of `group` rows of tiles, column by column: blocks that run together share bands of A and B in L2.
__device__ __forceinline__ TilePlace grouped_place(unsigned tile, unsigned rows, unsigned columns, unsigned group) {
    const unsigned first = tile / (group * columns) * group;
    const unsigned place = tile % (group * columns);
    const unsigned height = min(rows - first, group);
    return {first + place % height, place / height};
}

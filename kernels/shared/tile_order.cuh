// The order in which blocks take the tiles of a matrix product.
#pragma once

// Row and column of a tile, counted in tiles.
struct TileIndex {
    unsigned row;
    unsigned column;
};

// Tiles in groups of `group` rows of tiles, column by column: blocks that run together share bands of A and B in L2.
__device__ __forceinline__ TileIndex grouped_tile(unsigned tile, unsigned rows, unsigned columns, unsigned group) {
    if (rows <= group) {  // one division in place of three, for which the first copy waits
        const unsigned column = tile / rows;
        return {tile - column * rows, column};
    }
    const unsigned first = tile / (group * columns) * group;
    const unsigned in_group = tile % (group * columns);
    const unsigned height = min(rows - first, group);
    return {first + in_group % height, in_group / height};
}

// Transpose of a tile whose rows begin anywhere: 16 bytes an access on both sides.
//
// A row of the tile comes as the aligned packs that it lies in, the first and the last partly in it, and keeps in shared
// memory how far it lies past 16 bytes. A thread takes a square of PACK x PACK elements, each row of it out of two packs. Where rows of y begin
// anywhere too, a pack of y is put together from two squares.
#pragma once

#include "shared/shifted.cuh"

constexpr int SKEWED_THREADS = 256;  // as in cuda_swizzled.py

// A tile of DOWN x ACROSS squares of PACK x PACK elements, in shared memory as the packs that its rows lie in. The next
// one is STEP squares below.
template <int DOWN, int ACROSS, int THREADS, int STEP = DOWN>
struct SkewedTile {
    static constexpr int HEIGHT = DOWN * PACK, WIDTH = ACROSS * PACK, SLOTS = ACROSS + 1;

    const SCALAR* corner;
    long long top, left;
    int height, width;    // of what lies in the matrix
    unsigned past, step;  // elements past 16 bytes: of the first row, and of each more than of the one before
    Bits* packs;

    __device__ __forceinline__ SkewedTile(const SCALAR* x, Bits* packs, long long rows, long long cols) : packs(packs) {
        // Along the shorter side first: tiles that share lines of the cache are then not far apart.
        const unsigned across = static_cast<unsigned>((cols + WIDTH - 1) / WIDTH);
        const unsigned down = static_cast<unsigned>((rows + STEP * PACK - 1) / (STEP * PACK));
        const bool is_wide = across > down;
        top = static_cast<long long>(is_wide ? blockIdx.x % down : blockIdx.x / across) * (STEP * PACK);
        left = static_cast<long long>(is_wide ? blockIdx.x / down : blockIdx.x % across) * WIDTH;
        height = static_cast<int>(min(rows - top, static_cast<long long>(HEIGHT)));
        width = static_cast<int>(min(cols - left, static_cast<long long>(WIDTH)));
        corner = x + top * cols + left;
        past = bytes_past(corner) / sizeof(SCALAR);
        step = static_cast<unsigned>(cols);
    }

    // Packs of rows below one another lie in different banks: a column is read in the rows of several packs at once.
    static __device__ __forceinline__ int place(int row, int slot) {
        const int turned = slot + (DOWN <= SLOTS ? row / PACK : row / PACK % SLOTS);
        return row * SLOTS + (turned < SLOTS ? turned : turned - SLOTS);
    }
    __device__ __forceinline__ unsigned past_of(int row) const { return (past + row * step) % PACK; }
    __device__ __forceinline__ const SCALAR& element(int row, int col) const {
        const int at = col + static_cast<int>(past_of(row));
        return reinterpret_cast<const SCALAR*>(packs + place(row, at / PACK))[at % PACK];
    }

    // All of the tile, under way at once.
    __device__ __forceinline__ void fill(const SCALAR* x, long long rows, long long cols) const {
        constexpr int LOADS = (HEIGHT * SLOTS + THREADS - 1) / THREADS;
        const SCALAR* const end = x + rows * cols;
        Bits found[LOADS];
#pragma unroll
        for (int l = 0; l < LOADS; ++l) {
            const int index = threadIdx.x + l * THREADS, row = index / SLOTS;
            const int at = index % SLOTS * PACK - static_cast<int>(past_of(row));
            found[l] = {};
            if (row < height && at < width) found[l] = load_near(corner + row * cols + at, x, end);
        }
#pragma unroll
        for (int l = 0; l < LOADS; ++l) {
            const int index = threadIdx.x + l * THREADS;
            if (index < HEIGHT * SLOTS) packs[place(index / SLOTS, index % SLOTS)] = found[l];
        }
    }

    // Row `row` of the tile in column number `column` of squares.
    __device__ __forceinline__ Bits row_of_square(int row, int column) const {
        const Bits low = packs[place(row, column)], high = packs[place(row, column + 1)];
        return bytes_from(low, high, past_of(row) * sizeof(SCALAR));
    }
};

// The packs of a row of y that begin in a tile, of a lane the one that begins in its square: what is in the square below
// comes from the next lane, so that the last of the LANES has none. `left` are the elements of the row of y from the
// square on. By whole warps, whose lanes have the same alignment.
template <int LANES>
__device__ __forceinline__ void store_begun(SCALAR* to, const Bits& bits, long long left, bool is_first_tile) {
    const int past = static_cast<int>(bytes_past(to) / sizeof(SCALAR)), head = past ? PACK - past : 0;
    const bool is_last = threadIdx.x % LANES == LANES - 1, is_first = threadIdx.x % LANES == 0;
    Bits whole = bits;
    if (past) {
        const Bits after = {
            __shfl_down_sync(WHOLE_WARP, bits.x, 1, LANES), __shfl_down_sync(WHOLE_WARP, bits.y, 1, LANES),
            __shfl_down_sync(WHOLE_WARP, bits.z, 1, LANES), __shfl_down_sync(WHOLE_WARP, bits.w, 1, LANES)};
        whole = bytes_from(bits, after, head * sizeof(SCALAR));
        if (is_first_tile && is_first)
            store_elements(to, bits, 0, static_cast<int>(min(left, static_cast<long long>(head))));
    }
    if (is_last || left <= head) return;
    if (left - head >= PACK) *reinterpret_cast<Bits*>(to + head) = whole;
    else store_elements(to + head, whole, 0, static_cast<int>(left) - head);
}

// A square a thread, as in transpose_squares. SHIFTED where rows of y begin anywhere: then tiles overlap by a row of
// squares, and every pack of y is one tile's.
template <int DOWN, int ACROSS, bool SHIFTED>
__device__ __forceinline__ void transpose_skewed(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    using Tile = SkewedTile<DOWN, ACROSS, DOWN * ACROSS, SHIFTED ? DOWN - 1 : DOWN>;
    __shared__ Bits packs[Tile::HEIGHT * Tile::SLOTS];
    const Tile tile(x, packs, rows, cols);
    tile.fill(x, rows, cols);
    __syncthreads();

    const int inner = threadIdx.x % DOWN, outer = threadIdx.x / DOWN;  // adjacent lanes along the rows of y
    Bits square[PACK];
#pragma unroll
    for (int i = 0; i < PACK; ++i) square[i] = tile.row_of_square(inner * PACK + i, outer);
    SCALAR* const to = y + (tile.left + outer * PACK) * rows + tile.top + inner * PACK;
    const int across = tile.width - outer * PACK;
    const long long down = rows - tile.top - inner * PACK;
#pragma unroll
    for (int j = 0; j < PACK; ++j) {
        Pack turned;
#pragma unroll
        for (int i = 0; i < PACK; ++i) turned.element[i] = reinterpret_cast<const Pack&>(square[i]).element[j];
        const Bits& bits = reinterpret_cast<const Bits&>(turned);
        if constexpr (SHIFTED) {
            store_begun<DOWN>(to + j * rows, bits, j < across ? down : 0, tile.top == 0);
        } else if (j < across && down > 0) {
            store_whole_pack(to + j * rows, turned);
        }
    }
}

// Few rows, whole packs of y in number: a block has all of them, and `across` columns of squares.
template <int MOST_THREADS, int MOST_PACKS>
__device__ __forceinline__ void transpose_skewed_few(
    const SCALAR* x, SCALAR* y, long long all_rows, long long cols, int across
) {
    extern __shared__ __align__(16) Bits few_packs[];
    const int rows = static_cast<int>(all_rows), down = rows / PACK, slots = across + 1;
    const long long left = static_cast<long long>(blockIdx.x) * across * PACK;
    const int width = static_cast<int>(min(cols - left, static_cast<long long>(across) * PACK));
    const SCALAR *const corner = x + left, *const end = x + all_rows * cols;
    const unsigned past = bytes_past(corner) / sizeof(SCALAR), step = static_cast<unsigned>(cols);
    const auto place = [&](int row, int slot) { return row * slots + row / PACK + slot; };
    Bits found[MOST_PACKS];
#pragma unroll
    for (int l = 0; l < MOST_PACKS; ++l) {
        const int index = threadIdx.x + l * blockDim.x, row = index / slots, slot = index - row * slots;
        const int at = slot * PACK - static_cast<int>((past + row * step) % PACK);
        if (row < rows && at < width) found[l] = load_near(corner + row * cols + at, x, end);
    }
#pragma unroll
    for (int l = 0; l < MOST_PACKS; ++l) {
        const int index = threadIdx.x + l * blockDim.x, row = index / slots;
        if (row < rows) few_packs[place(row, index - row * slots)] = found[l];
    }
    __syncthreads();
    const int outer = threadIdx.x / down, inner = threadIdx.x - outer * down;
    if (outer * PACK >= width || outer >= across) return;
    Bits square[PACK];
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        const int row = inner * PACK + i, at = place(row, outer);
        square[i] = bytes_from(few_packs[at], few_packs[at + 1], (past + row * step) % PACK * sizeof(SCALAR));
    }
    SCALAR* const to = y + (left + outer * PACK) * rows + inner * PACK;
#pragma unroll
    for (int j = 0; j < PACK; ++j) {
        Pack turned;
#pragma unroll
        for (int i = 0; i < PACK; ++i) turned.element[i] = reinterpret_cast<const Pack&>(square[i]).element[j];
        if (outer * PACK + j < width) store_whole_pack(to + j * rows, turned);
    }
}

// Small tiles, of which threads have a pack of y at most: more of them have something to do.
template <int PACKS>
__device__ __forceinline__ void transpose_skewed_by_elements(
    const SCALAR* x, SCALAR* y, long long rows, long long cols
) {
    using Tile = SkewedTile<PACKS, PACKS, SKEWED_THREADS>;
    __shared__ Bits packs[Tile::HEIGHT * Tile::SLOTS];
    const Tile tile(x, packs, rows, cols);
    tile.fill(x, rows, cols);
    __syncthreads();
#pragma unroll
    for (int l = 0; l < (Tile::WIDTH * PACKS + SKEWED_THREADS - 1) / SKEWED_THREADS; ++l) {
        const int item = threadIdx.x + l * SKEWED_THREADS, col = item / PACKS;  // adjacent lanes along a row of y
        if (col >= tile.width) break;
        SCALAR* const to = y + (tile.left + col) * rows + tile.top;
        const int first = item % PACKS * PACK - static_cast<int>(bytes_past(to) / sizeof(SCALAR));
        Pack pack;
#pragma unroll
        for (int i = 0; i < PACK; ++i) pack.element[i] = tile.element((first + i + Tile::HEIGHT) % Tile::HEIGHT, col);
        if (first >= 0 && first + PACK <= tile.height) {
            store_whole_pack(to + first, pack);
            continue;
        }
        // The first pack begins in the tile before; what the tile has of it and of the last one is a pack together.
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            const int row = (first + i + Tile::HEIGHT) % Tile::HEIGHT;
            if (row < tile.height) to[row] = pack.element[i];
        }
    }
}

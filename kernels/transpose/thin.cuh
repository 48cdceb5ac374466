// Transpose of a matrix with few rows or few columns, for any size and alignment.
#pragma once

#include "shared/shifted.cuh"

constexpr int THIN_THREADS = 256;  // as in cuda_swizzled.py
constexpr int DIRECT_UNROLL = 2;   // elements of a thread without a tile, as in cuda_swizzled.py
constexpr int THIN_UNROLL = 4;     // packs of a thread under way at once

// index / by, of an index below 2^16 and a divisor below 2^9.
struct Divisor {
    unsigned by, part;

    __device__ __forceinline__ explicit Divisor(unsigned by) : by(by), part(by == 1 ? 0 : 0xffffffffu / by + 1) {}
    __device__ __forceinline__ unsigned of(unsigned index) const { return by == 1 ? index : __umulhi(index, part); }
};

// Calls act(index, pack) with load(index) for every index below `count`, some loads under way at once.
template <typename Load, typename Act>
__device__ __forceinline__ void for_thin_packs(int count, const Load& load, const Act& act) {
    for (int first = threadIdx.x; first < count; first += THIN_UNROLL * THIN_THREADS) {
        Bits packs[THIN_UNROLL];
#pragma unroll
        for (int u = 0; u < THIN_UNROLL; ++u) {
            const int index = first + u * THIN_THREADS;
            if (index < count) packs[u] = load(index);
        }
#pragma unroll
        for (int u = 0; u < THIN_UNROLL; ++u) {
            const int index = first + u * THIN_THREADS;
            if (index < count) act(index, packs[u]);
        }
    }
}

// Few rows: a tile of 2^bits columns has all of them, as the packs that they lie in, and is one run of y. Packs of rows
// one below the other lie in different banks.
__device__ __forceinline__ void transpose_few_rows(
    const SCALAR* x, SCALAR* y, Bits* shared, long long all_rows, long long cols, int bits
) {
    const unsigned rows = static_cast<unsigned>(all_rows), slots = (1u << bits) / PACK + 1;
    const long long first = static_cast<long long>(blockIdx.x) << bits;
    const unsigned width = static_cast<unsigned>(min(cols - first, 1ll << bits));
    const SCALAR *const corner = x + first, *const end = x + all_rows * cols;
    const unsigned past = bytes_past(corner) / sizeof(SCALAR), step = static_cast<unsigned>(cols);
    const Divisor by_slots(slots), by_rows(rows);
    const auto place = [&](unsigned row) { return row * slots + row / PACK; };
    const auto past_of = [&](unsigned row) { return (past + row * step) % PACK; };
    for_thin_packs(
        rows * slots,
        [&](unsigned index) {
            const unsigned row = by_slots.of(index);
            const int at = (index - row * slots) * PACK - past_of(row);
            return at < static_cast<int>(width) ? load_near(corner + row * cols + at, x, end) : Bits{};
        },
        [&](unsigned index, const Bits& pack) {
            const unsigned row = by_slots.of(index);
            shared[place(row) + index - row * slots] = pack;
        }
    );
    __syncthreads();
    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(shared);
    const unsigned count = width * rows;
    y += first * rows;
    for (unsigned index = threadIdx.x * PACK; index < count; index += THIN_THREADS * PACK) {
        unsigned col = by_rows.of(index), row = index - col * rows;
        Pack pack;
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            pack.element[i] = elements[place(row) * PACK + col + past_of(row)];
            if (++row == rows) {
                row = 0;
                if (col + 1 < width) ++col;
            }
        }
        store_part(y + index, pack, count - index);
    }
}

// Few columns: a tile of 2^bits rows is one run of x, and has every pack of y that begins in it; the last of them end up
// to PACK - 1 rows below.
__device__ __forceinline__ void transpose_few_cols(
    const SCALAR* x, SCALAR* y, Bits* shared, long long rows, long long all_cols, int bits
) {
    const int cols = static_cast<int>(all_cols), whole = 1 << bits;
    const long long first = static_cast<long long>(blockIdx.x) << bits, left = rows - first;
    const int height = static_cast<int>(min(left, static_cast<long long>(whole + PACK - 1)));
    x += first * cols;
    const int count = height * cols;
    for_thin_packs(
        (count + PACK - 1) / PACK,
        [&](int index) {
            const Pack pack = load_part(x + index * PACK, count - index * PACK);
            return reinterpret_cast<const Bits&>(pack);
        },
        [&](int index, const Bits& pack) { shared[index] = pack; }
    );
    __syncthreads();
    // Eight packs along a row of y are neighbours, and four rows of y: fewer lanes meet in a bank.
    constexpr int ALONG_BITS = 3, BESIDE_BITS = 2, BESIDE = 1 << BESIDE_BITS;
    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(shared);
    const int packs_bits = bits - (PACK == 8 ? 3 : 2), along_bits = min(packs_bits, ALONG_BITS);
    const int items = (cols + BESIDE - 1) / BESIDE * BESIDE << packs_bits;
    for (int item = threadIdx.x; item < items; item += THIN_THREADS) {
        const int rest = item >> (along_bits + BESIDE_BITS), outer_bits = packs_bits - along_bits;
        const int along = (rest & ((1 << outer_bits) - 1)) << along_bits | (item & ((1 << along_bits) - 1));
        const int col = rest >> outer_bits << BESIDE_BITS | (item >> along_bits & (BESIDE - 1));
        if (col >= cols) continue;
        SCALAR* const to = y + col * rows + first;
        const int past = static_cast<int>(bytes_past(to) / sizeof(SCALAR)), head = past ? PACK - past : 0;
        const int row = head + along * PACK, last = height - 1;
        if (first == 0 && along == 0) {
            for (int r = 0; r < head && r < height; ++r) to[r] = elements[r * cols + col];
        }
        if (row >= left) continue;
        Pack pack;
#pragma unroll
        for (int i = 0; i < PACK; ++i) pack.element[i] = elements[min(row + i, last) * cols + col];
        store_part(to + row, pack, left - row);
    }
}

// ---- One line, or so little that a tile in shared memory takes longer than what it saves --------------

// By elements of y, which are adjacent: `few` adjacent ones come from as many rows of x.
__device__ __forceinline__ void transpose_direct_rows(const SCALAR* x, SCALAR* y, unsigned rows, unsigned cols) {
    const unsigned first = blockIdx.x * THIN_THREADS * DIRECT_UNROLL + threadIdx.x, count = rows * cols;
    SCALAR values[DIRECT_UNROLL];
#pragma unroll
    for (int u = 0; u < DIRECT_UNROLL; ++u) {
        const unsigned at = first + u * THIN_THREADS;
        if (at < count) values[u] = x[at % rows * cols + at / rows];
    }
#pragma unroll
    for (int u = 0; u < DIRECT_UNROLL; ++u) {
        const unsigned at = first + u * THIN_THREADS;
        if (at < count) y[at] = values[u];
    }
}

// By elements of x, which are adjacent.
__device__ __forceinline__ void transpose_direct_cols(const SCALAR* x, SCALAR* y, unsigned rows, unsigned cols) {
    const unsigned first = blockIdx.x * THIN_THREADS * DIRECT_UNROLL + threadIdx.x, count = rows * cols;
    SCALAR values[DIRECT_UNROLL];
#pragma unroll
    for (int u = 0; u < DIRECT_UNROLL; ++u) {
        const unsigned at = first + u * THIN_THREADS;
        if (at < count) values[u] = x[at];
    }
#pragma unroll
    for (int u = 0; u < DIRECT_UNROLL; ++u) {
        const unsigned at = first + u * THIN_THREADS;
        if (at < count) y[at % cols * rows + at / cols] = values[u];
    }
}

// A matrix of one line lies as its transpose does.
__device__ __forceinline__ void copy_line(const SCALAR* x, SCALAR* y, long long count) {
    const long long first = thread_of_grid() * PACK;
    if (first < count) store_part(y + first, load_part(x + first, count - first), count - first);
}

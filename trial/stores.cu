// What stores of rows that begin anywhere cost: tiles of 64 rows, no loads.
#include "shared/common.cuh"
#include "shared/tile_order.cuh"
template <int WIDTH, int ALIGN>
__device__ __forceinline__ void store_words_of(unsigned short* c, long long m, long long n) {
    const TileIndex index = grouped_tile(blockIdx.x, (m + 63) / 64, (n + WIDTH - 1) / WIDTH, 32);
    const long long row0 = index.row * 64ll, column0 = index.column * (long long)WIDTH;
    constexpr int WORDS = WIDTH / 8 + 16;
    for (int i = threadIdx.x; i < 64 * WORDS; i += 256) {
        const long long row = row0 + i / WORDS;
        if (row >= m) break;
        long long s = row * n + column0, e = min(s + WIDTH, row * n + n);
        s = (s + ALIGN - 1) / ALIGN * ALIGN;
        e = (row == m - 1 && e == row * n + n) ? e : (e + ALIGN - 1) / ALIGN * ALIGN;
        const long long at = (s / 8 + i % WORDS) * 8;
        if (at >= s && at + 8 <= e) *reinterpret_cast<uint4*>(c + at) = make_uint4(1, 2, 3, 4);
        else if (at + 8 > s && at < e) {
            int p = max(s - at, 0ll), q = min(e - at, 8ll);
            if (p % 2 && p < q) c[at + p] = 1, ++p;
            if (p % 4 && p + 2 <= q) *reinterpret_cast<unsigned*>(c + at + p) = 1, p += 2;
            if (p + 4 <= q) *reinterpret_cast<uint2*>(c + at + p) = make_uint2(1, 2), p += 4;
            if (p + 2 <= q) *reinterpret_cast<unsigned*>(c + at + p) = 1, p += 2;
            if (p < q) c[at + p] = 1;
        }
    }
}
#define K(NAME, W, A) extern "C" __global__ void __launch_bounds__(256, 4) NAME(unsigned short* c, long long m, long long n) { store_words_of<W, A>(c, m, n); }
K(w64_1, 64, 1) K(w128_1, 128, 1) K(w256_1, 256, 1) K(w128_8, 128, 8) K(w128_16, 128, 16) K(w128_64, 128, 64) K(w256_8, 256, 8) K(w256_16, 256, 16) K(w256_64, 256, 64)
// As copy_loose: a warp a row of 64 columns, 4 bytes a lane.
extern "C" __global__ void __launch_bounds__(256, 4) pairs64(unsigned short* c, long long m, long long n) {
    const TileIndex index = grouped_tile(blockIdx.x, (m + 63) / 64, (n + 63) / 64, 32);
    const long long row0 = index.row * 64ll, column0 = index.column * 64ll;
    const int lane = threadIdx.x % 32;
#pragma unroll 4
    for (int row = threadIdx.x / 32; row < 64; row += 8) {
        if (row0 + row >= m) break;
        unsigned short* const to = c + (row0 + row) * n + column0;
        const int amid = reinterpret_cast<unsigned long long>(to) / 2 % 2, column = lane * 2 + amid;
        const int left = static_cast<int>(n - column0) - column;
        if (amid && lane == 0 && left >= 0) to[0] = 1;
        if (left >= 2 && !(amid && lane == 31)) *reinterpret_cast<unsigned*>(to + column) = lane;
        else if (left >= 1) to[column] = 1;
    }
}
extern "C" __global__ void __launch_bounds__(256, 4) linear(unsigned short* c, long long m, long long n) {
    const long long words = m * n / 8;
    for (long long i = blockIdx.x * 1024ll + threadIdx.x; i < min(words, blockIdx.x * 1024ll + 1024); i += 256) reinterpret_cast<uint4*>(c)[i] = make_uint4(1, 2, 3, 4);
}

// C = A B on the tensor cores by warp-wide mma.sync (sm_80 and later), float16 or bfloat16, sums in float32.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP, (m k + k n + m n) s compulsory bytes. A block reads
//   (BM + BN) k elements, most of them from L2.
// Mapping: a block computes a BM x BN tile of C in steps of BK along k. Its warps share the tile in warp tiles of
//   WM x WN, made of m16n8k16 products; a lane holds WM WN / 32 sums in registers. For 64 x 64, eight ldmatrix (4 KiB
//   of shared memory) feed 32 products. Shared memory holds a ring of stages. cp.async fills the one furthest ahead
//   while ldmatrix reads the next 16 ks into registers and the tensor cores work on the present ones. Both tiles lie
//   row by row in chunks of 8 elements (16 bytes); a chunk's position in its row is XORed with the row's number, so
//   that the 8 rows that one phase of ldmatrix reads, and the 8 chunks that one phase of cp.async writes, fall in
//   different banks.
// Idea: CUTLASS's multistage kernels for Ampere. wgmma on Hopper is faster still: mma.sync reaches about 0.6 of its
//   rate there.

#include "shared/ampere.cuh"
#include "shared/tile_order.cuh"

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

namespace {

// As copy_chunk, but at once and for any alignment: `inside` elements, the rest of the chunk zero.
__device__ __forceinline__ void gather_chunk(unsigned char* to, const SCALAR* from, long long inside) {
    union {
        unsigned short elements[CHUNK];
        uint4 chunk;
    } values;
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) {
        values.elements[i] = i < inside ? reinterpret_cast<const unsigned short*>(from)[i] : 0;
    }
    *reinterpret_cast<uint4*>(to) = values.chunk;
}

// CHUNKS are copied and stored whole if CHUNKS: then k and n are multiples of 8, A and B 16-byte aligned.
template <int WARPS_M, int WARPS_N, int WM, int WN, int BK, int STAGES, bool CHUNKS>
__device__ __forceinline__ void multiply(
    const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, long long m, long long n, int k
) {
    constexpr int THREADS = WARPS_M * WARPS_N * 32;
    constexpr int BLOCK_M = WARPS_M * WM;
    constexpr int BLOCK_N = WARPS_N * WN;
    constexpr int ROW_A = BK * 2;  // bytes
    constexpr int ROW_B = BLOCK_N * 2;
    constexpr int STAGE_A = BLOCK_M * ROW_A;
    constexpr int STAGE = STAGE_A + BK * ROW_B;
    constexpr int STEPS = BK / 16;
    static_assert(STEPS % 2 == 0 && BK <= 64 && BLOCK_N >= 64);
    extern __shared__ __align__(128) unsigned char stages[];

    const TileIndex index =
        grouped_tile(blockIdx.x, (m + BLOCK_M - 1) / BLOCK_M, (n + BLOCK_N - 1) / BLOCK_N, 2048 / BLOCK_M);
    const long long row0 = static_cast<long long>(index.row) * BLOCK_M;
    const long long column0 = static_cast<long long>(index.column) * BLOCK_N;

    // Rows of A are 64 or 128 bytes: with 64, two rows fill the banks, and a pair of rows has the same XOR.
    const auto chunk_a = [](int row, int chunk) { return (chunk ^ (row / (64 / BK) % (BK / CHUNK))) * CHUNK_BYTES; };
    const auto chunk_b = [](int row, int chunk) { return (chunk ^ (row % 8)) * CHUNK_BYTES; };

    // Filling: a thread copies one chunk of every PASS_A-th row of A and of every PASS_B-th row of B.
    constexpr int PASS_A = THREADS / (BK / CHUNK);
    constexpr int PASS_B = THREADS / (BLOCK_N / CHUNK);
    constexpr int FILLS_A = BLOCK_M / PASS_A;
    constexpr int FILLS_B = BK / PASS_B;
    static_assert(PASS_A % 8 == 0 && PASS_B % 8 == 0 && FILLS_A * PASS_A == BLOCK_M && FILLS_B * PASS_B == BK);
    const int thread = threadIdx.x;
    const int a_row = thread / (BK / CHUNK);
    const int a_k = thread % (BK / CHUNK) * CHUNK;
    const int b_k = thread / (BLOCK_N / CHUNK);
    const int b_column = thread % (BLOCK_N / CHUNK) * CHUNK;
    unsigned char* const to_a = stages + a_row * ROW_A + chunk_a(a_row, a_k / CHUNK);
    unsigned char* const to_b = stages + STAGE_A + b_k * ROW_B + chunk_b(b_k, b_column / CHUNK);
    const SCALAR* from_a = a + (row0 + a_row) * k + a_k;
    const SCALAR* from_b = b + b_k * n + column0 + b_column;
    const long long pass_a = static_cast<long long>(PASS_A) * k;
    const long long b_columns = n - column0 - b_column;
    unsigned a_inside = 0;
#pragma unroll
    for (int i = 0; i < FILLS_A; ++i) a_inside |= (row0 + a_row + i * PASS_A < m) << i;
    int left = k;

    const auto fill_next = [&](int offset) {
        const unsigned inside = a_k < left ? a_inside : 0;
#pragma unroll
        for (int i = 0; i < FILLS_A; ++i) {
            const SCALAR* from = from_a + i * pass_a;
            unsigned char* to = to_a + offset + i * PASS_A * ROW_A;
            if constexpr (CHUNKS) copy_chunk(to, from, inside >> i & 1);
            else gather_chunk(to, from, inside >> i & 1 ? left - a_k : 0);
        }
#pragma unroll
        for (int i = 0; i < FILLS_B; ++i) {
            const SCALAR* from = from_b + i * PASS_B * n;
            unsigned char* to = to_b + offset + i * PASS_B * ROW_B;
            const bool inside_k = b_k + i * PASS_B < left;
            if constexpr (CHUNKS) copy_chunk(to, from, inside_k && b_columns > 0);
            else gather_chunk(to, from, inside_k ? b_columns : 0);
        }
        commit_copies();
        from_a += BK;
        from_b += BK * n;
        left -= BK;
    };

    const int lane = thread % 32;
    const int warp_row = thread / 32 / WARPS_N * WM;
    const int warp_column = thread / 32 % WARPS_N * WN;
    const int read_row = lane % 16;
    const int read_chunk = lane / 16;

    float sum[WM / 16][WN / 8][4] = {};
    unsigned slice_a[2][WM / 16][4];
    unsigned slice_b[2][WN / 16][4];
    const auto read_slice = [&](int buffer, int offset, int step) {
#pragma unroll
        for (int i = 0; i < WM / 16; ++i) {
            load_matrices(
                slice_a[buffer][i],
                stages + offset + (warp_row + i * 16 + read_row) * ROW_A + chunk_a(read_row, step * 2 + read_chunk)
            );
        }
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) {
            load_transposed(
                slice_b[buffer][j], stages + offset + STAGE_A + (step * 16 + read_row) * ROW_B +
                                        chunk_b(read_row, warp_column / CHUNK + j * 2 + read_chunk)
            );
        }
    };

#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) fill_next(stage * STAGE);
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    read_slice(0, 0, 0);

    int read_offset = 0;
    int fill_offset = (STAGES - 1) * STAGE;
    for (int k0 = 0; k0 < k; k0 += BK) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (step == STEPS - 1) {
                // All warps have read this stage's last slice into registers, so it is the next to be filled.
                wait_for_copies<STAGES - 2>();
                __syncthreads();
                fill_offset = read_offset;
                read_offset = read_offset == (STAGES - 1) * STAGE ? 0 : read_offset + STAGE;
            }
            read_slice((step + 1) % 2, read_offset, (step + 1) % STEPS);
            if (step == 0) fill_next(fill_offset);
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
                for (int j = 0; j < WN / 8; ++j) {
                    // To and fro, so that neighbouring products share a register of B at the turns.
                    const int there = i % 2 ? WN / 8 - 1 - j : j;
                    const unsigned (&four)[4] = slice_b[step % 2][there / 2];
                    multiply_add(sum[i][there], slice_a[step % 2][i], four[there % 2 * 2], four[there % 2 * 2 + 1]);
                }
            }
        }
    }

    // A lane holds columns 2 q and 2 q + 1 of rows g and g + 8 of every product, with g = lane / 4, q = lane % 4.
#pragma unroll
    for (int i = 0; i < WM / 16 * 2; ++i) {
        const long long row = row0 + warp_row + i * 8 + lane / 4;
#pragma unroll
        for (int j = 0; j < WN / 8; j += 4) {
            unsigned words[4];
#pragma unroll
            for (int l = 0; l < 4; ++l) {
                const float (&four)[4] = sum[i / 2][j + l];
                from_floats(four[i % 2 * 2], four[i % 2 * 2 + 1], reinterpret_cast<SCALAR*>(&words[l]));
            }
            transpose_quad(words, lane);  // now words are 8 neighbours of product j + lane % 4
            const long long column = column0 + warp_column + (j + lane % 4) * 8;
            if (row >= m || column >= n) continue;
            SCALAR* to = c + row * n + column;
            if constexpr (CHUNKS) {
                *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
            } else {
#pragma unroll
                for (int l = 0; l < 8; ++l) {
                    const auto bits = static_cast<unsigned short>(words[l / 2] >> l % 2 * 16);
                    if (column + l < n) reinterpret_cast<unsigned short*>(to)[l] = bits;
                }
            }
        }
    }
}

}  // namespace

// Named by the tile of a block and its step along k; `_any` takes every size and alignment.
#define MATMUL(NAME, WARPS_M, WARPS_N, WM, WN, BK, STAGES, CHUNKS)                                            \
    extern "C" __global__ void __launch_bounds__(WARPS_M * WARPS_N * 32, 1)                                   \
        NAME(const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, long long m, \
             long long n, long long k) {                                                                      \
        multiply<WARPS_M, WARPS_N, WM, WN, BK, STAGES, CHUNKS>(a, b, c, m, n, static_cast<int>(k));           \
    }

MATMUL(matmul_128x256x64, 2, 4, 64, 64, 64, 3, true)
MATMUL(matmul_128x256x32, 2, 4, 64, 64, 32, 4, true)
MATMUL(matmul_128x128x32, 2, 2, 64, 64, 32, 4, true)
MATMUL(matmul_64x64x64, 2, 2, 32, 32, 64, 3, true)
MATMUL(matmul_64x64x64_any, 2, 2, 32, 32, 64, 3, false)

#endif

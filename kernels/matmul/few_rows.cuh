// C = A B where A has few rows: B is read once, and never waits for a tile of C to be filled.
//
// Included by cuda_ffma.cu. A block sums 128 columns of C over a slice of k, eight warps taking AT_ONCE of k in turn; a
// lane holds 4 columns of all rows. B goes straight into registers, the next AT_ONCE of k on their way while these are
// multiplied; A's piece lies in shared memory with the rows of one k beside each other, so that a load of 16 bytes, the
// same for all lanes, feeds 16 FMAs. Warps meet in shared memory, slices in device memory: the block of the last slice
// adds the others in order. It has started after them, so that they never wait for it.
#pragma once

#include "shared/common.cuh"
#include "shared/overlap.cuh"

namespace few_rows {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr int COLUMNS = 4;  // of a lane
constexpr int TILE = WARP * COLUMNS;

using Flag = unsigned long long;

template <int ROWS>
struct Sizes {
    static constexpr int BLOCKS = ROWS > 8 ? 1 : 2;              // of a multiprocessor, which have so many registers
    static constexpr int AT_ONCE = ROWS == 8 ? 4 : 8;            // of k, by a warp
    static constexpr int STEP = WARPS * AT_ONCE;                 // by a block
    static constexpr int PIECE = ROWS > 4 ? 8192 / ROWS : 2048;  // of k, for which A lies in shared memory
    static constexpr int MEETING = WARPS / 2 * ROWS * TILE;      // floats, where warps meet
    static constexpr int FLOATS = PIECE * ROWS > MEETING ? PIECE * ROWS : MEETING;
    static_assert(PIECE % STEP == 0);
};

// Where a lane's columns lie in a tile: side by side, or in steps of a warp where rows of B are not of whole 16 bytes.
template <bool VECTORS>
__device__ __forceinline__ int column_of(int lane, int i) {
    return VECTORS ? lane * COLUMNS + i : i * WARP + lane;
}

struct alignas(COLUMNS * sizeof(SCALAR)) Four {
    SCALAR element[COLUMNS];
};

// The lane's columns of one row of B, zeros beyond its end.
template <bool VECTORS>
__device__ __forceinline__ void read_b(
    float (&to)[COLUMNS], const SCALAR* row, long long column0, int lane, long long n
) {
    if constexpr (VECTORS) {
        const long long column = column0 + lane * COLUMNS;
        if (column < n) {
            const Four four = *reinterpret_cast<const Four*>(row + column);
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i) to[i] = static_cast<float>(four.element[i]);
        } else {
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i) to[i] = 0.0f;
        }
    } else {
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) {
            const long long column = column0 + column_of<VECTORS>(lane, i);
            to[i] = column < n ? static_cast<float>(row[column]) : 0.0f;
        }
    }
}

// All warps' sums to warp 0, by halves.
template <int ROWS>
__device__ __forceinline__ void meet(float (&sum)[ROWS][COLUMNS], float* shared, int warp, int lane) {
#pragma unroll
    for (int half = WARPS / 2; half > 0; half /= 2) {
        __syncthreads();
        float4* const at = reinterpret_cast<float4*>(shared) + warp % half * ROWS * WARP + lane;
        if (warp >= half && warp < 2 * half) {
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                at[row * WARP] = make_float4(sum[row][0], sum[row][1], sum[row][2], sum[row][3]);
            }
        }
        __syncthreads();
        if (warp < half) {
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                const float4 four = at[row * WARP];
                sum[row][0] += four.x, sum[row][1] += four.y, sum[row][2] += four.z, sum[row][3] += four.w;
            }
        }
    }
}

// Sums of one slice of a tile for the block of the last slice, which adds them up: by warp 0.
template <int ROWS>
__device__ __forceinline__ bool gather(
    float (&sum)[ROWS][COLUMNS], float4* parts, Flag* flags, Flag ticket, long long tile, int slice, int slices,
    int lane
) {
    const auto part = [&](int of) { return parts + (tile * slices + of) * (ROWS * WARP) + lane; };
    if (slice < slices - 1) {
        float4* const to = part(slice);
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            __stcg(to + row * WARP, make_float4(sum[row][0], sum[row][1], sum[row][2], sum[row][3]));
        }
        __syncwarp();
        __threadfence();
        if (lane == 0) atomicExch(flags + tile * slices + slice, ticket);
        return false;
    }
    float total[ROWS][COLUMNS] = {};
    for (int other = 0; other < slices - 1; ++other) {
        Flag* const flag = flags + tile * slices + other;
        if (lane == 0) {
            while (atomicAdd(flag, 0ull) != ticket) {
            }
            *flag = 0;  // for another launch with this ticket, of a graph
        }
        __syncwarp();
        __threadfence();
        const float4* const from = part(other);
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const float4 four = __ldcg(from + row * WARP);
            total[row][0] += four.x, total[row][1] += four.y, total[row][2] += four.z, total[row][3] += four.w;
        }
    }
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) sum[row][i] = total[row][i] + sum[row][i];
    }
    return true;
}

// Blocks go slice by slice, those of the last one at the end; `slice` of k is a multiple of STEP.
template <int ROWS, bool VECTORS>
__device__ __forceinline__ void multiply(
    const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, float4* parts, Flag* flags,
    Flag ticket, int m, long long n, int k, int slice, int slices
) {
    using Size = Sizes<ROWS>;
    constexpr int AT_ONCE = Size::AT_ONCE, STEP = Size::STEP, PIECE = Size::PIECE;
    __shared__ __align__(16) float shared[Size::FLOATS];
    const int thread = threadIdx.x, warp = thread / WARP, lane = thread % WARP;
    const unsigned tiles = gridDim.x / slices;
    const unsigned tile = blockIdx.x % tiles;
    const int which = blockIdx.x / tiles;
    const long long column0 = static_cast<long long>(tile) * TILE;
    const int first = which * slice, last = min(first + slice, k);

    float sum[ROWS][COLUMNS] = {}, now[AT_ONCE][COLUMNS], next[AT_ONCE][COLUMNS];
    const auto read = [&](int at) {
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (at + i < last) {
                read_b<VECTORS>(next[i], b + (at + i) * n, column0, lane, n);
            } else {
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) next[i][j] = 0.0f;
            }
        }
    };
    int at = first + warp * AT_ONCE;
    start_early();
    read(at);
    for (int piece = first; piece < last; piece += PIECE) {
        const int end = min(piece + PIECE, last), whole = (end - piece + STEP - 1) / STEP * STEP;
        __syncthreads();
        for (int i = thread; i < whole * ROWS; i += THREADS) {
            const int row = i % ROWS, from = piece + i / ROWS;
            shared[i] = row < m && from < end ? static_cast<float>(a[static_cast<long long>(row) * k + from]) : 0.0f;
        }
        __syncthreads();
        for (; at < end; at += STEP) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) now[i][j] = next[i][j];
            }
            read(at + STEP);
            const float4* const of_a = reinterpret_cast<const float4*>(shared + (at - piece) * ROWS);
#pragma unroll
            for (int i = 0; i < AT_ONCE * ROWS; i += 4) {
                const float4 four = of_a[i / 4];
                const float each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
                for (int l = 0; l < 4; ++l) {
#pragma unroll
                    for (int j = 0; j < COLUMNS; ++j) sum[(i + l) % ROWS][j] += each[l] * now[(i + l) / ROWS][j];
                }
            }
        }
    }
    meet<ROWS>(sum, shared, warp, lane);
    if (warp > 0 || (slices > 1 && !gather<ROWS>(sum, parts, flags, ticket, tile, which, slices, lane))) return;
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
        if (row >= m) break;
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) {
            const long long column = column0 + column_of<VECTORS>(lane, i);
            if (column < n) c[row * n + column] = static_cast<SCALAR>(sum[row][i]);
        }
    }
}

}  // namespace few_rows

// `_any` takes every n and alignment.
#define FEW_ROWS(NAME, ROWS, VECTORS)                                                                              \
    extern "C" __global__ void __launch_bounds__(few_rows::THREADS, few_rows::Sizes<ROWS>::BLOCKS)                                             \
        NAME(const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, float4* parts,    \
             few_rows::Flag* flags, few_rows::Flag ticket, long long m, long long n, long long k, long long slice, \
             long long slices) {                                                                                   \
        few_rows::multiply<ROWS, VECTORS>(a, b, c, parts, flags, ticket, static_cast<int>(m), n,                   \
                                          static_cast<int>(k), static_cast<int>(slice), static_cast<int>(slices)); \
    }
FEW_ROWS(few_rows_1, 1, true)
FEW_ROWS(few_rows_2, 2, true)
FEW_ROWS(few_rows_4, 4, true)
FEW_ROWS(few_rows_8, 8, true)
FEW_ROWS(few_rows_16, 16, true)
FEW_ROWS(few_rows_1_any, 1, false)
FEW_ROWS(few_rows_2_any, 2, false)
FEW_ROWS(few_rows_4_any, 4, false)
FEW_ROWS(few_rows_8_any, 8, false)
FEW_ROWS(few_rows_16_any, 16, false)

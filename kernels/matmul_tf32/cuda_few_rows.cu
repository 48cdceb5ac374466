// C = A B^T where A has few rows, on the FMA units: float32, of which nothing is cut off.
//
// Formula: C[i, j] = sum over l of A[i, l] B[j, l]; 2 m n k FLOP, 4 n k bytes of B, beside which all others are few.
// Mapping: a warp sums R rows of B with all rows of A over a slice of k; its lanes hold neighbours along k. The next 128
//   elements of each row of B are on their way into registers while these are multiplied; a piece of A lies in shared
//   memory, where each load feeds R FMAs. Lanes meet by shuffles, slices in memory: the warp of the last slice adds the
//   others in order. It has started after them, so that they never wait for it.
// Idea: with so few rows reading B takes longest. The tensor memory accelerator wants rows of whole 16 bytes, so that
//   where k is no multiple of 4 cuda_wgmma copies B before it reads it: three times the bytes.

#ifdef SCALAR_IS_FLOAT32

#include "shared/common.cuh"
#include "shared/overlap.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr int R = 4;  // rows of B of a warp

using Flag = unsigned long long;

// Of each of `ROWS` x R sums of a warp's lanes the total, number i in lane i % WARP.
template <int ROWS, int KEPT>
__device__ __forceinline__ void meet(const float (&sum)[ROWS][R], float (&kept)[KEPT], int lane) {
#pragma unroll
    for (int i = 0; i < ROWS * R; ++i) {
        float total = sum[i / R][i % R];
#pragma unroll
        for (int other = WARP / 2; other > 0; other /= 2) total += __shfl_xor_sync(WHOLE_WARP, total, other);
        if (lane == i % WARP) kept[i / WARP] = total;
    }
}

// AT_ONCE elements of each row of B a lane reads at once.
template <int ROWS, int AT_ONCE>
__device__ __forceinline__ void multiply(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, float* parts, Flag* flags,
    Flag ticket, int m, long long n, int k, int slice, int slices
) {
    constexpr int STEP = AT_ONCE * WARP;
    constexpr int PIECE = ROWS > 4 ? 8192 / ROWS : 2048;  // of k
    constexpr int KEPT = (ROWS * R + WARP - 1) / WARP;
    static_assert(PIECE % STEP == 0);
    __shared__ float of_a[ROWS][PIECE];
    const int thread = threadIdx.x, warp = thread / WARP, lane = thread % WARP;
    const unsigned tiles = gridDim.x / slices;
    const long long unit = static_cast<long long>(blockIdx.x % tiles) * WARPS + warp;  // R rows of B
    const int which = blockIdx.x / tiles;
    const int first = which * slice, last = min(first + slice, k);
    const float* rows[R];
#pragma unroll
    for (int i = 0; i < R; ++i) rows[i] = b + min(unit * R + i, n - 1) * k;

    float sum[ROWS][R] = {}, now[R][AT_ONCE], next[R][AT_ONCE];
    const auto read = [&](int at) {
#pragma unroll
        for (int i = 0; i < R; ++i) {
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j) {
                const int from = at + j * WARP + lane;
                next[i][j] = from < last ? __ldg(rows[i] + from) : 0.0f;
            }
        }
    };
    wait_for_previous();
    let_next_start();
    read(first);
    for (int piece = first; piece < last; piece += PIECE) {
        const int end = min(piece + PIECE, last), whole = (end - piece + STEP - 1) / STEP * STEP;
        __syncthreads();
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            for (int i = thread; i < whole; i += THREADS) {
                const bool inside = row < m && piece + i < end;
                of_a[row][i] = inside ? a[static_cast<long long>(row) * k + piece + i] : 0.0f;
            }
        }
        __syncthreads();
        for (int at = piece; at < end; at += STEP) {
#pragma unroll
            for (int i = 0; i < R; ++i) {
#pragma unroll
                for (int j = 0; j < AT_ONCE; ++j) now[i][j] = next[i][j];
            }
            read(at + STEP);
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j) {
#pragma unroll
                for (int row = 0; row < ROWS; ++row) {
                    const float x = of_a[row][at - piece + j * WARP + lane];
#pragma unroll
                    for (int i = 0; i < R; ++i) sum[row][i] += x * now[i][j];
                }
            }
        }
    }
    float kept[KEPT] = {};
    meet<ROWS>(sum, kept, lane);
    if (slices > 1) {
        const auto place_of = [&](int of) { return (static_cast<long long>(of) * tiles * WARPS + unit); };
        const auto part_of = [&](int of) { return parts + place_of(of) * (KEPT * WARP) + lane; };
        if (which < slices - 1) {
#pragma unroll
            for (int i = 0; i < KEPT; ++i) __stcg(part_of(which) + i * WARP, kept[i]);
            __threadfence();
            __syncwarp();
            if (lane == 0) atomicExch(flags + place_of(which), ticket);
            return;
        }
        float total[KEPT] = {};
        for (int other = 0; other < which; ++other) {
            Flag* const flag = flags + place_of(other);
            if (lane == 0) {
                while (atomicAdd(flag, 0ull) != ticket) {
                }
                *flag = 0;  // for another launch with this ticket, of a graph
            }
            __syncwarp();
            __threadfence();
#pragma unroll
            for (int i = 0; i < KEPT; ++i) total[i] += __ldcg(part_of(other) + i * WARP);
        }
#pragma unroll
        for (int i = 0; i < KEPT; ++i) kept[i] += total[i];
    }
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const int number = i * WARP + lane, row = number / R;
        const long long column = unit * R + number % R;
        if (row < m && column < n) c[row * n + column] = kept[i];
    }
}

}  // namespace

#define FEW_ROWS(NAME, ROWS, AT_ONCE)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                      \
        NAME(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, float* parts,       \
             Flag* flags, Flag ticket, long long m, long long n, long long k, long long slice, long long slices) { \
        multiply<ROWS, AT_ONCE>(a, b, c, parts, flags, ticket, static_cast<int>(m), n, static_cast<int>(k),                \
                       static_cast<int>(slice), static_cast<int>(slices));                                        \
    }
FEW_ROWS(few_rows_1, 1, 8)
FEW_ROWS(few_rows_2, 2, 8)
FEW_ROWS(few_rows_4, 4, 8)
FEW_ROWS(few_rows_8, 8, 4)

#endif

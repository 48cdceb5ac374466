// C = X Y^T in TF32 of a long X and a Y of few rows, both from rows that begin anywhere: Y lies in shared memory, X goes from
// memory to mma.sync by registers.
//
// Formula: C[i, j] = sum over l of X[i, l] Y[j, l]; 4 (m k + n k + m n) bytes, of which most are X's.
// Mapping: a warp has 16 rows and all columns of C, so that X is read once. Of 16 of k a lane takes four elements a row, as
//   many beside each other as begin at a multiple of their size in each row; a sum does not care for the order of its terms, and Y
//   lies in the same order. What a step needs of X is under way while the one in front is multiplied. Blocks keep Y for all
//   their rows.
// Idea: direct_tf32.cuh reads X once for each 16 columns, and loose_tf32.cuh takes it through shared memory.
#pragma once

#include "shared/direct_tf32.cuh"

constexpr int NARROW_WARPS = 8;    // of a block
constexpr int NARROW_SLICES = 4;  // 16 of k each, of a step

// Where the element `i` of lane q is in a slice, of words of WIDTH elements.
template <int WIDTH>
__device__ __forceinline__ int place_in_slice(int q, int i) {
    return WIDTH == 4 ? q * 4 + i : WIDTH == 2 ? i / 2 * 8 + q * 2 + i % 2 : i * 4 + q;
}

// A lane's four elements of a slice, zeros where a row ends.
template <int WIDTH>
__device__ __forceinline__ void load_slice(unsigned (&to)[4], const float* from, int left) {
    if constexpr (WIDTH == 4) load_four<true>(to, from, left);
    else if constexpr (WIDTH == 1) load_four<false>(to, from, left);
    else {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            asm volatile("{\n.reg .pred there;\nsetp.gt.s32 there, %3, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\n"
                         "@there ld.global.nc.v2.b32 {%0, %1}, [%2];\n}"
                         : "=&r"(to[i * 2]), "=&r"(to[i * 2 + 1])
                         : "l"(from + i * 8), "r"(left - i * 8));
        }
    }
}

template <int WIDTH>
struct NarrowStep {
    unsigned x[NARROW_SLICES][2][4];

    __device__ __forceinline__ void load(const float* const (&rows)[2], int at, int left) {
#pragma unroll
        for (int slice = 0; slice < NARROW_SLICES; ++slice) {
#pragma unroll
            for (int i = 0; i < 2; ++i) load_slice<WIDTH>(x[slice][i], rows[i] + at + slice * 16, left - at - slice * 16);
        }
    }

    // `y` is the lane's place in the first row of the step's first slice.
    template <int TILES>
    __device__ __forceinline__ void multiply(float (&sum)[TILES][4], const float* y, int pitch, int left) const {
#pragma unroll
        for (int slice = 0; slice < NARROW_SLICES; ++slice) {
            if (slice * 16 >= left) break;
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                const uint4 of_y = *reinterpret_cast<const uint4*>(y + tile * 8 * pitch + slice * 16);
                const auto& of_x = x[slice];
                const unsigned first[4] = {of_x[0][0], of_x[1][0], of_x[0][1], of_x[1][1]};
                const unsigned second[4] = {of_x[0][2], of_x[1][2], of_x[0][3], of_x[1][3]};
                multiply_add(sum[tile], first, of_y.x, of_y.y);
                multiply_add(sum[tile], second, of_y.z, of_y.w);
            }
        }
    }
};

// Y (n x k) in rows of `pitch` floats, zeros beyond it.
template <int WIDTH, int TILES>
__device__ __forceinline__ void keep_y(const float* y, float* kept, int n, int k, int pitch, int slices) {
    const int words = slices * 16 / WIDTH;  // of a row
#pragma unroll 8
    for (int i = threadIdx.x; i < TILES * 8 * words; i += NARROW_WARPS * WARP) {
        const int row = i / words, word = i % words, at = word * WIDTH;
        const bool is_there = row < n && at < k;
        const float* const from = y + (is_there ? static_cast<long long>(row) * k + at : 0);
        float elements[WIDTH];
        if constexpr (WIDTH == 4) reinterpret_cast<float4&>(elements) = __ldg(reinterpret_cast<const float4*>(from));
        else if constexpr (WIDTH == 2) reinterpret_cast<float2&>(elements) = __ldg(reinterpret_cast<const float2*>(from));
        else elements[0] = __ldg(from);
        const int in_slice = at % 16;
        const int q = WIDTH == 4 ? in_slice / 4 : WIDTH == 2 ? in_slice % 8 / 2 : in_slice % 4;
        const int first = WIDTH == 4 ? 0 : WIDTH == 2 ? in_slice / 8 * 2 : in_slice / 4;
        float* const to = kept + row * pitch + at / 16 * 16 + q * 4 + first;
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) to[j] = is_there ? elements[j] : 0.0f;
    }
}

// TURNED: C is n x m.
template <int WIDTH, int TILES, bool TURNED>
__device__ __forceinline__ void multiply_narrow(
    const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ c, int m, int n, int k
) {
    extern __shared__ __align__(16) float kept[];
    const int slices = (k + 15) / 16, pitch = slices * 16 + (slices % 2 ? 0 : 16);  // 8 lanes' words fall in different banks
    const int warp = threadIdx.x / WARP, g = threadIdx.x % WARP / 4, q = threadIdx.x % 4;
    const int first = place_in_slice<WIDTH>(q, 0), left = k - first;
    wait_for_previous();
    let_next_start();
    const int between = gridDim.x * NARROW_WARPS * 16;
    int row0 = (blockIdx.x * NARROW_WARPS + warp) * 16;
    const float* rows[2];
    const auto begin_rows = [&] {
#pragma unroll
        for (int i = 0; i < 2; ++i) rows[i] = x + static_cast<long long>(min(row0 + i * 8 + g, m - 1)) * k + first;
    };
    NarrowStep<WIDTH> even, odd;
    begin_rows();
    even.load(rows, 0, left);
    keep_y<WIDTH, TILES>(y, kept, n, k, pitch, slices);
    __syncthreads();
    const float* const own = kept + g * pitch + q * 4;
    constexpr int STEP = NARROW_SLICES * 16;
    while (row0 < m) {
        float sum[TILES][4] = {};
        const int row = row0 + g;
        int at = 0;
        // No step is moved to where the other one was: that would wait for it.
        const auto multiply = [&](const NarrowStep<WIDTH>& step, NarrowStep<WIDTH>& next) {
            if (at + STEP < k) next.load(rows, at + STEP, left);
            step.multiply(sum, own + at, pitch, k - at);
            at += STEP;
        };
        while (true) {
            multiply(even, odd);
            if (at >= k) break;
            multiply(odd, even);
            if (at >= k) break;
        }
        row0 += between;
        if (row0 < m) {
            begin_rows();
            even.load(rows, 0, left);
        }
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int column = tile * 8 + q * 2;
                if constexpr (!TURNED) {
                    store_two(sum[tile] + i * 2, c, row + i * 8, column, m, n);
                } else {
#pragma unroll
                    for (int j = 0; j < 2; ++j) {
                        if (row + i * 8 < m && column + j < n)
                            c[static_cast<long long>(column + j) * m + row + i * 8] = sum[tile][i * 2 + j];
                    }
                }
            }
        }
    }
}

#define NARROW_KERNEL(WIDTH, TILES, TURNED, BLOCKS, NAME)                                                         \
    extern "C" __global__ void __launch_bounds__(NARROW_WARPS * WARP, BLOCKS)                                     \
        NAME(const float* x, const float* y, float* c, long long m, long long n, long long k) {                   \
        multiply_narrow<WIDTH, TILES, TURNED>(                                                                    \
            x, y, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));                              \
    }
#define NARROW_KERNELS_OF(TILES, BLOCKS)                                \
    NARROW_KERNEL(1, TILES, false, BLOCKS, narrow_1_##TILES)            \
    NARROW_KERNEL(2, TILES, false, BLOCKS, narrow_2_##TILES)            \
    NARROW_KERNEL(4, TILES, false, BLOCKS, narrow_4_##TILES)            \
    NARROW_KERNEL(1, TILES, true, BLOCKS, narrow_1_##TILES##_turned)    \
    NARROW_KERNEL(2, TILES, true, BLOCKS, narrow_2_##TILES##_turned)    \
    NARROW_KERNEL(4, TILES, true, BLOCKS, narrow_4_##TILES##_turned)
#define NARROW_KERNELS      \
    NARROW_KERNELS_OF(2, 2) \
    NARROW_KERNELS_OF(4, 2) \
    NARROW_KERNELS_OF(5, 2) \
    NARROW_KERNELS_OF(6, 2) \
    NARROW_KERNELS_OF(8, 1) \
    NARROW_KERNELS_OF(12, 1)

// Rows times 4-bit weights on the tensor cores, for one row of x as for many (sm_80 and later).
//
// Formula: y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]; 2 m n k FLOP,
//   n k / 2 + n k s / group + (m k + m n) s bytes.
// Mapping: y is computed transposed, the weights being the 16 x 16 operand of mma.m16n8k16 and eight rows of x the
//   16 x 8 one. A block owns 16 TILES rows of weights and up to 8 BATCHES rows of x; its warps share out k and add
//   up at the end. In a step a lane loads 16 packed bytes of two rows, 32 weights each, and makes the operands of
//   8 products of them; DEPTH steps are under way. The four lanes of a row read 64 bytes side by side: a group of 128.
// Idea: a sum does not care for the order of its terms, so k is permuted to what a lane has loaded, for x as for the
//   weights, and no weight changes its lane (the idea of Marlin, arXiv:2408.11743, with no repacking). A code under
//   the exponent of 1024 (float16) or 128 (bfloat16) is that plus code + 8: of two weights, one PRMT and one
//   subtraction (after Kim et al., arXiv:2211.10017). At one row of x seven eighths of every product are thrown
//   away, and a weight still takes little more than two issue slots, of four at the rate of an H200's memory.
#include "matmul_w4a16/fragments.cuh"
#include "matmul_w4a16/plain.cuh"

#if __CUDA_ARCH__ >= 800

// What a lane loads of two rows of weights, 8 apart, in a step.
struct Weights {
    uint4 words[2];
    SCALAR scale[2];  // converted when it is used: the conversion would wait for it
};

// WHOLE: a step lies in one group, and a sum is scaled once a step. Else every weight is, and rounded to 16 bits.
template <int TILES, int BATCHES, int WARPS, int DEPTH, bool WHOLE>
__device__ __forceinline__ void multiply(
    const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales,
    SCALAR* __restrict__ y, long long m, long long n, int row_bytes, int log2_half
) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int line = lane / 4, place = lane % 4 * 16;  // a row of each operand, and the packed bytes in a step
    const int batches = static_cast<int>((m + 8 * BATCHES - 1) / (8 * BATCHES));
    const long long first_row = static_cast<long long>(blockIdx.x / batches) * (16 * TILES);
    const long long first_x = static_cast<long long>(blockIdx.x % batches) * (8 * BATCHES);

    // Steps of this warp: from `step` to `end`.
    const int steps = (row_bytes + STEP - 1) / STEP, share = (steps + WARPS - 1) / WARPS;
    const int end = min((warp + 1) * share, steps);
    int step = warp * share;
    // The last step of a row may lie beyond it for some lanes; a WHOLE one does not.
    const auto is_inside = [&](int at) { return WHOLE || at < row_bytes; };

    // Rows past the last one read the last one, here and in x: their sums are not stored.
    const unsigned char* rows[TILES][2];
    const SCALAR* row_scales[TILES][2];
    const SCALAR* columns[BATCHES];
#pragma unroll
    for (int i = 0; i < TILES * 2; ++i) {
        const long long row = min(first_row + i * 8 + line, n - 1);
        rows[i / 2][i % 2] = packed + row * row_bytes + step * STEP + place;
        row_scales[i / 2][i % 2] = scales + row * (row_bytes >> log2_half);
        keep(rows[i / 2][i % 2]);
        keep(row_scales[i / 2][i % 2]);
    }
#pragma unroll
    for (int i = 0; i < BATCHES; ++i) {
        columns[i] = x + min(first_x + i * 8 + line, m - 1) * row_bytes * 2;
        keep(columns[i]);
    }
    // Not known to be a constant, or it would be moved to a register wherever it is needed.
    const unsigned exponent = EXPONENT + (row_bytes >> 31);

    const auto load_weights = [&](Weights (&to)[TILES], int at) {
#pragma unroll
        for (int i = 0; i < TILES * 2; ++i) {
            Weights& two = to[i / 2];
            two.scale[i % 2] = SCALAR(0.0f);
            if (is_inside(at)) {
                two.words[i % 2] = __ldg(reinterpret_cast<const uint4*>(rows[i / 2][i % 2]));
                two.scale[i % 2] = __ldg(row_scales[i / 2][i % 2] + (at >> log2_half));
            }
            rows[i / 2][i % 2] += STEP;
        }
    };

    float sum[TILES][BATCHES][4] = {};
    const auto multiply_step = [&](const Weights (&from)[TILES], int at) {
        // Low nibbles are weights of the first half of a group, high nibbles of the second.
        uint4 b[2][BATCHES][2] = {};
        const int column = at + (at >> log2_half << log2_half);
#pragma unroll
        for (int i = 0; i < BATCHES; ++i) {
            if (!is_inside(at)) continue;
            const auto* low = reinterpret_cast<const uint4*>(columns[i] + column);
            const auto* high = reinterpret_cast<const uint4*>(columns[i] + column + (1 << log2_half));
            b[0][i][0] = __ldg(low);
            b[0][i][1] = __ldg(low + 1);
            b[1][i][0] = __ldg(high);
            b[1][i][1] = __ldg(high + 1);
        }
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
            float part[BATCHES][4] = {};
            auto& to = WHOLE ? part : sum[t];
#pragma unroll
            for (int i = 0; i < 2 * WORDS; ++i) {
                const int nibble = i / WORDS, w = i % WORDS;
                Pair a[4];
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const unsigned codes = word_of(from[t].words[h], w) >> 4 * nibble & 0x0f0f0f0fu;
                    a[h] = weights_of<0>(codes, exponent);
                    a[h + 2] = weights_of<2>(codes, exponent);
                    if (WHOLE) continue;
                    a[h] = __hmul2(a[h], both(to_float(from[t].scale[h])));
                    a[h + 2] = __hmul2(a[h + 2], both(to_float(from[t].scale[h])));
                }
#pragma unroll
                for (int j = 0; j < BATCHES; ++j) {
                    const uint4& four = b[nibble][j][w / 2];
                    multiply_add(to[j], a, word_of(four, w % 2 * 2), word_of(four, w % 2 * 2 + 1));
                }
            }
            if (!WHOLE) continue;
#pragma unroll
            for (int i = 0; i < BATCHES * 4; ++i) {
                float& total = sum[t][i / 4][i % 4];
                total = fmaf(part[i / 4][i % 4], to_float(from[t].scale[i % 4 / 2]), total);
            }
        }
    };

    Weights weights[DEPTH][TILES] = {};
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        if (step + d < end) load_weights(weights[d], (step + d) * STEP + place);
    }
    while (step < end) {
#pragma unroll
        for (int d = 0; d < DEPTH; ++d, ++step) {
            if (step < end) multiply_step(weights[d], step * STEP + place);
            if (step + DEPTH < end) load_weights(weights[d], (step + DEPTH) * STEP + place);
        }
    }

    // A lane holds columns 2 p and 2 p + 1, p = lane % 4, of rows `line` and `line` + 8 of each sum.
    __shared__ float parts[WARPS][BATCHES * 8][16];
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
        if (t) __syncthreads();
#pragma unroll
        for (int i = 0; i < BATCHES; ++i) {
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                parts[warp][i * 8 + lane % 4 * 2 + c % 2][line + c / 2 * 8] = sum[t][i][c];
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < BATCHES * 8 * 16; i += WARPS * WARP) {
            float total = 0.0f;
#pragma unroll
            for (int w = 0; w < WARPS; ++w) total += parts[w][i / 16][i % 16];
            const long long row = first_row + t * 16 + i % 16, x_row = first_x + i / 16;
            if (row < n && x_row < m) from_float(total, y[x_row * n + row]);
        }
    }
}

// Named by the rows of weights and of x in a block; `_scaled` for groups of 32 and 64.
#define KERNEL(NAME, TILES, BATCHES, WARPS, DEPTH, WHOLE)                                                        \
    extern "C" __global__ void __launch_bounds__(WARPS * WARP) NAME(                                             \
        const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales, \
        SCALAR* __restrict__ y, long long m, long long n, long long row_bytes, long long log2_half) {            \
        multiply<TILES, BATCHES, WARPS, DEPTH, WHOLE>(x, packed, scales, y, m, n, static_cast<int>(row_bytes),   \
                                                      static_cast<int>(log2_half));                              \
    }
#define KERNELS(ROWS, COLUMNS, WARPS, DEPTH)                                                 \
    KERNEL(multiply_##ROWS##x##COLUMNS, ROWS / 16, COLUMNS / 8, WARPS, DEPTH, true)          \
    KERNEL(multiply_##ROWS##x##COLUMNS##_scaled, ROWS / 16, COLUMNS / 8, WARPS, DEPTH, false)

// As in cuda_mma.py.
KERNELS(16, 8, 8, 2)
KERNELS(32, 16, 8, 1)
KERNELS(32, 32, 8, 1)

// Groups that are no power of two from 32 on, and tensors that are not aligned.
extern "C" __global__ void __launch_bounds__(256) multiply_any(
    const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales,
    SCALAR* __restrict__ y, long long m, long long n, long long groups, long long half
) {
    multiply_plainly(x, packed, scales, y, m, n, groups, half);
}

#endif

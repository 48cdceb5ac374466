// Few rows times many 4-bit weights: tensor cores, fed by TMA (sm_90 to sm_110).
//
// Formula: y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]; 2 m n k FLOP,
//   n k / 2 + n k s / group + (m k + m n) s bytes.
// Mapping: y is computed transposed, 16 rows of weights being the 16 x 16 operand of mma.m16n8k16 and up to 8 rows of x
//   the 16 x 8 one. Blocks stay, and take every gridDim-th tile of 16 rows. A tile is cut along k into boxes of 256
//   bytes a row; a warp takes every WARPS-th and has `stages` of them under way, across the end of a tile too. The
//   warps add up when a tile is done. x lies in shared memory, in the order of its use.
// Idea: a memory as fast as an H200's, which answers after most of a microsecond, wants 30 KB under way in each
//   multiprocessor at all times, more than registers hold; a box costs one instruction of one lane. For the operands see fragments.cuh.
//   To begin with takes longer than in cuda_mma_async, so fewer weights, and what has no groups of 128, go its way.
//   Part of it is hidden: blocks start while the kernel in front ends.
#include "matmul_w4a16/stages.cuh"
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

#if __CUDA_ARCH__ >= 900

constexpr int ROWS = 16;    // of weights in a tile
constexpr int COLUMNS = 8;  // rows of x

// As in cuda_tma.py.
constexpr int WARPS = 8;
constexpr int BLOCKS = 2;  // on a multiprocessor
constexpr int BOX = 256;   // bytes of a row
constexpr int MOST_STAGES = 6;

constexpr int THREADS = WARPS * WARP;
constexpr int PACE = BOX / STEP;             // steps in a box
constexpr int BOX_CHUNKS = ROWS * BOX / 16;  // of 16 bytes

struct alignas(2 * PACE) Scales {
    SCALAR of[PACE];
};

#if __CUDA_ARCH__ < 1200  // whose multiprocessors have 100 KiB

// Groups of 128, a step of a row each, and whole boxes. Starts while the kernel in front may still write x and
// scales: no __restrict__, which would promise that nobody does.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) stream(
    const __grid_constant__ CUtensorMap packed, const SCALAR* x, const SCALAR* scales, SCALAR* y, long long m,
    long long n, long long row_bytes, long long stage_count
) {
    let_next_start();
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int line = lane / 4;  // a row of each operand; lane % 4 is a position in a step
    const int steps = static_cast<int>(row_bytes / STEP), boxes = steps / PACE, stages = static_cast<int>(stage_count);
    const long long stride = static_cast<long long>(gridDim.x) * ROWS;
    long long first_row = static_cast<long long>(blockIdx.x) * ROWS;

    extern __shared__ __align__(1024) uint4 memory[];
    uint4* const ring = memory + warp * stages * BOX_CHUNKS;
    uint4* const chunks = memory + WARPS * stages * BOX_CHUNKS;
    const int row_chunks = steps * 16 + 4;  // of x: 4 more, so that two lines lie in different banks

    __shared__ Barrier barriers[WARPS][MOST_STAGES];
    if (lane == 0) {
        for (int i = 0; i < stages; ++i) init_barrier(&barriers[warp][i], 1);
        publish_barriers();
    }
    __syncwarp();

    // Boxes of this warp: every WARPS-th of a tile, then those of the next tile.
    long long load_row = warp < boxes ? first_row : n;
    int load_box = warp, load_stage = 0;
    const auto load_next = [&] {
        if (load_row >= n) return;
        if (lane == 0) {
            Barrier* const barrier = &barriers[warp][load_stage];
            arrive_and_expect(barrier, ROWS * BOX);
            copy_box(ring + load_stage * BOX_CHUNKS, packed, load_box * BOX, static_cast<int>(load_row), barrier);
        }
        if (++load_stage == stages) load_stage = 0;
        load_box += WARPS;
        if (load_box >= boxes) {
            load_box = warp;
            load_row += stride;
        }
    };
    wait_for_previous();  // in every thread: what it writes in y may still be read, too
    for (int i = 0; i < stages; ++i) load_next();

    // Scales, a box ahead. Rows past the last one take the last one's.
    Scales next[2], scale[2];
    const SCALAR* row_scales[2];
    const auto find_scales = [&](long long tile) {
#pragma unroll
        for (int h = 0; h < 2; ++h) row_scales[h] = scales + min(tile + h * 8 + line, n - 1) * steps;
    };
    const auto load_scales = [&](int box) {
#pragma unroll
        for (int h = 0; h < 2; ++h) next[h] = *reinterpret_cast<const Scales*>(row_scales[h] + box * PACE);
    };
    find_scales(first_row);
    if (warp < boxes) load_scales(warp);

    // For each step of a row of x: the two chunks of each half of its group, for each of four lanes.
    for (int i = 0; i < m; ++i) {
        const auto* const row = reinterpret_cast<const uint4*>(x) + i * (steps * 16);
        for (int c = threadIdx.x; c < steps * 16; c += THREADS) {
            chunks[i * row_chunks + c] = row[c / 8 * 8 + c % 4 * 2 + c % 8 / 4];
        }
    }
    __syncthreads();
    // Rows of x past the last one read the last one, too: their sums are not stored.
    const uint4* const columns = chunks + min(line, static_cast<int>(m) - 1) * row_chunks + lane % 4;
    // The compiler must not know that this is a constant, or it would move it to a register at every use.
    const unsigned exponent = EXPONENT + (steps >> 31);

    float sum[4] = {};
    const auto multiply_step = [&](const uint4* from, const SCALAR(&factors)[2], int step) {
        const uint4 words[2] = {from[0], from[8 * BOX / 16]};
        // Low nibbles are weights of the first half of a group, high nibbles of the second.
        uint4 b[2][2];
#pragma unroll
        for (int i = 0; i < 4; ++i) b[i / 2][i % 2] = columns[step * 16 + i * 4];
        float part[2][4] = {};  // two chains: a product waits for the one before
#pragma unroll
        for (int i = 0; i < 2 * WORDS; ++i) {
            const int nibble = i % 2, w = i / 2;
            Pair a[4];
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const unsigned codes = word_of(words[h], w) >> 4 * nibble & 0x0f0f0f0fu;
                a[h] = weights_of<0>(codes, exponent);
                a[h + 2] = weights_of<2>(codes, exponent);
            }
            const uint4& four = b[nibble][w / 2];
            multiply_add(part[nibble], a, word_of(four, w % 2 * 2), word_of(four, w % 2 * 2 + 1));
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[i] = fmaf(part[0][i] + part[1][i], to_float(factors[i / 2]), sum[i]);
    };

    // A lane holds columns 2 p and 2 p + 1, p = lane % 4, of rows `line` and `line` + 8 of a tile. Of two sets of sums
    // one may still be read while the other is written.
    __shared__ float parts[2][WARPS][COLUMNS][ROWS];
    int set = 0;
    const auto finish_tile = [&] {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            parts[set][warp][lane % 4 * 2 + c % 2][line + c / 2 * 8] = sum[c];
            sum[c] = 0.0f;
        }
        __syncthreads();
        if (threadIdx.x < m * ROWS) {
            const int row = threadIdx.x % ROWS, column = threadIdx.x / ROWS;
            float total = 0.0f;
#pragma unroll
            for (int w = 0; w < WARPS; ++w) total += parts[set][w][column][row];
            if (first_row + row < n) from_float(total, y[column * n + first_row + row]);
        }
        set ^= 1;
        first_row += stride;
    };

    int stage = 0;
    unsigned phase = 0;
    for (; first_row < n; finish_tile()) {
        for (int box = warp; box < boxes; box += WARPS) {
            wait_for(&barriers[warp][stage], phase);
            scale[0] = next[0];
            scale[1] = next[1];
            const bool is_last = box + WARPS >= boxes;
            if (is_last) find_scales(first_row + stride);
            load_scales(is_last ? warp : box + WARPS);
            const uint4* const from = ring + stage * BOX_CHUNKS + line * (BOX / 16) + lane % 4;
#pragma unroll
            for (int i = 0; i < PACE; ++i) {
                const SCALAR factors[2] = {scale[0].of[i], scale[1].of[i]};
                multiply_step(from + i * 4, factors, box * PACE + i);
            }
            __syncwarp();
            load_next();
            if (++stage == stages) {
                stage = 0;
                phase ^= 1;
            }
        }
    }
}

#endif

#include "matmul_w4a16/every_size.cuh"

#endif

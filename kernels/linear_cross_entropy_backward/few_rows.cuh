// The gradients of few rows, whose w is by far the larger part: dx reads it once, dw is written as fast as memory takes it.
//
// Mapping: of dx each block has some columns, and a part of the vocabulary. wgmma takes the columns of w, across, as its rows and
//   the rows of x as its columns, 16 to 256 of them, so that no more is computed and summed than there may be. The sums go to
//   memory in float32, and a second kernel adds the parts. dw is that of products.cuh. Of logits blocks have tiles alone: the
//   second block of a pair would have no row.
#pragma once

#include "linear_cross_entropy_backward/products.cuh"

// ---- What d is made of -----------------------------------------------------------------------------

// `make(logits, top, column0)` makes of a thread's logits, whose warpgroup's rows begin at `top`, what is to be stored in d.
template <class Make>
__device__ __forceinline__ void for_logits_of_few(
    const CUtensorMap& x, const CUtensorMap& w, const CUtensorMap& d, long long rows, long long vocab, long long hidden,
    const Make& make
) {
    const TilesOfMatrix<BLOCK_M, BLOCK_N> tiles(rows, vocab, 0);
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    using Position = TilesOfMatrix<BLOCK_M, BLOCK_N>::Position;  // NVRTC 13.0 takes a lambda with `auto` for the host's
    const auto compute = [&](Ring<CONSUMERS, BLOCK_N, STAGES>& ring, const Position& at, unsigned& stored,
                             int warpgroup) {
        const int top = at.row + warpgroup * 64;
        float logits[BLOCK_N / 2] = {};
        ring.add_products(logits, steps, warpgroup);
        make(logits, top, at.in_b);
        store_tile(logits, d, ring.boxes_of(warpgroup), stored, top, at.in_b, as_they_are);
    };
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, 1>(x, w, steps, tiles, compute);
}

// The same where tiles are few. Of a tile's columns each block of a cluster has a part, and d has whole tiles.
constexpr int SMALL_PARTS = 8, SMALL_STAGES = 8;  // as in few_rows.py
constexpr int SMALL_SUMS = 32 / SMALL_PARTS;

template <class Make>
__device__ __forceinline__ void for_parts_of_logits(
    const CUtensorMap& x, const CUtensorMap& w, SCALAR* d, long long rows, long long vocab, long long hidden,
    long long width, const Make& make
) {
    using Tiles = TilesOfMatrix<64, 64>;
    static_assert(SMALL_SUMS == 4);  // 8 columns
    const Tiles tiles(rows, vocab, 0);
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    const auto finish = [&](float (&own)[SMALL_SUMS], int part, const Tiles::Position& at, int) {
        const int column0 = at.in_b + part * 8, column = column0 + column_of(0);
        make(own, at.row, column0);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = at.row + own_row() + half * 8;
            if (row < rows) from_floats(own[half * 2], own[half * 2 + 1], d + row * width + column);
        }
    };
    by_parts_of_tile<SMALL_STAGES, SMALL_PARTS>(x, w, steps, tiles, finish);
}

// ---- dx ------------------------------------------------------------------------------------------

constexpr int FEW_COLUMNS = 128;  // of a block, as in few_rows.py

#define MULTIPLY_FEW(ROWS, COUNT, A, B, ...)                                                                        \
    __device__ __forceinline__ void multiply_few(float (&sum)[COUNT], unsigned long long a, unsigned long long b) { \
        MULTIPLY_ADD(ROWS, NAMES_##COUNT, A, B, ", 1, 0", __VA_ARGS__);                                             \
    }
MULTIPLY_FEW(16, 8, "%8", "%9", SUMS_8(0))
MULTIPLY_FEW(32, 16, "%16", "%17", SUMS_16(0))
MULTIPLY_FEW(64, 32, "%32", "%33", SUMS_32(0))
MULTIPLY_FEW(128, 64, "%64", "%65", SUMS_64(0))
MULTIPLY_FEW(256, 128, "%128", "%129", SUMS_64(0), SUMS_64(64))

// What a block has of dx: steps of the vocabulary, from a column of d and from the first row of w on. Rows of w begin
// `skipped` elements behind its column `in_w`.
struct PartOfDx {
    int first, last, in_d = 0, in_w = 0, skipped = 0;
};

// wgmma takes the columns of w as its rows, and the rows of x as its columns. Grid: blocks beside each other, then `blockIdx.y`
// for the parts.
template <int ROWS, int STAGES_HERE>
__device__ __forceinline__ void multiply_d_of_few(
    const CUtensorMap& d, const CUtensorMap& w, float* parts, int rows, int hidden, const PartOfDx& part
) {
    constexpr int WARPGROUPS = FEW_COLUMNS / 64, BYTES_W = WARPGROUPS * BAND_BYTES, STAGE = BYTES_W + ROWS * ROW;
    extern __shared__ __align__(1024) unsigned char stages[];
    Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES_HERE * STAGE);
    Barrier* const empty = full + STAGES_HERE;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES_HERE; ++i) {
            init_barrier(full + i, 1);
            init_barrier(empty + i, WARPGROUPS);
        }
        publish_barriers();
    }
    __syncthreads();
    const int column0 = blockIdx.x * FEW_COLUMNS;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    int stage = 0;
    unsigned phase = 0;
    const auto advance = [&] {
        if (++stage == STAGES_HERE) stage = 0, phase ^= 1;
    };
    wait_for_previous();
    let_next_start();
    if (warpgroup == WARPGROUPS) {
        if (threadIdx.x % WARPGROUP) return;
        for (int step = part.first; step < part.last; ++step, advance()) {
            unsigned char* const to = stages + stage * STAGE;
            wait_for(empty + stage, phase ^ 1);
            arrive_and_expect(full + stage, STAGE);
#pragma unroll
            for (int band = 0; band < WARPGROUPS; ++band) {
                copy_box(to + band * BAND_BYTES, w, part.in_w + column0 + band * BAND, step * STEP_K, full + stage);
            }
            copy_box(to + BYTES_W, d, part.in_d + step * STEP_K, 0, full + stage);
        }
        return;
    }
    float sum[ROWS / 2] = {};
    settle(sum);
    int before = 0;
    for (int step = part.first; step < part.last; ++step, advance()) {
        wait_for(full + stage, phase);
        const unsigned char* const from = stages + stage * STAGE;
        const unsigned long long of_w = swizzled_tile(from + warpgroup * BAND_BYTES, ATOM, 0);
        const unsigned long long of_d = swizzled_tile(from + BYTES_W, ATOM, 0);
        begin_products();
#pragma unroll
        for (int i = 0; i < 4; ++i) multiply_few(sum, of_w + i * (16 * ROW / 16), of_d + i * 2);
        commit_products();
        wait_for_products<1>();
        if (step > part.first && threadIdx.x % WARPGROUP == 0) arrive(empty + before);
        before = stage;
    }
    wait_for_products<0>();
    settle(sum);

    const int lane = threadIdx.x % WARP, column = column0 + threadIdx.x / WARP * 16 + lane / 4 - part.skipped;
    parts += 1ll * blockIdx.y * rows * hidden;
#pragma unroll
    for (int i = 0; i < ROWS / 2; ++i) {
        const int row = i / 4 * 8 + lane % 4 * 2 + i % 2, at = column + i % 4 / 2 * 8;
        if (row < rows && at >= 0 && at < hidden) parts[1ll * row * hidden + at] = sum[i];
    }
}

#define DX_OF_FEW(ROWS, STAGES_HERE)                                                                              \
    extern "C" __global__ void __launch_bounds__((FEW_COLUMNS / 64 + 1) * WARPGROUP, 1) dx_of_few_##ROWS(         \
        const __grid_constant__ CUtensorMap d, const __grid_constant__ CUtensorMap w, float* __restrict__ parts,  \
        long long rows, long long hidden, long long steps                                                         \
    ) {                                                                                                           \
        const PartOfDx part = {                                                                                   \
            static_cast<int>(steps * blockIdx.y / gridDim.y), static_cast<int>(steps * (blockIdx.y + 1) / gridDim.y)   \
        };                                                                                                        \
        multiply_d_of_few<ROWS, STAGES_HERE>(                                                                     \
            d, w, parts, static_cast<int>(rows), static_cast<int>(hidden), part                                   \
        );                                                                                                        \
    }
DX_OF_FEW(16, 8)
DX_OF_FEW(32, 8)
DX_OF_FEW(64, 8)
DX_OF_FEW(128, 6)
DX_OF_FEW(256, 4)

// dx from `count` parts.
extern "C" __global__ void join_dx(
    const float* __restrict__ parts, SCALAR* __restrict__ dx, long long size, long long count
) {
    const long long at = thread_of_grid();
    wait_for_previous();
    let_next_start();
    if (at >= size) return;
    float sum = 0.0f;
#pragma unroll 8
    for (long long part = 0; part < count; ++part) sum += parts[part * size + at];
    from_float(sum, dx[at]);
}

// ---- dw ------------------------------------------------------------------------------------------

// dw = d^T x, by blocks alone: pairs, which share what they read, have no gain where nearly all bytes are written.
__device__ __forceinline__ void make_dw_of_few(
    const CUtensorMap& d, const CUtensorMap& x, const CUtensorMap& dw, const Loose& loose, int rows, unsigned count,
    unsigned columns
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    using Steps = Ring<CONSUMERS, BLOCK_N, STAGES>;
    Steps ring(stages, 0);
    const int steps = (rows + STEP_K - 1) / STEP_K;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    wait_for_previous();
    let_next_start();
    if (warpgroup == CONSUMERS) {
        give_registers<40>();
        if (threadIdx.x % WARPGROUP) return;
        for (unsigned tile = blockIdx.x; tile < count; tile += gridDim.x) {
            const int in_d = tile / columns * BLOCK_M, in_x = tile % columns * BLOCK_N;
            for (int step = 0; step < steps; ++step, ring.advance()) {
                Barrier* const full = ring.full + ring.stage;
                unsigned char* const to = stages + ring.stage * Steps::STAGE;
                wait_for(ring.empty + ring.stage, ring.phase ^ 1);
                arrive_and_expect(full, Steps::STAGE);
#pragma unroll
                for (int i = 0; i < CONSUMERS; ++i)
                    copy_box(to + i * BAND_BYTES, d, in_d + i * 64, step * STEP_K, full);
#pragma unroll
                for (int i = 0; i < BLOCK_N / BAND; ++i)
                    copy_box(to + Steps::BYTES_A + i * BAND_BYTES, x, in_x + i * BAND, step * STEP_K, full);
            }
        }
        return;
    }
    take_registers<232>();
    unsigned stored = 0;
    unsigned char* const boxes = ring.boxes_of(warpgroup);
    for (unsigned tile = blockIdx.x; tile < count; tile += gridDim.x) {
        float sum[BLOCK_N / 2] = {};
        int before = 0;
        for (int step = 0; step < steps; ++step, ring.advance()) {
            unsigned long long of_a, of_b;
            ring.wait(warpgroup, of_a, of_b);
            const unsigned char* const from = stages + ring.stage * Steps::STAGE;
            of_a = swizzled_tile(from + warpgroup * BAND_BYTES, ATOM, 0);
            of_b = swizzled_tile(from + Steps::BYTES_A, ATOM, BAND_BYTES);
            begin_products();
#pragma unroll
            for (int part = 0; part < 4; ++part) {
                constexpr int ACROSS = 16 * ROW / 16;
                multiply_across<true>(sum, of_a + part * ACROSS, of_b + part * ACROSS);
            }
            commit_products();
            wait_for_products<1>();
            if (step > 0) ring.release(before);
            before = ring.stage;
        }
        wait_for_products<0>();
        settle(sum);
        ring.release(before);

        store_tile(
            sum, dw, boxes, stored, tile / columns * BLOCK_M + warpgroup * 64, tile % columns * BLOCK_N, as_they_are,
            loose
        );
    }
    if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
}

// `loose_dw` where its rows are not of whole 16 bytes.
extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) dw_of_few(
    const __grid_constant__ CUtensorMap d, const __grid_constant__ CUtensorMap x,
    const __grid_constant__ CUtensorMap dw, SCALAR* loose_dw, long long rows, long long vocab, long long hidden,
    long long count, long long columns
) {
    const Loose loose{loose_dw, static_cast<unsigned>(vocab), static_cast<unsigned>(hidden)};
    make_dw_of_few(
        d, x, dw, loose, static_cast<int>(rows), static_cast<unsigned>(count), static_cast<unsigned>(columns)
    );
}

// Gradients of the norms of many rows of up to some hundred columns: some lanes of a warp a row, with the rows of the next
// turn under way while those of this one are computed.
//
// By packs (norm_lanes.cuh) all rows of a turn are stored before others are asked for, and memory waits meanwhile. Here
// the next ones are asked for first, and stay in registers as the words that they are until their turn. Accesses have
// WIDTH columns, on which all rows begin, and lie LANES apart. COUNT columns of a lane, also one and a half times as
// many as are in a pack, leave fewer lanes empty than packs do, so that rows which begin on 16 bytes have accesses of 8
// here. The rows of a block's turn are neighbours. A block stays, and leaves its sums over rows in `partial`.
#pragma once

#include "shared/norm_narrow.cuh"
#include "shared/norm_terms.cuh"

constexpr int AHEAD_THREADS = 256;  // as in norm_lanes.py

// A lane's columns of a row, and of all rows its group has.
template <int LANES, int COUNT, int WIDTH>
struct AheadLane {
    static constexpr int EACH = COUNT / WIDTH, GROUPS = AHEAD_THREADS / LANES;
    using Row = NarrowRow<EACH, WIDTH>;
    using Access = typename Row::Access;
    int lane, group, accesses;  // of the row, from the lane's first on

    __device__ __forceinline__ AheadLane(int cols)
        : lane(threadIdx.x % LANES), group(threadIdx.x / LANES), accesses(cols / WIDTH - lane) {}
    __device__ __forceinline__ bool has(int e) const { return e * LANES < accesses; }

    // Zeros where there is nothing.
    __device__ __forceinline__ void load(const SCALAR* row, bool exists, Row& to) const {
        const Access* const from = reinterpret_cast<const Access*>(row) + lane;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            to.access[e] = {};
            if (exists && has(e)) to.access[e] = from[e * LANES];
        }
    }

    template <bool CENTRED>
    __device__ __forceinline__ void store(
        SCALAR* row, const Row& dy, const Row& x, const Row& weight, const Normal<CENTRED>& normal,
        const RowGradient<CENTRED>& gradient
    ) const {
        Access* const to = reinterpret_cast<Access*>(row) + lane;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            alignas(16) SCALAR result[WIDTH];
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) {
                const int at = e * WIDTH + i;
                from_float(gradient.of(normal(x.at(at)), dy.at(at) * weight.at(at)), result[i]);
            }
            if (has(e)) to[e * LANES] = *reinterpret_cast<const Access*>(result);
        }
    }

    // The block's sums over rows, of its groups in their order, by way of `of_groups` in shared memory.
    __device__ __forceinline__ void leave(const float (&own)[COUNT], int cols, float* of_groups, float* to) const {
        __syncthreads();  // what was there has been read
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) {
                if (has(e)) of_groups[group * cols + (lane + e * LANES) * WIDTH + i] = own[e * WIDTH + i];
            }
        }
        __syncthreads();
        for (int col = threadIdx.x; col < cols; col += AHEAD_THREADS) {
            float sum = 0.0f;
            for (int one = 0; one < GROUPS; ++one) sum += of_groups[one * cols + col];
            to[col] = sum;
        }
    }
};

// A lane's sums over rows.
template <bool CENTRED, int COUNT>
struct LaneSums {
    float dw[COUNT] = {}, db[CENTRED ? COUNT : 1] = {};

    // Returns the lane's parts of the sums over the row.
    template <class Row>
    __device__ __forceinline__ float2
    add(const Row& dy, const Row& x, const Row& weight, const Normal<CENTRED>& normal) {
        float2 total = {0.0f, 0.0f};
#pragma unroll
        for (int at = 0; at < COUNT; ++at) {
            // Past the row x is 0 and h is not: dy, which is 0 too, keeps it out of all sums.
            const float of_y = dy.at(at), h = normal(x.at(at)), g = of_y * weight.at(at);
            dw[at] = fmaf(of_y, h, dw[at]);
            if constexpr (CENTRED) db[at] += of_y;
            if constexpr (CENTRED) total.x += g;
            total.y = fmaf(g, h, total.y);
        }
        return total;
    }

    template <class Lane>
    __device__ __forceinline__ void leave(const Lane& lane, int cols, float* shared, float* partial) const {
        float* const to_dw = partial + static_cast<long long>(blockIdx.x) * cols;
        lane.leave(dw, cols, shared, to_dw);
        if constexpr (CENTRED) lane.leave(db, cols, shared, to_dw + static_cast<long long>(gridDim.x) * cols);
    }
};

// Sums over each of some rows, side by side, so that none waits for the others' shuffles.
template <bool CENTRED, int LANES, int ROWS>
__device__ __forceinline__ void sum_over_lanes(float2 (&totals)[ROWS]) {
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (CENTRED) totals[r].x += __shfl_xor_sync(WHOLE_WARP, totals[r].x, offset);
            totals[r].y += __shfl_xor_sync(WHOLE_WARP, totals[r].y, offset);
        }
    }
}

// The rows that a lane has in a turn, as they were loaded.
template <class Lane, int ROWS>
struct AheadRows {
    typename Lane::Row dy[ROWS], x[ROWS];
    float mean[ROWS], rstd[ROWS];
};

template <bool CENTRED, int LANES, int COUNT, int WIDTH>
__device__ __forceinline__ void ahead_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, SCALAR* dx,
    float* partial, int rows, int cols
) {
    using Lane = AheadLane<LANES, COUNT, WIDTH>;
    constexpr int ROWS = COUNT <= 8 ? 4 : 2;  // of a lane in a turn, that the registers hold twice
    using Rows = AheadRows<Lane, ROWS>;
    start_early();
    const Lane own(cols);
    const float one_of_cols = 1.0f / cols;
    typename Lane::Row weight;
    own.load(w, true, weight);
    const auto ask = [&](int first, Rows& coming) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int row = first + r * Lane::GROUPS + own.group;
            const bool exists = row < rows;
            own.load(dy + static_cast<long long>(row) * cols, exists, coming.dy[r]);
            own.load(x + static_cast<long long>(row) * cols, exists, coming.x[r]);
            coming.rstd[r] = exists ? rstds[row] : 0.0f;
            coming.mean[r] = CENTRED && exists ? means[row] : 0.0f;
        }
    };
    LaneSums<CENTRED, COUNT> sums;
    Rows next;
    const int step = gridDim.x * Lane::GROUPS * ROWS;
    int first = blockIdx.x * Lane::GROUPS * ROWS;  // of the block, so that its warps stay together
    ask(first, next);
    for (; first < rows; first += step) {
        Rows here = next;
        if (first + step < rows) ask(first + step, next);
        float2 totals[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const Normal<CENTRED> normal(here.mean[r], here.rstd[r]);
            totals[r] = sums.add(here.dy[r], here.x[r], weight, normal);
        }
        sum_over_lanes<CENTRED, LANES>(totals);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            here.dy[r].keep_words();
            here.x[r].keep_words();
            const int row = first + r * Lane::GROUPS + own.group;
            const Normal<CENTRED> normal(here.mean[r], here.rstd[r]);
            const RowGradient<CENTRED> gradient(here.rstd[r], totals[r], one_of_cols);
            if (row >= rows) continue;
            SCALAR* const to = dx + static_cast<long long>(row) * cols;
            own.store(to, here.dy[r], here.x[r], weight, normal, gradient);
        }
    }
    __shared__ float of_groups[AHEAD_THREADS * COUNT];
    sums.leave(own, cols, of_groups, partial);
}

// Lanes of a row and their columns, as norm_lanes.py has them.
#define AHEAD_KERNELS(BYTES)    \
    AHEAD_KERNEL(4, 8, BYTES)   \
    AHEAD_KERNEL(8, 8, BYTES)   \
    AHEAD_KERNEL(8, 12, BYTES)  \
    AHEAD_KERNEL(16, 8, BYTES)  \
    AHEAD_KERNEL(16, 12, BYTES) \
    AHEAD_KERNEL(32, 8, BYTES)  \
    AHEAD_KERNEL(32, 12, BYTES)

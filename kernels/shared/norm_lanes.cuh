// Gradients of the norms of many short rows: a warp has several neighbouring rows, each some lanes of it.
//
// A lane has one pack of columns, the same of every row, and keeps its sums over rows; blocks stay and walk along the
// rows, UNROLL of them under way at once. Rows that do not all begin on 16 bytes (SKEWED) begin alike every PACK rows: a
// lane has only such rows, and its pack begins as many columns earlier as makes it a whole word. What a word has of
// other rows is masked. Where all rows begin on 8 or 4 bytes a lane's pack is accesses of so many instead (NarrowPack), and
// nothing is masked. Each block leaves its sums over rows in `partial`.
#pragma once

#include "shared/norm_backward.cuh"
#include "shared/norm_terms.cuh"
#include "shared/overlap.cuh"
#include "shared/shifted.cuh"

constexpr int LANES_THREADS = 256;  // as in norm_lanes.py

// A lane's pack of a row, numbered from the row's first column.
template <int LANES, bool SKEWED>
struct LanePack {
    static constexpr bool STARTS_ANYWHERE = SKEWED;

    int col, first, end;  // elements `first` to `end` of the pack are the row's
    Bits mask;            // ones there

    __device__ __forceinline__ LanePack(int cols, int skew) {
        col = threadIdx.x % LANES * PACK - skew;
        first = max(-col, 0);
        end = min(max(cols - col, first), PACK);
        Pack ones;
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            const unsigned bits = i >= first && i < end ? 0xffffffffu : 0u;
            ones.element[i] = reinterpret_cast<const SCALAR&>(bits);
        }
        mask = reinterpret_cast<const Bits&>(ones);
    }

    // Where element `i` is among those of the row group.
    __device__ __forceinline__ int place(int i) const { return static_cast<int>(threadIdx.x) % LANES * PACK + i; }
    __device__ __forceinline__ bool is_whole() const { return first == 0 && end == PACK; }

    __device__ __forceinline__ Bits elements(const SCALAR* row) const {
        Bits bits = {};
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            if (i >= first && i < end) reinterpret_cast<Pack&>(bits).element[i] = row[col + i];
        }
        return bits;
    }

    // `past` is the end of the tensor.
    __device__ __forceinline__ Bits load(const SCALAR* row, const SCALAR* past) const {
        if (first == end) return {};
        if (SKEWED && row + col + PACK > past) return elements(row);
        Bits bits = __ldg(reinterpret_cast<const Bits*>(row + col));
        if (SKEWED) {
            bits.x &= mask.x;
            bits.y &= mask.y;
            bits.z &= mask.z;
            bits.w &= mask.w;
        }
        return bits;
    }

    __device__ __forceinline__ void store(SCALAR* row, const Bits& bits) const {
        if (!SKEWED || is_whole()) {
            if (first < end) *reinterpret_cast<Bits*>(row + col) = bits;
            return;
        }
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            if (i >= first && i < end) row[col + i] = reinterpret_cast<const Pack&>(bits).element[i];
        }
    }
};

// A lane's accesses of WIDTH elements, LANES of them apart. All rows, and w, begin on as many bytes.
template <int LANES, int WIDTH>
struct NarrowPack {
    static constexpr bool STARTS_ANYWHERE = false;

    ShareBy<WIDTH, LANES> share;

    __device__ __forceinline__ NarrowPack(int cols, int) : share{static_cast<int>(threadIdx.x) % LANES, LANES, cols} {}
    __device__ __forceinline__ int place(int i) const { return share.column(0, i); }
    __device__ __forceinline__ Bits elements(const SCALAR* row) const { return share.load(row, 0); }
    __device__ __forceinline__ Bits load(const SCALAR* row, const SCALAR*) const { return share.load(row, 0); }
    __device__ __forceinline__ void store(SCALAR* row, const Bits& bits) const { share.store(row, 0, bits); }
};

__device__ __forceinline__ int skew_of(const SCALAR* start, long long row, int cols) {
    return static_cast<int>(bytes_past(start + row * cols) / sizeof(SCALAR));
}

// The block's sums over rows, from its lanes to `to_dw` and `to_db`, always in the same order: a warp a column, each of
// its lanes some groups of lanes, which have the column where their skew puts it.
template <bool CENTRED, int LANES, typename Own>
__device__ __forceinline__ void store_lane_sums(
    const Own& place, const ColumnSums<CENTRED>& own, const SCALAR* start, int cols, float* to_dw, float* to_db
) {
    constexpr int GROUPS = LANES_THREADS / LANES;
    __shared__ float4 of_dw[LANES_THREADS * PACK / 4], of_db[CENTRED ? LANES_THREADS * PACK / 4 : 1];
    float *const shared_dw = reinterpret_cast<float*>(of_dw), *const shared_db = reinterpret_cast<float*>(of_db);
#pragma unroll
    for (int i = 0; i < PACK; i += 4) {
        const int before = threadIdx.x / LANES * LANES * PACK;
        if (place.place(i + 3) == place.place(i) + 3) {
            four_at(shared_dw + before + place.place(i)) = {own.dw[i], own.dw[i + 1], own.dw[i + 2], own.dw[i + 3]};
            if (CENTRED)
                four_at(shared_db + before + place.place(i)) = {own.db[i], own.db[i + 1], own.db[i + 2], own.db[i + 3]};
            continue;
        }
#pragma unroll
        for (int j = i; j < i + 4; ++j) {
            shared_dw[before + place.place(j)] = own.dw[j];
            if (CENTRED) shared_db[before + place.place(j)] = own.db[j];
        }
    }
    __syncthreads();
    const int lane = threadIdx.x % WARP;
    for (int col = threadIdx.x / WARP; col < cols; col += LANES_THREADS / WARP) {
        float sum_of_dw = 0.0f, sum_of_db = 0.0f;
        for (int group = lane; group < GROUPS; group += WARP) {
            const int at = group * LANES * PACK + col + (Own::STARTS_ANYWHERE ? skew_of(start, group, cols) : 0);
            sum_of_dw += shared_dw[at];
            if (CENTRED) sum_of_db += shared_db[at];
        }
        sum_of_dw = warp_sum(sum_of_dw);
        if (CENTRED) sum_of_db = warp_sum(sum_of_db);
        if (lane == 0) {
            to_dw[col] = sum_of_dw;
            if (CENTRED) to_db[col] = sum_of_db;
        }
    }
}

template <bool CENTRED, int LANES, typename Own>
__device__ __forceinline__ void lanes_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, SCALAR* dx,
    float* partial, long long rows, int cols
) {
    start_early();
    constexpr int UNROLL = 4, GROUPS = LANES_THREADS / LANES;  // these a multiple of PACK
    const Own own(cols, Own::STARTS_ANYWHERE ? skew_of(x, threadIdx.x / LANES, cols) : 0);
    const SCALAR *const end_of_dy = dy + rows * cols, *const end_of_x = x + rows * cols;
    const Bits weights = own.elements(w);
    const float one_of_cols = 1.0f / cols;
    ColumnSums<CENTRED> sums;
    const long long step = static_cast<long long>(gridDim.x) * GROUPS;
    long long first = static_cast<long long>(blockIdx.x) * GROUPS;  // of the block, so that its warps stay together
    for (; first < rows; first += UNROLL * step) {
        const long long mine = first + threadIdx.x / LANES;
        Bits gradients[UNROLL], values[UNROLL];
        float mean[UNROLL], rstd[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const long long row = mine + u * step;
            gradients[u] = values[u] = {};
            mean[u] = rstd[u] = 0.0f;
            if (row >= rows) continue;
            gradients[u] = own.load(dy + row * cols, end_of_dy);
            values[u] = own.load(x + row * cols, end_of_x);
            rstd[u] = rstds[row];
            if (CENTRED) mean[u] = means[row];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const long long row = mine + u * step;
            const Normal<CENTRED> normal(mean[u], rstd[u]);
            float2 total = {0.0f, 0.0f};
            // Past the row x is 0 and h is not: dy, which is 0 too, keeps it out of all sums.
            add_terms(total, sums, normal, gradients[u], values[u], weights);
            if (CENTRED) total.x = lanes_sum<LANES>(total.x);
            total.y = lanes_sum<LANES>(total.y);
            const RowGradient<CENTRED> gradient(rstd[u], total, one_of_cols);
            float of_dy[PACK], of_x[PACK];
            unpack_words(gradients[u], of_dy);
            unpack_words(values[u], of_x);
            if (row < rows) own.store(dx + row * cols, gradient.of(normal, of_dy, of_x, weights));
        }
    }
    float* const to_dw = partial + static_cast<long long>(blockIdx.x) * cols;
    float* const to_db = to_dw + static_cast<long long>(gridDim.x) * cols;
    store_lane_sums<CENTRED, LANES>(own, sums, x, cols, to_dw, to_db);
}

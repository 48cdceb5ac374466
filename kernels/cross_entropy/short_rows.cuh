// Short rows, by lanes of a warp or a block: all of a row at once, its maximum before its powers.
#pragma once

#include "cross_entropy/ordered_loads.cuh"
#include "cross_entropy/statistics.cuh"
#include "shared/shifted.cuh"

template <int LANES>
__device__ __forceinline__ float lanes_max(float value) {
    if constexpr (LANES == WARP) return highest_of_warp(value);
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) value = fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, offset));
    return value;
}

// The larger of each half of two words.
__device__ __forceinline__ unsigned higher_of_words(unsigned a, unsigned b) {
#if defined(SCALAR_IS_FLOAT32)
    return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
#elif defined(SCALAR_IS_FLOAT16)
    const __half2 higher = __hmax2(reinterpret_cast<const __half2&>(a), reinterpret_cast<const __half2&>(b));
    return reinterpret_cast<const unsigned&>(higher);
#else
    const __nv_bfloat162 higher =
        __hmax2(reinterpret_cast<const __nv_bfloat162&>(a), reinterpret_cast<const __nv_bfloat162&>(b));
    return reinterpret_cast<const unsigned&>(higher);
#endif
}

__device__ __forceinline__ float highest_of_word(unsigned word) {
#if defined(SCALAR_IS_FLOAT32)
    return __uint_as_float(word);
#else
    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(&word);
    return fmaxf(to_float(elements[0]), to_float(elements[1]));
#endif
}

// A thread's elements beside the packs of a row.
template <int COUNT>
struct Edges {
    float value[COUNT ? COUNT : 1];
};

// The sum of the powers of a thread's elements. What skips(p, i) from element i of pack p on is of no row, the rest -inf.
template <int PACKS, typename Skips, int EDGES, typename Power>
__device__ __forceinline__ float sum_of_powers(
    const Bits (&kept)[PACKS], const Skips& skips, const Edges<EDGES>& edges, const Power& power
) {
    float totals[2] = {};
#pragma unroll
    for (int e = 0; e < EDGES; ++e) totals[1] += power(edges.value[e]);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        float values[PACK];
        unpack_words(kept[p], values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            if (skips(p, i)) return totals[0] + totals[1];
            totals[i % 2] += power(values[i]);
        }
    }
    return totals[0] + totals[1];
}

// Of bases up to this, base * log2 e and what its rounding loses are floats.
constexpr float LARGEST_BASE = 1e8f;

// The largest of what a thread keeps. Two words take an instruction, no more than to ask whether they are of a row.
template <int PACKS, int EDGES = 0>
__device__ __forceinline__ float highest_of(const Bits (&kept)[PACKS], const Edges<EDGES>& edges = {}) {
    unsigned word = NEGATIVE_INFINITIES;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const unsigned words[4] = {kept[p].x, kept[p].y, kept[p].z, kept[p].w};
#pragma unroll
        for (int i = 0; i < 4; ++i) word = higher_of_words(word, words[i]);
    }
    float mine = highest_of_word(word);
#pragma unroll
    for (int e = 0; e < EDGES; ++e) mine = fmaxf(mine, edges.value[e]);
    return mine;
}

// The statistics of neighbouring lanes that keep packs of a row, and elements beside them, from the largest of this thread.
template <int LANES, int PACKS, typename Skips, int EDGES = 0>
__device__ __forceinline__ Statistics
statistics_of(float mine, const Bits (&kept)[PACKS], const Skips& skips, const Edges<EDGES>& edges = {}) {
    const float highest = lanes_max<LANES>(mine);
    const float base = highest == NEGATIVE_INFINITY ? 0.0f : highest;
    float total, factor = 1.0f;
    if (fabsf(base) <= LARGEST_BASE) {
        // One instruction less an element. What the rounding of the product loses is in every power, and comes off at the end.
        const float shift = base * LOG2_E, lost = fmaf(base, LOG2_E, -shift);
        const auto power = [&](float value) { return fast_exp2(fmaf(value, LOG2_E, -shift)); };
        total = sum_of_powers(kept, skips, edges, power);
        factor = fast_exp2(-lost);
    } else {
        total = sum_of_powers(kept, skips, edges, [&](float value) { return fast_exp2((value - base) * LOG2_E); });
    }
    return {highest, lanes_sum<LANES>(total) * factor};
}

// The loss of this thread's row group, lanes or a block, of what a thread keeps of row `x`, or of any where it has none.
template <int GROUP, int PACKS, typename Skips, int EDGES = 0>
__device__ __forceinline__ void store_loss_of(
    const Bits (&kept)[PACKS], const Skips& skips, const SCALAR* x, long long label, SCALAR* loss, bool has_row,
    long long cols, const Edges<EDGES>& edges = {}
) {
    const bool is_first = threadIdx.x % GROUP == 0;
    Statistics all;
    const float highest = highest_of(kept, edges);
    label = once_known(highest, label);  // and of the row all, so that the element there is near by
    const bool is_column = static_cast<unsigned long long>(label) < static_cast<unsigned long long>(cols);
    const SCALAR element = x[is_column ? label : 0];  // without a branch, which would put it behind the powers
    if constexpr (GROUP <= WARP) {
        all = statistics_of<GROUP>(highest, kept, skips, edges);
    } else {
        __shared__ Statistics partial[WARP];
        const Statistics mine = statistics_of<WARP>(highest, kept, skips, edges);
        if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = mine;
        __syncthreads();
        if (threadIdx.x >= WARP) return;
        all = over_warp(threadIdx.x < blockDim.x / WARP ? partial[threadIdx.x] : Statistics{NEGATIVE_INFINITY, 0.0f});
    }
    const float at_label = is_column ? to_float(once_known(all.total, element)) : __int_as_float(0x7fffffff);
    if (has_row && is_first) store_loss(all, at_label, label == IGNORED, loss);
}

// Rows that begin anywhere: the whole words in them, and up to 14 elements beside these. No branch lies between the loads, so
// that all are under way at once.
template <int GROUP, int PACKS>
__device__ __forceinline__ void short_row(
    const SCALAR* x, const long long* labels, SCALAR* loss, long long rows, long long cols
) {
    constexpr int BESIDE = 2 * (PACK - 1), EDGES = GROUP < WARP ? (BESIDE + GROUP - 1) / GROUP : 1;
    const long long row = group_row_of<GROUP>(rows);
    const int thread = threadIdx.x % GROUP, threads = GROUP > WARP ? blockDim.x : GROUP;
    const long long label = label_of(labels, row);
    x += row * cols;
    const RunWords run(bytes_past(x), static_cast<int>(cols));
    const Bits* const words = reinterpret_cast<const Bits*>(x + run.head) + thread;
    Bits kept[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) kept[p] = load_pack_where(thread + p * threads < run.packs, words + p * threads);
    Edges<EDGES> edges;
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        const int edge = thread + e * threads;
        edges.value[e] = edge < run.edges ? to_float(x[run.edge_at(edge)]) : NEGATIVE_INFINITY;
    }
    const int first = GROUP > WARP ? thread / WARP * WARP : 0;  // of the warp
    const auto skips = [&](int p, int i) { return i == 0 && first + p * threads >= run.packs; };
    store_loss_of<GROUP>(kept, skips, x, label, loss + row, group_row<GROUP>() < rows, cols, edges);
}

// Rows that all begin on as many bytes as WIDTH elements have.
template <int GROUP, int PACKS, int WIDTH>
__device__ __forceinline__ void short_row_by(
    const SCALAR* x, const long long* labels, SCALAR* loss, long long rows, long long cols
) {
    const long long row = group_row_of<GROUP>(rows);
    const long long label = label_of(labels, row);
    const int thread = threadIdx.x % GROUP, threads = GROUP > WARP ? blockDim.x : GROUP;
    const ShareBy < WIDTH, GROUP<WARP ? GROUP : WARP> share = {thread, threads, static_cast<int>(cols)};
    x += row * cols;
    Bits kept[PACKS];
    load_by<WIDTH>(share, x, kept);
    const auto skips = [&](int p, int i) { return share.skips_element(p, i); };
    store_loss_of<GROUP>(kept, skips, x, label, loss + row, group_row<GROUP>() < rows, cols);
}

// A lane has an element: of rows so short that words save no access.
template <int LANES>
__device__ __forceinline__ void row_of_elements(
    const SCALAR* x, const long long* labels, SCALAR* loss, long long rows, long long cols
) {
    const long long row = thread_of_grid() / LANES;
    const int lane = threadIdx.x % LANES;
    const bool has_row = row < rows, has = has_row && lane < cols;
    const float value = has ? to_float(x[row * cols + lane]) : NEGATIVE_INFINITY;
    const long long label = has_row ? labels[row] : IGNORED;
    const float highest = lanes_max<LANES>(value), base = highest == NEGATIVE_INFINITY ? 0.0f : highest;
    const float total = lanes_sum<LANES>(fast_exp2((value - base) * LOG2_E));
    float at_label = __shfl_sync(WHOLE_WARP, value, static_cast<int>(label), LANES);
    if (static_cast<unsigned long long>(label) >= cols) at_label = __int_as_float(0x7fffffff);
    if (has_row && lane == 0) store_loss(Statistics{highest, total}, at_label, label == IGNORED, loss + row);
}

// The loss of a row whose elements a thread has: the first `cols` of `values`. It has the one at its label too.
template <int MOST>
__device__ __forceinline__ void store_loss_of_values(
    const float (&values)[MOST], int cols, long long label, SCALAR* loss
) {
    float highest = NEGATIVE_INFINITY, at_label = __int_as_float(0x7fffffff), total = 0.0f;
#pragma unroll
    for (int i = 0; i < MOST; ++i) highest = fmaxf(highest, i < cols ? values[i] : NEGATIVE_INFINITY);
    const float base = highest == NEGATIVE_INFINITY ? 0.0f : highest;
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        total += i < cols ? fast_exp2((values[i] - base) * LOG2_E) : 0.0f;
        if (label == i && i < cols) at_label = values[i];
    }
    store_loss(Statistics{highest, total}, at_label, label == IGNORED, loss);
}

// A thread has a row of 1 to MOST elements, and asks for all of them at once.
template <int MOST>
__device__ __forceinline__ void row_of_a_thread(
    const SCALAR* x, const long long* labels, SCALAR* loss, long long rows, long long cols
) {
    const long long row = thread_of_grid();
    const bool has_row = row < rows;
    const long long label = label_of(labels, has_row ? row : 0);
    const SCALAR* const start = x + (has_row ? row * cols : 0);
    const int last = static_cast<int>(cols) - 1;
    float values[MOST];
#pragma unroll
    for (int i = 0; i < MOST; ++i) values[i] = to_float(start[min(i, last)]);
    if (has_row) store_loss_of_values(values, last + 1, label, loss + row);
}

// ---- Many rows of a few columns -------------------------------------------------------------------

// Some elements in one access.
template <int COUNT>
struct alignas(COUNT * sizeof(SCALAR)) WordOf {
    SCALAR element[COUNT];
};

// A thread has some rows of COLS elements, as many whole words wherever each row begins, and their labels: of a row each it
// would have few bytes under way. How many is as in cuda_online.py.
template <int COLS>
__device__ __forceinline__ void rows_of_a_thread(
    const SCALAR* x, const long long* labels, SCALAR* loss, long long rows, long long
) {
    constexpr int ROWS_OF_THREAD = COLS > 2 ? 2 : 4;
    using Word = WordOf<ROWS_OF_THREAD>;
    const long long first = thread_of_grid() * ROWS_OF_THREAD, left = rows - first;
    Word words[COLS], losses;
    long long label[ROWS_OF_THREAD];
    x += first * COLS;
    labels += first;
    loss += first;
    if (left >= ROWS_OF_THREAD) {
#pragma unroll
        for (int r = 0; r < ROWS_OF_THREAD; r += 2) {
            const longlong2 two = __ldg(reinterpret_cast<const longlong2*>(labels + r));
            label[r] = two.x, label[r + 1] = two.y;
        }
#pragma unroll
        for (int c = 0; c < COLS; ++c) words[c] = reinterpret_cast<const Word*>(x)[c];
    } else {
#pragma unroll
        for (int r = 0; r < ROWS_OF_THREAD; ++r) label[r] = r < left ? labels[r] : IGNORED;
#pragma unroll
        for (int i = 0; i < ROWS_OF_THREAD * COLS; ++i) {
            words[i / ROWS_OF_THREAD].element[i % ROWS_OF_THREAD] = i < left * COLS ? x[i] : SCALAR(0.0f);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS_OF_THREAD; ++r) {
        float values[COLS];
#pragma unroll
        for (int c = 0; c < COLS; ++c) {
            const int i = r * COLS + c;
            values[c] = to_float(words[i / ROWS_OF_THREAD].element[i % ROWS_OF_THREAD]);
        }
        store_loss_of_values(values, COLS, label[r], losses.element + r);
    }
    if (left >= ROWS_OF_THREAD) {
        *reinterpret_cast<Word*>(loss) = losses;
    } else {
#pragma unroll
        for (int r = 0; r < ROWS_OF_THREAD; ++r) {
            if (r < left) loss[r] = losses.element[r];
        }
    }
}

// Cross-entropy in one pass where cuda_naive takes two: each thread keeps a maximum and a sum of its own, which meet at
// the row's end.
//
// Formula: loss[r] = log(sum_c exp(x[r, c] - m_r)) + m_r - x[r, label[r]], m_r the row's maximum, exp(t) =
//   2^(t log2 e). The sum so far is scaled by exp(m - m') when the maximum rises from m to m'. 4 rows cols
//   FLOP, rows cols s bytes.
// Mapping: a block owns a row, or a piece of one where there are few rows. A thread takes every so-manyth
//   pack of 16 bytes, UNROLL of them under way at once, and raises its maximum once for all of them. Pieces
//   leave maximum and sum, which a second kernel joins, in the same order at every call. Lanes of a warp own a
//   short row, keep it in registers and find its maximum before they take powers; accesses are as wide as all rows are
//   aligned, or whole words that a row lies in.
// Idea: Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867. At the
//   bandwidth of an H200 a 16-bit element that is only read has 14 issue slots and 1.8 of the special
//   functions: one power each.
#include "cross_entropy/labels.cuh"
#include "shared/overlap.cuh"
#include "shared/shifted.cuh"

constexpr int UNROLL = 2;

struct Statistics {
    float highest;  // largest element so far; NaN does not count
    float total;    // sum of exp(element - highest); NaN if any element is
};

// exp(from - to), which makes a sum relative to `from` one relative to `to`; nothing was summed at -inf.
__device__ __forceinline__ float rescale(float from, float to) {
    return from == NEGATIVE_INFINITY ? 0.0f : fast_exp2((from - to) * LOG2_E);
}

__device__ __forceinline__ Statistics over_warp(Statistics mine) {
    const float highest = warp_max(mine.highest);
    return {highest, warp_sum(mine.total * rescale(mine.highest, highest))};
}

__device__ __forceinline__ Statistics over_block(Statistics mine) {
    __shared__ Statistics partial[WARP];
    const int lane = threadIdx.x % WARP;
    mine = over_warp(mine);
    if (lane == 0) partial[threadIdx.x / WARP] = mine;
    __syncthreads();
    return over_warp(lane < blockDim.x / WARP ? partial[lane] : Statistics{NEGATIVE_INFINITY, 0.0f});
}

// Adds COUNT elements.
template <int COUNT>
__device__ __forceinline__ void add(Statistics& mine, const float (&values)[COUNT]) {
    float highest = mine.highest;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) highest = fmaxf(highest, values[i]);
    // An element -inf relative to -inf counts as nothing, not as NaN.
    const float base = highest == NEGATIVE_INFINITY ? 0.0f : highest;
    float powers[2] = {mine.total * rescale(mine.highest, highest), 0.0f};
#pragma unroll
    for (int i = 0; i < COUNT; ++i) powers[i % 2] += fast_exp2((values[i] - base) * LOG2_E);
    mine = {highest, powers[0] + powers[1]};
}

// This thread's share of a run.
__device__ __forceinline__ Statistics statistics_of(const SCALAR* x, long long length) {
    const AlignedRun run(x, length);
    const int thread = threadIdx.x, threads = blockDim.x;
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    if (thread < run.edges) {
        const float edge[1] = {to_float(x[run.edge_at(thread)])};
        add(mine, edge);
    }
    x += run.head;
    long long pack = thread;
    for (; pack + (UNROLL - 1) * threads < run.packs; pack += UNROLL * threads) {
        Pack packs[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) packs[u] = load_pack(x + (pack + u * threads) * PACK);
        float values[UNROLL * PACK];
#pragma unroll
        for (int i = 0; i < UNROLL * PACK; ++i) values[i] = to_float(packs[i / PACK].element[i % PACK]);
        add(mine, values);
    }
    for (; pack < run.packs; pack += threads) {
        float values[PACK];
        unpack(load_pack(x + pack * PACK), values);
        add(mine, values);
    }
    return mine;
}

__device__ __forceinline__ void store_loss(const Statistics& row, float at_label, bool ignored, SCALAR* loss) {
    from_float(ignored ? 0.0f : __logf(row.total) + (row.highest - at_label), *loss);
}

extern "C" __global__ void cross_entropy_row(
    const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, long long cols
) {
    x += blockIdx.x * cols;
    const long long label = labels[blockIdx.x];
    const float at_label = threadIdx.x == 0 ? load_at(x, label, cols) : 0.0f;  // under way meanwhile
    const Statistics row = over_block(statistics_of(x, cols));
    if (threadIdx.x == 0) store_loss(row, at_label, label == IGNORED, loss + blockIdx.x);
}

// ---- Short rows, by lanes of a warp or a block: all of a row at once, its maximum before its powers --------------

// A word of one or two elements.
#if defined(SCALAR_IS_FLOAT32)
constexpr unsigned NEGATIVE_INFINITIES = 0xff800000u;
#elif defined(SCALAR_IS_FLOAT16)
constexpr unsigned NEGATIVE_INFINITIES = 0xfc00fc00u;
#else
constexpr unsigned NEGATIVE_INFINITIES = 0xff80ff80u;
#endif

template <int LANES>
__device__ __forceinline__ float lanes_max(float value) {
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

// The sum of the powers of a thread's elements. What skips(p, i) from element i of pack p on is of no row, the rest -inf.
template <int PACKS, typename Skips, typename Power>
__device__ __forceinline__ float sum_of_powers(const Bits (&kept)[PACKS], const Skips& skips, const Power& power) {
    float totals[2] = {};
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

// The statistics of neighbouring lanes that keep packs of a row.
template <int LANES, int PACKS, typename Skips>
__device__ __forceinline__ Statistics statistics_of(const Bits (&kept)[PACKS], const Skips& skips) {
    unsigned word = NEGATIVE_INFINITIES;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p && skips(p, 0)) break;
        const unsigned words[4] = {kept[p].x, kept[p].y, kept[p].z, kept[p].w};
#pragma unroll
        for (int i = 0; i < 4; ++i) word = higher_of_words(word, words[i]);
    }
    const float highest = lanes_max<LANES>(highest_of_word(word));
    const float base = highest == NEGATIVE_INFINITY ? 0.0f : highest;
    float total, factor = 1.0f;
    if (fabsf(base) <= LARGEST_BASE) {
        // One instruction less an element. What the rounding of the product loses is in every power, and comes off at the end.
        const float shift = base * LOG2_E, lost = fmaf(base, LOG2_E, -shift);
        total = sum_of_powers(kept, skips, [&](float value) { return fast_exp2(fmaf(value, LOG2_E, -shift)); });
        factor = fast_exp2(-lost);
    } else {
        total = sum_of_powers(kept, skips, [&](float value) { return fast_exp2((value - base) * LOG2_E); });
    }
    return {highest, lanes_sum<LANES>(total) * factor};
}

// The row of this thread's row group, lanes or a block, and its loss, of what a thread keeps of it.
template <int GROUP, int PACKS, typename Skips>
__device__ __forceinline__ void store_loss_of(
    const Bits (&kept)[PACKS], const Skips& skips, const SCALAR* x, const long long* labels, SCALAR* loss,
    long long row, bool has_row, long long cols
) {
    const bool is_first = threadIdx.x % GROUP == 0;
    const long long label = has_row && is_first ? labels[row] : IGNORED;
    const float at_label = has_row && is_first ? load_at(x, label, cols) : 0.0f;
    Statistics all;
    if constexpr (GROUP <= WARP) {
        all = statistics_of<GROUP>(kept, skips);
    } else {
        __shared__ Statistics partial[WARP];
        const Statistics mine = statistics_of<WARP>(kept, skips);
        if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = mine;
        __syncthreads();
        if (threadIdx.x >= WARP) return;
        all = over_warp(threadIdx.x < blockDim.x / WARP ? partial[threadIdx.x] : Statistics{NEGATIVE_INFINITY, 0.0f});
    }
    if (has_row && is_first) store_loss(all, at_label, label == IGNORED, loss + row);
}

// Rows that begin anywhere: whole words that they lie in.
template <int GROUP, int PACKS>
__device__ __forceinline__ void short_row(
    const SCALAR* x, const long long* labels, SCALAR* loss, long long rows, long long cols
) {
    const long long row = group_row<GROUP>();
    const int thread = threadIdx.x % GROUP, threads = GROUP > WARP ? blockDim.x : GROUP;
    const bool has_row = row < rows;
    const ShortRow here(x, has_row ? row : 0, rows, cols);
    const int packs = has_row ? here.packs() : 0;
    Bits kept[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int pack = thread + p * threads;
        kept[p] = {NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES};
        if (pack < packs) kept[p] = here.load(pack, NEGATIVE_INFINITY);
    }
    const int first = GROUP > WARP ? thread / WARP * WARP : 0;  // of the warp
    const auto skips = [&](int p, int i) { return i == 0 && first + p * threads >= packs; };
    store_loss_of<GROUP>(kept, skips, here.row, labels, loss, row, has_row, cols);
}

// Rows that all begin on as many bytes as WIDTH elements have.
template <int GROUP, int PACKS, int WIDTH>
__device__ __forceinline__ void short_row_by(
    const SCALAR* x, const long long* labels, SCALAR* loss, long long rows, long long cols
) {
    const long long row = group_row<GROUP>();
    const auto share = group_share_by<GROUP, WIDTH>(rows, cols);
    x += row * cols;
    Bits kept[PACKS];
    share.load(x, kept, NEGATIVE_INFINITIES);
    const auto skips = [&](int p, int i) { return share.skips_element(p, i); };
    store_loss_of<GROUP>(kept, skips, x, labels, loss, row, row < rows, cols);
}

#define SHORT_KERNEL(NAME, THREADS, ...)                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_##NAME(                        \
        const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, \
        long long rows, long long cols) {                                                              \
        __VA_ARGS__(x, labels, loss, rows, cols);                                                      \
    }

#define SHORT_KERNELS(NAME, GROUP, PACKS, THREADS)                                                     \
    SHORT_KERNEL(NAME, THREADS, short_row<GROUP, PACKS>)                                               \
    SHORT_KERNEL(NAME##_by_16, THREADS, short_row_by<GROUP, PACKS, PACK>)                              \
    SHORT_KERNEL(NAME##_by_8, THREADS, short_row_by<GROUP, PACKS, 8 / sizeof(SCALAR)>)                 \
    SHORT_KERNEL(NAME##_by_4, THREADS, short_row_by<GROUP, PACKS, 4 / sizeof(SCALAR)>)

SHORT_KERNELS(lanes_4_1, 4, 1, 128)
SHORT_KERNELS(lanes_8_1, 8, 1, 128)
SHORT_KERNELS(lanes_16_1, 16, 1, 128)
SHORT_KERNELS(lanes_32_1, 32, 1, 128)
SHORT_KERNELS(lanes_32_2, 32, 2, 128)
SHORT_KERNELS(lanes_32_4, 32, 4, 128)
SHORT_KERNELS(lanes_8_10, 8, 10, 128)
SHORT_KERNELS(lanes_16_10, 16, 10, 128)
SHORT_KERNELS(lanes_32_10, 32, 10, 128)
SHORT_KERNELS(block_8, BLOCK_GROUP, 8, 256)

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
    if (has_row && lane == 0) store_loss({highest, total}, at_label, label == IGNORED, loss + row);
}

#define ELEMENTS_KERNEL(LANES)                                                                         \
    extern "C" __global__ void __launch_bounds__(128) cross_entropy_elements_##LANES(                  \
        const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, \
        long long rows, long long cols) {                                                              \
        row_of_elements<LANES>(x, labels, loss, rows, cols);                                           \
    }

ELEMENTS_KERNEL(4)
ELEMENTS_KERNEL(8)
ELEMENTS_KERNEL(16)

// ---- Few rows, in pieces ---------------------------------------------------------------------------------

// Statistics of pieces of `length` elements, the last one of a row shorter; (rows, pieces).
extern "C" __global__ void cross_entropy_piece(
    const SCALAR* __restrict__ x, Statistics* __restrict__ piece, long long cols, long long pieces, long long length
) {
    let_next_start();
    const long long row = blockIdx.x / pieces, start = blockIdx.x % pieces * length;
    const long long left = cols - start;
    const Statistics mine = over_block(statistics_of(x + row * cols + start, left < length ? left : length));
    if (threadIdx.x == 0) piece[blockIdx.x] = mine;
}

// A block joins the pieces of a row.
extern "C" __global__ void cross_entropy_join(
    const SCALAR* __restrict__ x, const long long* __restrict__ labels, const Statistics* piece,
    SCALAR* __restrict__ loss, long long cols, long long pieces
) {
    const long long row = blockIdx.x, label = labels[row];
    const float at_label = threadIdx.x == 0 ? load_at(x + row * cols, label, cols) : 0.0f;
    wait_for_previous();
    piece += row * pieces;
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (int other = threadIdx.x; other < pieces; other += blockDim.x) {
        const Statistics found = piece[other];
        const float highest = fmaxf(mine.highest, found.highest);
        mine = {highest, mine.total * rescale(mine.highest, highest) + found.total * rescale(found.highest, highest)};
    }
    const Statistics all = over_block(mine);
    if (threadIdx.x == 0) store_loss(all, at_label, label == IGNORED, loss + row);
}

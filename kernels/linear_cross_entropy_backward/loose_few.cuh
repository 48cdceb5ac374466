// The gradients of few rows where rows of w begin anywhere: w is read twice, as it lies, and dw written once.
//
// Mapping: linear_cross_entropy/few_rows.cuh leaves the logits, with those of all rows of x side by side for a row of w. One kernel
//   makes d of them, twice: in the order in which shared/few_rows.cuh takes it for dx = d w, and with the rows of x side by side
//   for dw = d^T x. There a warp has 16 rows of dw each 8 behind the one before, which begin alike, and 64 columns. x takes the
//   columns of a lane's words of dw into registers once; of the sums of four mma.sync a lane then has words of 16 bytes.
// Idea: products of TMA and wgmma want rows of whole 16 bytes: a copy of w is two of four passes over it, and sums that leave
//   a tile for rows of another kind are stored in pieces.
#pragma once

#include "linear_cross_entropy/few_rows.cuh"
#include "shared/few_rows.cuh"

struct AsTheyAre {
    __device__ __forceinline__ float2 operator()(float2 sums, int) const { return sums; }
};
FEW_ROWS_KERNEL(few_rows, SCALAR, 8, AsTheyAre{})
FEW_ROWS_KERNEL(few_rows, SCALAR, 16, AsTheyAre{})
FEW_ROWS_KERNEL(few_rows, SCALAR, 32, AsTheyAre{})
// The same where w has few columns: dx of each part of the vocabulary, for join_dx.
FEW_ROWS_KERNEL(parts_of_few, float, 8, AsTheyAre{})
FEW_ROWS_KERNEL(parts_of_few, float, 16, AsTheyAre{})
FEW_ROWS_KERNEL(parts_of_few, float, 32, AsTheyAre{})

// ---- d -------------------------------------------------------------------------------------------

// What tells the sum of a row's powers: pieces of it, of which the loss comes too, or the logarithm that the forward pass left.
struct SumsOfRows {
    const Statistics* pieces;
    long long count;  // of a row
    const float* at_label;
    const float* lse;
};

// Of logits, times log2(e), of `room` rows for each of vocab: a thread has the 8 elements that order_rows gives it. `across` is d with
// `room` rows side by side.
__device__ __forceinline__ void gradient_of_logits(
    const float* __restrict__ logits, const SumsOfRows& sums, const long long* __restrict__ labels,
    const SCALAR* __restrict__ dloss, SCALAR* __restrict__ loss, SCALAR* __restrict__ ordered,
    SCALAR* __restrict__ across, int rows, long long vocab, int room
) {
    __shared__ float lse[32];
    const int lane = threadIdx.x % WARP;
    wait_for_previous();
    let_next_start();
    for (int row = threadIdx.x / WARP; row < rows; row += FEW_WARPS) {
        if (!sums.pieces) {
            if (lane == 0) lse[row] = sums.lse[row] * LOG2_E;
            continue;
        }
        Statistics mine = {NEGATIVE_INFINITY, 0.0f};
        for (long long piece0 = lane; piece0 < sums.count; piece0 += 4 * WARP) {
            Statistics four[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const long long piece = piece0 + i * WARP;
                four[i] = {NEGATIVE_INFINITY, 0.0f};
                if (piece < sums.count) four[i] = sums.pieces[row * sums.count + piece];
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) mine = joined(mine, four[i]);
        }
        mine = over_warp(mine);
        if (lane == 0) lse[row] = mine.highest + log2f(mine.total);
        if (lane == 0 && blockIdx.x == 0) from_float(loss_of(mine, sums.at_label[row], labels[row], vocab), loss[row]);
    }
    __syncthreads();

    const int groups = room / 8;
    const long long index = thread_of_grid(), rest = index / WARP / groups, step = rest / FEW_WARPS;
    const int row = static_cast<int>(index / WARP % groups) * 8 + lane / 4;
    const long long first = step * FEW_STEP + lane % 4 * (8 * FEW_WARPS) + rest % FEW_WARPS;
    if (step * FEW_STEP >= vocab) return;
    const long long label = row < rows ? labels[row] : IGNORED;
    const float scale = label == IGNORED ? 0.0f : to_float(dloss[row]), shift = label == IGNORED ? 0.0f : lse[row];
    float d[PACK];
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        const long long column = first + i * FEW_WARPS;
        d[i] = column < vocab ? logits[column * room + row] : NEGATIVE_INFINITY;
    }
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        const long long column = first + i * FEW_WARPS;
        const float power = fast_exp2(d[i] - shift), weight = column == label ? power - 1.0f : power;
        d[i] = label == IGNORED || column >= vocab ? 0.0f : weight * scale;
        if (column < vocab) from_float(d[i], across[column * room + row]);
    }
    store_pack(ordered + index * PACK, to_pack(d));
}

extern "C" __global__ void __launch_bounds__(FEW_WARPS* WARP) gradient_of_few(
    const float* __restrict__ logits, const Statistics* __restrict__ pieces, const float* __restrict__ at_label,
    const float* __restrict__ lse, const long long* __restrict__ labels, const SCALAR* __restrict__ dloss,
    SCALAR* __restrict__ loss, SCALAR* __restrict__ ordered, SCALAR* __restrict__ across, long long count,
    long long rows, long long vocab, long long room
) {
    gradient_of_logits(
        logits, SumsOfRows{pieces, count, at_label, lse}, labels, dloss, loss, ordered, across, static_cast<int>(rows),
        vocab, static_cast<int>(room)
    );
}

// ---- dw ------------------------------------------------------------------------------------------

constexpr int DW_ROWS = 128, DW_COLUMNS = 64;  // of a block, as in loose_few.py

// What mma.sync takes of d: 16 rows of dw each 8 behind the one before, and GROUPS x 8 of x.
template <int GROUPS>
__device__ __forceinline__ void load_rows_of_d(
    unsigned (&to)[(GROUPS + 1) / 2][4], const Element* __restrict__ across, long long row0, long long vocab
) {
    const int g = threadIdx.x % WARP / 4, q = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < (GROUPS + 1) / 2 * 4; ++i) {
        const int group = i / 4 * 2 + i % 4 / 2;
        const long long row = row0 + (g + i % 2 * 8) * 8;
        const bool is_there = group < GROUPS && row < vocab;
        const Element* const at = across + row * (GROUPS * 8) + group * 8 + q * 2;
        to[i / 4][i % 4] = is_there ? __ldg(reinterpret_cast<const unsigned*>(at)) : 0;
    }
}

// Of a word of dw, whose row begins at `row`, what lies in it.
__device__ __forceinline__ void store_word(SCALAR* row, long long column, long long hidden, const Pack& word) {
    if (column >= 0 && column + PACK <= hidden) return store_whole_pack(row + column, word);
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        if (column + i >= 0 && column + i < hidden) row[column + i] = word.element[i];
    }
}

// dw = d^T x with up to GROUPS x 8 rows of x. Grid: blocks beside each other, then `blockIdx.y` for rows of dw.
template <int GROUPS>
__device__ __forceinline__ void make_loose_dw(
    const Element* __restrict__ across, const Element* __restrict__ x, SCALAR* __restrict__ dw, int rows,
    long long vocab, long long hidden
) {
    constexpr int PRODUCTS_OF_X = (GROUPS + 1) / 2;  // of 16 rows each
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    const int past = static_cast<int>((reinterpret_cast<unsigned long long>(dw) / sizeof(SCALAR) + warp * hidden) % 8);
    const long long column0 = 1ll * blockIdx.x * DW_COLUMNS - past;
    wait_for_previous();
    let_next_start();
    // Of 32 columns lane q of a row has 8 q and on, two of each of four products.
    unsigned of_x[2][4][PRODUCTS_OF_X][2];
#pragma unroll
    for (int i = 0; i < 8 * PRODUCTS_OF_X * 2; ++i) {
        const int half = i % 2, product = i / 2 % PRODUCTS_OF_X, j = i / 2 / PRODUCTS_OF_X;
        const long long column = column0 + j / 4 * 32 + g / 2 * 8 + j % 4 * 2 + g % 2;
        const int row = product * 16 + half * 8 + q * 2;
        const bool is_there = column >= 0 && column < hidden;
        const unsigned low = is_there && row < rows ? __ldg(x + row * hidden + column) : 0;
        const unsigned high = is_there && row + 1 < rows ? __ldg(x + (row + 1) * hidden + column) : 0;
        of_x[j / 4][j % 4][product][half] = low | high << 16;
    }

    const long long stride = 1ll * gridDim.y * DW_ROWS;
    unsigned of_d[PRODUCTS_OF_X][4];
    load_rows_of_d<GROUPS>(of_d, across, 1ll * blockIdx.y * DW_ROWS + warp, vocab);
    for (long long row0 = 1ll * blockIdx.y * DW_ROWS + warp; row0 < vocab; row0 += stride) {
        unsigned next[PRODUCTS_OF_X][4];
        load_rows_of_d<GROUPS>(next, across, row0 + stride, vocab);
        const long long own = row0 + g * 8, other = own + 64;
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            float sum[4][4] = {};
#pragma unroll
            for (int i = 0; i < PRODUCTS_OF_X * 4; ++i) {
                const unsigned (&two)[2] = of_x[part][i % 4][i / 4];
                multiply_add(sum[i % 4], of_d[i / 4], two[0], two[1]);
            }
            Pack words[2];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float (&four)[4] = sum[i / 2];
                from_floats(four[i % 2 * 2], four[i % 2 * 2 + 1], &words[i % 2].element[i / 2 * 2]);
            }
            const long long column = column0 + part * 32 + q * 8;
            if (own < vocab) store_word(dw + own * hidden, column, hidden, words[0]);
            if (other < vocab) store_word(dw + other * hidden, column, hidden, words[1]);
        }
#pragma unroll
        for (int i = 0; i < PRODUCTS_OF_X * 4; ++i) of_d[i / 4][i % 4] = next[i / 4][i % 4];
    }
}

#define LOOSE_DW(ROWS, BLOCKS)                                                                                           \
    extern "C" __global__ void __launch_bounds__(DW_ROWS / 16 * WARP, BLOCKS) loose_dw_##ROWS(                         \
        const Element* __restrict__ across, const Element* __restrict__ x, SCALAR* __restrict__ dw,              \
        long long rows, long long vocab, long long hidden                                                        \
    ) {                                                                                                          \
        make_loose_dw<ROWS / 8>(across, x, dw, static_cast<int>(rows), vocab, hidden);                           \
    }
LOOSE_DW(8, 3)
LOOSE_DW(16, 3)
LOOSE_DW(32, 2)

// The gradients of few rows where rows of w begin anywhere: w is read twice, as it lies, and dw written once.
//
// Mapping: linear_cross_entropy/few_rows.cuh leaves the logits, with those of all rows of x side by side for a row of w. One kernel
//   makes d of them, twice: in the order in which shared/few_rows.cuh takes it for dx = d w, and with the rows of x side by side
//   for dw = d^T x. dw is taken as one line of elements: a warp has 32 of them, which lie in one row or two, and those as far
//   on in rows `apart`, a multiple of 16, which begin alike in a sector of L2. x takes a lane's columns into registers
//   once; of the sums of four mma.sync a lane has a word of 16 bytes, and at the end of a row it has the next row's sums too.
// Idea: products of TMA and wgmma want rows of whole 16 bytes: a copy of w is two of four passes over it, and sums that leave
//   a tile for rows of another kind are stored in pieces. Words of a row's own leave parts of sectors at both ends of each.
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

constexpr int DW_WARPS = 8, DW_WIDTH = 32;  // elements of a warp, one after the other; as in loose_few.py

// What mma.sync takes of d: rows `row` and `below` behind it, of GROUPS x 8 elements each, of which `from` is the lane's of the first.
template <int GROUPS>
__device__ __forceinline__ void load_rows_of_d(
    unsigned (&to)[(GROUPS + 1) / 2][4], const unsigned* from, unsigned row, unsigned below, unsigned vocab
) {
#pragma unroll
    for (int i = 0; i < (GROUPS + 1) / 2 * 4; ++i) {
        const int group = i / 4 * 2 + i % 4 / 2;
        const bool is_there = group < GROUPS && row + i % 2 * below < vocab;
        to[i / 4][i % 4] = is_there ? __ldg(from + i % 2 * below * (GROUPS * 4) + group * 4) : 0;
    }
}

// Of rows g and g + 8 of d a lane's 8 neighbours of dw.
template <int OF_X>
__device__ __forceinline__ void make_words(
    Pack (&words)[2], const unsigned (&of_d)[OF_X][4], const unsigned (&of_x)[4][OF_X][2]
) {
    float sum[4][4] = {};
#pragma unroll
    for (int i = 0; i < OF_X * 4; ++i) {
        const unsigned (&two)[2] = of_x[i % 4][i / 4];
        multiply_add(sum[i % 4], of_d[i / 4], two[0], two[1]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const float (&four)[4] = sum[i / 2];
        from_floats(four[i % 2 * 2], four[i % 2 * 2 + 1], &words[i % 2].element[i / 2 * 2]);
    }
}

// Of a word of dw as much as there is.
__device__ __forceinline__ void store_up_to(SCALAR* to, const Pack& word, long long count) {
    if (count >= PACK) return store_whole_pack(to, word);
#pragma unroll
    for (int i = 0; i < PACK - 1; ++i) {
        if (i < count) to[i] = word.element[i];
    }
}

// dw = d^T x with up to GROUPS x 8 rows of x, of at least DW_WIDTH columns. Grid: blocks beside each other along `apart` rows, then
// `blockIdx.y` for such rows.
template <int GROUPS>
__device__ __forceinline__ void make_loose_dw(
    const Element* __restrict__ across, const Element* __restrict__ x, SCALAR* __restrict__ dw, int rows,
    unsigned vocab, int hidden, int apart
) {
    constexpr int OF_X = (GROUPS + 1) / 2;  // of 16 rows of x each
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    const int place = (blockIdx.x * DW_WARPS + warp) * DW_WIDTH, of_apart = place / hidden;
    const int column0 = place - of_apart * hidden,
              left = hidden - column0;  // elements of the row, and then of the next
    wait_for_previous();
    let_next_start();
    if (place >= apart * hidden) return;
    // Lane q of a row has 8 q and on, two of each of four products.
    unsigned of_x[4][OF_X][2];
#pragma unroll
    for (int i = 0; i < 4 * OF_X * 2; ++i) {
        const int half = i % 2, product = i / 2 % OF_X, j = i / 2 / OF_X;
        const int along = g / 2 * 8 + j * 2 + g % 2, column = along < left ? column0 + along : along - left;
        const int row = product * 16 + half * 8 + q * 2;
        const unsigned low = row < rows ? __ldg(x + row * hidden + column) : 0;
        const unsigned high = row + 1 < rows ? __ldg(x + (row + 1) * hidden + column) : 0;
        of_x[j][product][half] = low | high << 16;
    }
    unsigned of_row[4];
    bits_of(of_row, left - q * 8);

    const bool has_two = left < DW_WIDTH, is_there = place + q * 8 < apart * hidden;
    const unsigned below = 8 * apart, stride = gridDim.y * 2 * below, row0 = blockIdx.y * 2 * below + g * apart;
    const unsigned* from = reinterpret_cast<const unsigned*>(across) + 1ll * (row0 + of_apart) * (GROUPS * 4) + q;
    const long long first = 1ll * row0 * hidden + place + q * 8, step = 1ll * stride * hidden;
    SCALAR* to = dw + first;
    long long more = 1ll * vocab * hidden - first;
    unsigned of_d[2][OF_X][4], next[2][OF_X][4];
    const auto load = [&](unsigned (&of_two)[2][OF_X][4], unsigned row) {
        load_rows_of_d<GROUPS>(of_two[0], from, row, below, vocab);
        if (has_two) load_rows_of_d<GROUPS>(of_two[1], from + GROUPS * 4, row + 1, below, vocab);
        from += stride * (GROUPS * 4ll);
    };
    load(of_d, row0 + of_apart);
    for (unsigned row = row0; row - g * apart < vocab; row += stride, to += step, more -= step) {
        load(next, row + stride + of_apart);
        Pack words[2];
        make_words(words, of_d[0], of_x);
        if (has_two) {
            Pack others[2];
            make_words(others, of_d[1], of_x);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                unsigned& word = reinterpret_cast<unsigned*>(&words[i / 4])[i % 4];
                word = (word & of_row[i % 4]) | (reinterpret_cast<unsigned*>(&others[i / 4])[i % 4] & ~of_row[i % 4]);
            }
        }
        if (is_there) store_up_to(to, words[0], more);
        if (is_there) store_up_to(to + 1ll * below * hidden, words[1], more - 1ll * below * hidden);
#pragma unroll
        for (int i = 0; i < 2 * OF_X * 4; ++i) {
            of_d[i / 4 / OF_X][i / 4 % OF_X][i % 4] = next[i / 4 / OF_X][i / 4 % OF_X][i % 4];
        }
    }
}

#define LOOSE_DW(ROWS, BLOCKS)                                                                                           \
    extern "C" __global__ void __launch_bounds__(DW_WARPS* WARP, BLOCKS) loose_dw_##ROWS(                         \
        const Element* __restrict__ across, const Element* __restrict__ x, SCALAR* __restrict__ dw,              \
        long long rows, long long vocab, long long hidden, long long apart                                       \
    ) {                                                                                                          \
        make_loose_dw<ROWS / 8>(                                                                                 \
            across, x, dw, static_cast<int>(rows), static_cast<unsigned>(vocab), static_cast<int>(hidden), static_cast<int>(apart)      \
        );                                                                                                       \
    }
LOOSE_DW(8, 3)
LOOSE_DW(16, 3)
LOOSE_DW(32, 2)

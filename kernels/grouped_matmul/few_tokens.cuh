// The products of experts with few tokens each: their matrices go from memory to mma.sync, by registers.
//
// Formula: C[t, j] = sum over l of X[t, l] W[e, j, l], e the expert of token t; n k 2 bytes of each expert that has a token,
//   beside which all others are few.
// Mapping: a block has 16 rows of a matrix and 8 tokens of its run at once; gridDim.x blocks share the rows, gridDim.y
//   has a run each, of those that have a token. The block's warps take turns along k, 128 each, and add up at the end. W is
//   the 16 x 16 operand of mma.m16n8k16 and the tokens are the 16 x 8 one. Both lie along k, and a sum does not care for the
//   order of its terms: a lane reads words of 16 bytes as they lie, and makes 8 neighbours of two of them where rows do not
//   begin on such words.
// Idea: few tokens leave few tiles of wgmma, and each a whole k to copy one stage after the other; and TMA wants rows of
//   whole 16 bytes, a copy of all matrices, which is three times their traffic.
#pragma once

#include "shared/ampere.cuh"
#include "shared/amid_words.cuh"
#include "shared/whole_rows.cuh"

constexpr int FEW_WARPS = 8;
constexpr int FEW_ROWS = 16;                          // of W, in a block
constexpr int FEW_TOKENS = 8;                         // at once: columns of mma.sync
constexpr int FEW_WORDS = 4;                          // of 8 elements, of a lane in a turn
constexpr int FEW_TURN = FEW_WORDS * 8 * 4;           // of k, of a warp
constexpr int FEW_STRIDE = FEW_WARPS * FEW_TURN * 2;  // bytes from a turn of a warp to its next

// Whose rows lie between two addresses.
struct Extent {
    const unsigned char *begin, *end;
};

// A word of 16 bytes near a row's end, of which what lies behind the row is 0.
__device__ __forceinline__ uint4 word_of_row(const unsigned char* at, const unsigned char* row_end, const Extent& all) {
    const long long left = row_end - at;
    if (left <= 0) return make_uint4(0, 0, 0, 0);
    const uint4 word = word_near(at, all.begin, all.end);
    unsigned parts[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (left < i * 4 + 4) parts[i] &= left <= i * 4 ? 0 : (1u << (left - i * 4) * 8) - 1;
    }
    return make_uint4(parts[0], parts[1], parts[2], parts[3]);
}

// A row as a lane reads it: its next word, and how many bytes behind that its own elements begin.
struct LaneOfRow {
    const unsigned char* at;
    unsigned past;

    // `offset`: of the lane's first element in the row, in bytes.
    __device__ __forceinline__ LaneOfRow(const unsigned char* row, long long offset)
        : at(row + offset), past(reinterpret_cast<unsigned long long>(at) % 16) {
        at -= past;
    }
};

// A lane's part of a row in a turn. WORDS: rows begin on words of 16 bytes, and the lanes of four have neighbouring words; or
// else each has neighbours of its own, and one word more.
template <bool WORDS>
struct PartOfRow {
    static constexpr int COUNT = WORDS ? FEW_WORDS : FEW_WORDS + 1, PITCH = WORDS ? 64 : 16;
    uint4 words[COUNT];

    // From `offset` on, of so many bytes of a row; what lies outside `all` cannot be read, what lies outside the row is 0.
    __device__ __forceinline__ void load(LaneOfRow& lane, long long offset, long long row_bytes, const Extent& all) {
        const unsigned char* const at = lane.at;
        const bool in_row = offset + (COUNT - 1) * PITCH + (WORDS ? 16 : 0) <= row_bytes;
        if (in_row && at >= all.begin && at + (COUNT - 1) * PITCH + 16 <= all.end) {
#pragma unroll
            for (int i = 0; i < COUNT; ++i) words[i] = __ldg(reinterpret_cast<const uint4*>(at + i * PITCH));
        } else {
            const unsigned char* const row_end = at + lane.past - offset + row_bytes;
#pragma unroll
            for (int i = 0; i < COUNT; ++i) words[i] = word_of_row(at + i * PITCH, row_end, all);
        }
        lane.at += FEW_STRIDE;
    }

    // 8 neighbours along k, which begin so many bytes behind the word.
    __device__ __forceinline__ void read(int i, unsigned past, unsigned (&eight)[4]) const {
        if constexpr (WORDS) {
            eight[0] = words[i].x, eight[1] = words[i].y, eight[2] = words[i].z, eight[3] = words[i].w;
        } else {
            bytes_amid(words[i], words[i + 1], past, eight);
        }
    }
};

// The run number `which` of those that have a token, its expert less than none where there is none. By a whole warp.
struct FewRun {
    int expert = -1, begin = 0, end = 0;

    __device__ __forceinline__ FewRun(const int* offsets, int experts, int tokens, int which) {
        const int lane = threadIdx.x % WARP;
        const auto offset_of = [&](int at) { return min(max(__ldg(offsets + min(at, experts)), 0), tokens); };
        for (int first = 0; first < experts; first += 4 * WARP) {
            int begins[4], ends[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                begins[i] = offset_of(first + i * WARP + lane), ends[i] = offset_of(first + i * WARP + lane + 1);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const unsigned runs = __ballot_sync(WHOLE_WARP, begins[i] < ends[i]);
                const int count = __popc(runs);
                if (which >= 0 && which < count) {
                    unsigned left = runs;
                    for (int j = 0; j < which; ++j) left &= left - 1;
                    const int from = __ffs(left) - 1;
                    expert = first + i * WARP + from;
                    begin = __shfl_sync(WHOLE_WARP, begins[i], from), end = __shfl_sync(WHOLE_WARP, ends[i], from);
                }
                which -= count;
            }
            if (which < 0) return;
        }
    }
};

template <bool WORDS>
__device__ __forceinline__ void multiply_few_tokens(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ c, const int* __restrict__ offsets,
    long long tokens, long long experts, long long n, long long k
) {
    __shared__ float parts[FEW_WARPS][FEW_TOKENS][FEW_ROWS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    const long long row0 = static_cast<long long>(blockIdx.x) * FEW_ROWS;
    wait_for_previous();
    let_next_start();
    const FewRun run(offsets, static_cast<int>(experts), static_cast<int>(tokens), static_cast<int>(blockIdx.y));
    if (run.expert < 0) return;
    const auto* const bytes_of_w = reinterpret_cast<const unsigned char*>(w);
    const auto* const bytes_of_x = reinterpret_cast<const unsigned char*>(x);
    const long long row_bytes = k * 2, begin = warp * (FEW_TURN * 2) + q * (WORDS ? 16 : 16 * FEW_WORDS);
    const Extent all_w{bytes_of_w, bytes_of_w + experts * n * row_bytes};
    const Extent all_x{bytes_of_x, bytes_of_x + tokens * row_bytes};
    for (int first = run.begin; first < run.end; first += FEW_TOKENS) {
        // Sums of rows and tokens that are not there are not stored.
        const auto of_w = [&](int half) {
            return LaneOfRow(
                bytes_of_w + (static_cast<long long>(run.expert) * n + min(row0 + half * 8 + g, n - 1)) * row_bytes,
                begin
            );
        };
        LaneOfRow rows[2] = {of_w(0), of_w(1)};
        LaneOfRow token_row(bytes_of_x + min(first + g, run.end - 1) * row_bytes, begin);
        float sum[4] = {};
        for (long long turn = warp * (FEW_TURN * 2); turn < row_bytes; turn += FEW_STRIDE) {
            const long long at = turn - warp * (FEW_TURN * 2) + begin;
            PartOfRow<WORDS> part_w[2], part_x;
#pragma unroll
            for (int i = 0; i < 2; ++i) part_w[i].load(rows[i], at, row_bytes, all_w);
            part_x.load(token_row, at, row_bytes, all_x);
#pragma unroll
            for (int word = 0; word < FEW_WORDS; ++word) {
                unsigned of_rows[2][4], of_tokens[4];
#pragma unroll
                for (int i = 0; i < 2; ++i) part_w[i].read(word, rows[i].past, of_rows[i]);
                part_x.read(word, token_row.past, of_tokens);
#pragma unroll
                for (int i = 0; i < 4; i += 2) {
                    const unsigned four[4] = {of_rows[0][i], of_rows[1][i], of_rows[0][i + 1], of_rows[1][i + 1]};
                    multiply_add(sum, four, of_tokens[i], of_tokens[i + 1]);
                }
            }
        }
        if (first > run.begin) __syncthreads();  // all have read the sums of the tokens before
#pragma unroll
        for (int i = 0; i < 4; ++i) parts[warp][q * 2 + i % 2][g + i / 2 * 8] = sum[i];
        __syncthreads();
        const int token = threadIdx.x / FEW_ROWS, row = threadIdx.x % FEW_ROWS;
        if (token >= FEW_TOKENS || first + token >= run.end || row0 + row >= n) continue;
        float total = 0.0f;
#pragma unroll
        for (int i = 0; i < FEW_WARPS; ++i) total += parts[i][token][row];
        from_float(total, c[(first + token) * n + row0 + row]);
    }
}

#define FEW_TOKENS_KERNEL(NAME, WORDS)                                                                            \
    extern "C" __global__ void __launch_bounds__(FEW_WARPS * WARP, 2) NAME(                                       \
        const SCALAR* x, const SCALAR* w, SCALAR* c, const int* offsets, long long tokens, long long experts,     \
        long long n, long long k                                                                                  \
    ) {                                                                                                           \
        multiply_few_tokens<WORDS>(x, w, c, offsets, tokens, experts, n, k);                                      \
    }
FEW_TOKENS_KERNEL(few_tokens_words, true)
FEW_TOKENS_KERNEL(few_tokens_loose, false)

// The products of experts with short sums and few tokens each: a warp holds its part of a matrix in registers.
//
// Mapping: of a block's 8 warps SHARING are neighbours along k, and the others have 16 rows of the matrix each, so that no warp
//   of a short sum is idle. A warp reads its words once, all at the same time, as they lie in memory; then its run's
//   tokens pass by, GROUPS times 8 at once. gridDim.y blocks have a run each of those that have a token; or an expert each,
//   and then they ask for its matrix before they know of its tokens.
// Idea: few_tokens.cuh, of which the turn is the only one.
#pragma once

#include "grouped_matmul/few_tokens.cuh"

constexpr int TURN_WORDS = 4;    // of 8 elements, of a lane at most
constexpr int PARTS_PITCH = 20;  // of a token's 16 sums: lanes that store beside each other meet different banks

// The part of a row that a lane has: `words` of 16 bytes, neighbours or, where rows begin on words, four apart.
template <bool WORDS>
struct LanePart {
    static constexpr int COUNT = WORDS ? TURN_WORDS : TURN_WORDS + 1, PITCH = WORDS ? 64 : 16;
    int first;  // byte of a row
    int bytes;  // from there to the row's end
    int count;  // words of 8 elements that the warp's lanes have, as many as any of them

    // Of lane `q` of four, and the warp number `share` of SHARING along k.
    template <int SHARING>
    static __device__ __forceinline__ LanePart of(int q, int share, int row_bytes) {
        const int count = (row_bytes + 16 * 4 * SHARING - 1) / (16 * 4 * SHARING);
        const int first = WORDS ? share * count * 64 + q * 16 : (share * 4 + q) * count * 16;
        return {first, row_bytes - first, count};
    }

    // Those of a row; 0 where a word has none of it. What lies outside `all` cannot be read.
    __device__ __forceinline__ void load(uint4 (&words)[COUNT], const unsigned char* row, const Extent& all) const {
        const unsigned char* const from = row + first;
        const int past = WORDS ? 0 : static_cast<int>(reinterpret_cast<unsigned long long>(from) % 16);
        const int last = WORDS ? bytes : past + min(bytes, count * 16);  // byte behind the lane's, from its first word
        bool at_an_edge = false;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const unsigned char* const at = from - past + i * PITCH;
            const bool is_there = i * PITCH < last && (!WORDS || i < count) && bytes > 0;
            const bool is_whole = is_there && (WORDS || (at >= all.begin && at + 16 <= all.end));
            at_an_edge |= is_there && !is_whole;
            asm volatile("{\n.reg .pred whole;\nsetp.ne.u32 whole, %5, 0;\n"
                         "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                         "@whole ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                         : "=r"(words[i].x), "=r"(words[i].y), "=r"(words[i].z), "=r"(words[i].w)
                         : "l"(at), "r"(static_cast<unsigned>(is_whole)));
        }
        if (WORDS || !__any_sync(WHOLE_WARP, at_an_edge)) return;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const unsigned char* const at = from - past + i * PITCH;
            if (i * PITCH >= last || bytes <= 0 || (at >= all.begin && at + 16 <= all.end)) continue;
            words[i] = word_near(at, all.begin, all.end);
        }
    }

    // 8 neighbours along k, number `i`; 0 behind the row's end.
    __device__ __forceinline__ void read(
        const uint4 (&words)[COUNT], int i, unsigned past, unsigned (&eight)[4]
    ) const {
        if constexpr (WORDS) {
            eight[0] = words[i].x, eight[1] = words[i].y, eight[2] = words[i].z, eight[3] = words[i].w;
        } else {
            bytes_amid(words[i], words[i + 1], past, eight);
            const int left = bytes - i * 16;
            if (left >= 16) return;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (left < j * 4 + 4) eight[j] &= left <= j * 4 ? 0 : (1u << (left - j * 4) * 8) - 1;
            }
        }
    }
};

template <bool WORDS, int SHARING, int GROUPS>
__device__ __forceinline__ void multiply_in_one_turn(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ c, const int* __restrict__ offsets,
    long long tokens, long long experts, long long n, long long k, bool by_expert
) {
    using Part = LanePart<WORDS>;
    constexpr int ROWS = FEW_WARPS / SHARING * FEW_ROWS, TOKENS = GROUPS * FEW_TOKENS;
    __shared__ float parts[FEW_WARPS][TOKENS][PARTS_PITCH];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    const int row_bytes = static_cast<int>(k) * 2;
    const long long block_row = static_cast<long long>(blockIdx.x) * ROWS;
    const long long first_row = block_row + warp / SHARING * FEW_ROWS + g;
    const Part part = Part::template of<SHARING>(q, warp % SHARING, row_bytes);
    const auto* const bytes_of_w = reinterpret_cast<const unsigned char*>(w);
    const auto* const bytes_of_x = reinterpret_cast<const unsigned char*>(x);
    const Extent all_w{bytes_of_w, bytes_of_w + experts * n * row_bytes};
    const Extent all_x{bytes_of_x, bytes_of_x + tokens * row_bytes};
    wait_for_previous();
    let_next_start();
    int expert = static_cast<int>(blockIdx.y), begin = 0, end = 0;
    if (by_expert) {
        begin = min(max(__ldg(offsets + expert), 0), static_cast<int>(tokens));
        end = min(max(__ldg(offsets + expert + 1), 0), static_cast<int>(tokens));
    } else {
        const FewRun run(offsets, static_cast<int>(experts), static_cast<int>(tokens), expert);
        expert = run.expert, begin = run.begin, end = run.end;
        if (expert < 0) return;
    }
    uint4 of_w[2][Part::COUNT];
    unsigned past_w[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        // Sums of rows and tokens that are not there are not stored.
        const long long row = expert * n + min(first_row + i * 8, n - 1);
        past_w[i] = reinterpret_cast<unsigned long long>(bytes_of_w + row * row_bytes + part.first) % 16;
        part.load(of_w[i], bytes_of_w + row * row_bytes, all_w);
    }
    for (int first = begin; first < end; first += TOKENS) {
        uint4 of_x[GROUPS][Part::COUNT];
        unsigned past_x[GROUPS];
#pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
            const unsigned char* const row =
                bytes_of_x + static_cast<long long>(min(first + group * FEW_TOKENS + g, end - 1)) * row_bytes;
            past_x[group] = reinterpret_cast<unsigned long long>(row + part.first) % 16;
            part.load(of_x[group], row, all_x);
        }
        float sum[GROUPS][4] = {};
#pragma unroll
        for (int word = 0; word < TURN_WORDS; ++word) {
            if (word >= part.count) break;
            unsigned of_rows[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) part.read(of_w[i], word, past_w[i], of_rows[i]);
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                unsigned of_tokens[4];
                part.read(of_x[group], word, past_x[group], of_tokens);
#pragma unroll
                for (int i = 0; i < 4; i += 2) {
                    const unsigned four[4] = {of_rows[0][i], of_rows[1][i], of_rows[0][i + 1], of_rows[1][i + 1]};
                    multiply_add(sum[group], four, of_tokens[i], of_tokens[i + 1]);
                }
            }
        }
        if (first > begin) __syncthreads();  // all have read the sums of the tokens before
#pragma unroll
        for (int i = 0; i < GROUPS * 4; ++i) {
            parts[warp][i / 4 * FEW_TOKENS + q * 2 + i % 2][g + i % 4 / 2 * 8] = sum[i / 4][i % 4];
        }
        __syncthreads();
#pragma unroll
        for (int i = threadIdx.x; i < TOKENS * ROWS; i += FEW_WARPS * WARP) {
            const int token = i / ROWS, row = i % ROWS;
            if (first + token >= end || block_row + row >= n) continue;
            float total = 0.0f;
#pragma unroll
            for (int share = 0; share < SHARING; ++share) {
                total += parts[row / FEW_ROWS * SHARING + share][token][row % FEW_ROWS];
            }
            from_float(total, c[(first + token) * n + block_row + row]);
        }
    }
}

#define ONE_TURN_KERNEL(NAME, WORDS, SHARING, GROUPS)                                                             \
    extern "C" __global__ void __launch_bounds__(FEW_WARPS * WARP, (WORDS) || (GROUPS) == 1 ? 2 : 1) NAME(        \
        const SCALAR* x, const SCALAR* w, SCALAR* c, const int* offsets, long long tokens, long long experts,     \
        long long n, long long k, long long by_expert                                                             \
    ) {                                                                                                           \
        multiply_in_one_turn<WORDS, SHARING, GROUPS>(x, w, c, offsets, tokens, experts, n, k, by_expert);         \
    }
#define ONE_TURN_KERNELS(SHARING)                                                                                 \
    ONE_TURN_KERNEL(one_turn_words_##SHARING##_1, true, SHARING, 1)                                               \
    ONE_TURN_KERNEL(one_turn_words_##SHARING##_2, true, SHARING, 2)                                               \
    ONE_TURN_KERNEL(one_turn_loose_##SHARING##_1, false, SHARING, 1)                                              \
    ONE_TURN_KERNEL(one_turn_loose_##SHARING##_2, false, SHARING, 2)
ONE_TURN_KERNELS(1)
ONE_TURN_KERNELS(2)
ONE_TURN_KERNELS(4)
ONE_TURN_KERNELS(8)

// int8 rows back to numbers, 16 bytes a store.
//
// Formula: x[r, c] = q[r, c] scale[r]; rows cols FLOP, rows (cols (1 + s) + s) bytes.
// Mapping: the matrix is one run, whose packs are aligned on both sides: a thread turns 4 or 8 codes into one pack of 16
//   bytes, which may end in another row than it begins in. Small matrices of long rows of whole packs have a block for
//   each part of a row, those of other rows a thread for each element. Where codes and x are not aligned alike, a block is
//   a tile of blockDim.y rows by UNROLL blockDim.x packs, all of a thread's loaded before the first is used: rows are cut
//   into packs where x is aligned, and codes that are not aligned there are read one by one.
// Idea: conversions from integers run at a quarter of the rate of the rest: a byte b, its sign bit turned over, is
//   placed under the exponent of 2^23 instead, which gives 2^23 + 128 + b, and 2^23 + 128 comes off exactly.
#include "shared/common.cuh"
#include "shared/division.cuh"
#include "shared/overlap.cuh"

constexpr int UNROLL = 4;  // as in cuda_packed.py
constexpr float BIAS = 8388608.0f + 128.0f;

struct alignas(PACK) Codes {
    unsigned word[PACK / 4];
};

__device__ __forceinline__ Codes load_codes(const signed char* q, bool aligned) {
    if (aligned) return *reinterpret_cast<const Codes*>(q);
    Codes codes = {};
#pragma unroll
    for (int i = 0; i < PACK; ++i) codes.word[i / 4] |= (q[i] & 0xffu) << i % 4 * 8;
    return codes;
}

// One access: the compiler takes that of store_pack apart here, into four of 4 bytes.
__device__ __forceinline__ void store_whole(SCALAR* x, const Pack& pack) {
    const uint4 bits = reinterpret_cast<const uint4&>(pack);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(x), "r"(bits.x), "r"(bits.y), "r"(bits.z),
                 "r"(bits.w));
}

// By the scale of each element, scale_of(number).
template <typename Scale>
__device__ __forceinline__ void dequantize_pack_by(const Codes& codes, SCALAR* x, const Scale& scale_of) {
    float values[PACK];
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        const unsigned bits = __byte_perm(codes.word[i / 4] ^ 0x80808080u, 0x4b000000u, 0x7440 + i % 4);
        values[i] = (__uint_as_float(bits) - BIAS) * scale_of(i);
    }
    store_whole(x, to_pack(values));
}

__device__ __forceinline__ void dequantize_pack(const Codes& codes, float scale, SCALAR* x) {
    dequantize_pack_by(codes, x, [scale](int) { return scale; });
}

extern "C" __global__ void __launch_bounds__(256) dequantize(
    const signed char* __restrict__ q, const SCALAR* __restrict__ scales, SCALAR* __restrict__ x, long long rows,
    long long cols
) {
    start_early();
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    q += row * cols;
    x += row * cols;
    const float scale = to_float(scales[row]);
    const AlignedRun run(x, cols);
    const long long first = static_cast<long long>(blockIdx.y) * blockDim.x * UNROLL + threadIdx.x;
    if (first < run.edges) {
        const long long at = run.edge_at(static_cast<int>(first));
        from_float(static_cast<float>(q[at]) * scale, x[at]);
    }
    q += run.head;
    x += run.head;
    const bool aligned = reinterpret_cast<unsigned long long>(q) % PACK == 0;
    Codes codes[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long pack = first + u * blockDim.x;
        if (pack < run.packs) codes[u] = load_codes(q + pack * PACK, aligned);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long pack = first + u * blockDim.x;
        if (pack >= run.packs) break;
        dequantize_pack(codes[u], scale, x + pack * PACK);
    }
}

// One pack a thread, where rows are whole packs: a small matrix is spread over as many threads as can be.
extern "C" __global__ void __launch_bounds__(128) dequantize_few(
    const signed char* __restrict__ q, const SCALAR* __restrict__ scales, SCALAR* __restrict__ x, long long cols
) {
    start_early();
    const long long row = blockIdx.x;
    const long long col = (static_cast<long long>(blockIdx.y) * blockDim.x + threadIdx.x) * PACK;
    if (col >= cols) return;
    const long long at = row * cols + col;
    dequantize_pack(load_codes(q + at, true), to_float(scales[row]), x + at);
}

// The matrix as one run of `count` elements, below 2^31, a pack a thread.
extern "C" __global__ void __launch_bounds__(256) dequantize_run(
    const signed char* __restrict__ q, const SCALAR* __restrict__ scales, SCALAR* __restrict__ x, long long count,
    long long cols, long long multiplier, long long shift
) {
    start_early();
    const unsigned first = static_cast<unsigned>(thread_of_grid()) * PACK, end = static_cast<unsigned>(count);
    if (first >= end) return;
    const Division by_cols(cols, multiplier, shift);
    const unsigned row = by_cols.quotient(first), col = by_cols.remainder(first, row);
    if (first + PACK > end) {
        for (unsigned at = first; at < end; ++at) {
            from_float(static_cast<float>(q[at]) * to_float(scales[by_cols.quotient(at)]), x[at]);
        }
        return;
    }
    const Codes codes = load_codes(q + first, true);
    if (cols >= PACK) {
        const unsigned left = static_cast<unsigned>(cols) - col;
        const float scale = to_float(scales[row]), next = left < PACK ? to_float(scales[row + 1]) : scale;
        dequantize_pack_by(codes, x + first, [&](unsigned number) { return number < left ? scale : next; });
    } else {
        dequantize_pack_by(codes, x + first, [&](unsigned number) {
            return to_float(scales[by_cols.quotient(first + number)]);
        });
    }
}

// An element a thread: of a small matrix more threads have something to do, and each has less.
extern "C" __global__ void __launch_bounds__(256) dequantize_elements(
    const signed char* __restrict__ q, const SCALAR* __restrict__ scales, SCALAR* __restrict__ x, long long count,
    long long cols, long long multiplier, long long shift
) {
    start_early();
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const Division by_cols(cols, multiplier, shift);
    from_float(static_cast<float>(q[at]) * to_float(scales[by_cols.quotient(at)]), x[at]);
}

// Rows to int8 with the row in registers: one read of memory, one reduction a row.
//
// Formula: q[r, c] = round(x[r, c] / scale[r]), scale[r] = max_c |x[r, c]| / 127. 3 rows cols FLOP,
//   rows (cols (s + 1) + 4) bytes.
// Mapping: a row group owns a row: a warp up to 1024 columns, a block up to 32768. A thread keeps PACKS packs
//   of 16 bytes as they came, all of them under way at once; the row group finds the largest magnitude, and each pack
//   leaves as 4 or 8 codes in one access. Longer rows: quantize_long reads the row twice.
// Idea: softmax/cuda_registers without its sum. Magnitudes are compared as integers, two 16-bit elements an
//   instruction, so that NaN is not passed over; quotients are exact to the last bit without a division: quantise.cuh.
#include "shared/quantise.cuh"

using Row = Quantiser<127>;

__device__ __forceinline__ unsigned over_block(unsigned bits) {
    __shared__ unsigned partial[WARP];
    const int lane = threadIdx.x % WARP;
    bits = largest_over<WARP>(bits);
    if (lane == 0) partial[threadIdx.x / WARP] = bits;
    __syncthreads();
    return largest_over<WARP>(lane < blockDim.x / WARP ? partial[lane] : 0);
}

__device__ __forceinline__ void store_codes(signed char* q, const Pack& pack, const Row& row, bool aligned) {
    PackedBytes codes;
#pragma unroll
    for (int i = 0; i < PACK; i += 4) {
        const SCALAR* x = pack.element + i;
        codes.word[i / 4] = low_bytes(
            row.code(to_float(x[0])), row.code(to_float(x[1])), row.code(to_float(x[2])), row.code(to_float(x[3]))
        );
    }
    if (aligned) {
        *reinterpret_cast<PackedBytes*>(q) = codes;
    } else {
        for (int i = 0; i < PACK; ++i) q[i] = static_cast<signed char>(codes.word[i / 4] >> i % 4 * 8);
    }
}

__device__ __forceinline__ bool takes_packs(const signed char* q) {
    return reinterpret_cast<unsigned long long>(q) % PACK == 0;
}

// The row is short enough for 32-bit indices.
template <int PACKS, bool WHOLE_BLOCK>
__device__ __forceinline__ void quantize_row(
    const SCALAR* x, signed char* q, float* scale, long long cols, int thread, int threads
) {
    const AlignedRun run(x, cols);
    Pack packs[PACKS] = {};
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int pack = thread + p * threads;
        if (pack < static_cast<int>(run.packs)) packs[p] = load_pack_evict_last(x + run.head + pack * PACK);
    }
    SCALAR edge{};
    if (thread < run.edges) edge = x[run.edge_at(thread)];

    unsigned largest = bits_of(edge);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) largest = largest_of(packs[p], largest);
    largest = largest_half(largest);
    const Row row(magnitude_of(WHOLE_BLOCK ? over_block(largest) : largest_over<WARP>(largest)));

    if (thread == 0) *scale = row.scale;
    if (thread < run.edges) q[run.edge_at(thread)] = static_cast<signed char>(row.code(to_float(edge)));
    const bool aligned = takes_packs(q + run.head);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int pack = thread + p * threads;
        if (pack < static_cast<int>(run.packs)) store_codes(q + run.head + pack * PACK, packs[p], row, aligned);
    }
}

#define WARP_KERNEL(VALUES)                                                                                  \
    extern "C" __global__ void __launch_bounds__(128) quantize_warp_##VALUES(                                \
        const SCALAR* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, long long rows, \
        long long cols) {                                                                                    \
        const long long row = static_cast<long long>(blockIdx.x) * (blockDim.x / WARP) + threadIdx.x / WARP; \
        if (row >= rows) return;                                                                             \
        quantize_row<VALUES / PACK, false>(                                                                  \
            x + row * cols, q + row * cols, scale + row, cols, threadIdx.x % WARP, WARP);                    \
    }
#define BLOCK_KERNEL(VALUES)                                                                                 \
    extern "C" __global__ void __launch_bounds__(1024) quantize_block_##VALUES(                              \
        const SCALAR* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, long long cols) { \
        const long long row = blockIdx.x;                                                                    \
        quantize_row<VALUES / PACK, true>(                                                                   \
            x + row * cols, q + row * cols, scale + row, cols, threadIdx.x, blockDim.x);                     \
    }

WARP_KERNEL(8)
WARP_KERNEL(16)
WARP_KERNEL(32)
BLOCK_KERNEL(16)
BLOCK_KERNEL(32)

// Rows longer than the registers of a block: the largest magnitude in a first pass, codes in a second, which finds
// the row in L2 where it fits there.
extern "C" __global__ void __launch_bounds__(1024) quantize_long(
    const SCALAR* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, long long cols
) {
    x += blockIdx.x * cols;
    q += blockIdx.x * cols;
    const AlignedRun run(x, cols);
    const int thread = threadIdx.x;
    SCALAR edge{};
    if (thread < run.edges) edge = x[run.edge_at(thread)];

    unsigned largest = bits_of(edge);
    for (long long pack = thread; pack < run.packs; pack += blockDim.x) {
        largest = largest_of(load_pack(x + run.pack_at(pack)), largest);
    }
    const Row row(magnitude_of(over_block(largest_half(largest))));

    if (thread == 0) scale[blockIdx.x] = row.scale;
    if (thread < run.edges) q[run.edge_at(thread)] = static_cast<signed char>(row.code(to_float(edge)));
    const bool aligned = takes_packs(q + run.head);
    for (long long pack = thread; pack < run.packs; pack += blockDim.x) {
        store_codes(q + run.pack_at(pack), load_pack(x + run.pack_at(pack)), row, aligned);
    }
}

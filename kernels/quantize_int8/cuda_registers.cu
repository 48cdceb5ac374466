// Rows to int8 with the row in registers: one read of memory, one reduction a row.
//
// Formula: q[r, c] = round(x[r, c] / scale[r]), scale[r] = max_c |x[r, c]| / 127. 3 rows cols FLOP,
//   rows (cols (s + 1) + 4) bytes.
// Mapping: a row group owns a row: 1 to 16 lanes up to 256 bytes, a warp up to 1024 columns, a block up to 32768, a
//   cluster up to 262144. A thread keeps PACKS packs
//   of 16 bytes as they came, all of them under way at once; the row group finds the largest magnitude, and each pack
//   leaves as 4 or 8 codes in one access. Longer rows are read twice, by a block each, or where they are few by a
//   block for each piece, in two kernels, the second launched while the first one works. Where a row begins on no 16
//   bytes, neither does its codes' row on 4 or 8, but whole packs of the one are whole words of the other. Very many such
//   rows that are short have a thread each, by way of shared memory.
// Idea: cuda_naive reads the row for its maximum and again for its codes; here it waits in registers, as in
//   softmax/cuda_registers, whose sum is left out. Magnitudes are compared as integers, two 16-bit elements an
//   instruction, so that NaN is not passed over; quotients are exact to the last bit without a division: quantise.cuh.
#include "shared/cluster_exchange.cuh"
#include "shared/overlap.cuh"
#include "shared/quantise.cuh"
#include "shared/slab_rows.cuh"

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
template <int GROUP, int PACKS, int CLUSTER = 1>
__device__ __forceinline__ void quantize_row(
    const SCALAR* x, signed char* q, float* scale, long long cols, int thread, int threads
) {
    constexpr int MOST_EDGES = 2 * (PACK - 1), EDGES = GROUP < MOST_EDGES ? (MOST_EDGES + GROUP - 1) / GROUP : 1;
    const AlignedRun run(x, cols);
    Pack packs[PACKS] = {};
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int pack = thread + p * threads;
        if (pack < static_cast<int>(run.packs)) packs[p] = load_pack_evict_last(x + run.head + pack * PACK);
    }
    SCALAR edges[EDGES] = {};
    unsigned largest = 0;
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        const int edge = thread + e * GROUP;
        if (edge < run.edges) edges[e] = x[run.edge_at(edge)];
        largest = max(largest, bits_of(edges[e]));
    }
#pragma unroll
    for (int p = 0; p < PACKS; ++p) largest = largest_of(packs[p], largest);
    largest = largest_half(largest);
    if constexpr (GROUP > WARP) largest = over_block(largest);
    else largest = largest_over<GROUP>(largest);
#ifdef HAS_CLUSTERS
    if (CLUSTER > 1) largest = over_cluster<CLUSTER>(largest, [](unsigned a, unsigned b) { return max(a, b); });
#endif
    const Row row(magnitude_of(largest));

    if (thread == 0 && scale) *scale = row.scale;
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        const int edge = thread + e * GROUP;
        if (edge < run.edges) q[run.edge_at(edge)] = static_cast<signed char>(row.code(to_float(edges[e])));
    }
    const bool aligned = takes_packs(q + run.head);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int pack = thread + p * threads;
        if (pack < static_cast<int>(run.packs)) store_codes(q + run.head + pack * PACK, packs[p], row, aligned);
    }
}

// A row past the last one is one without columns.
#define LANES_KERNEL(NAME, GROUP, PACKS)                                                                      \
    extern "C" __global__ void __launch_bounds__(128) quantize_##NAME(                                       \
        const SCALAR* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, long long rows, \
        long long cols) {                                                                                    \
        start_early();                                                                                       \
        const long long row = static_cast<long long>(blockIdx.x) * (blockDim.x / GROUP) + threadIdx.x / GROUP; \
        if (row - threadIdx.x % WARP / GROUP >= rows) return;                                                \
        quantize_row<GROUP, PACKS>(                                                                          \
            x + row * cols, q + row * cols, row < rows ? scale + row : nullptr, row < rows ? cols : 0,       \
            threadIdx.x % GROUP, GROUP);                                                                     \
    }
#define BLOCK_KERNEL(VALUES)                                                                                 \
    extern "C" __global__ void __launch_bounds__(1024) quantize_block_##VALUES(                              \
        const SCALAR* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, long long cols) { \
        start_early();                                                                                       \
        const long long row = blockIdx.x;                                                                    \
        quantize_row<2 * WARP, VALUES / PACK>(                                                               \
            x + row * cols, q + row * cols, scale + row, cols, threadIdx.x, blockDim.x);                     \
    }

LANES_KERNEL(lanes_1, 1, 1)
LANES_KERNEL(lanes_2, 2, 1)
LANES_KERNEL(lanes_4, 4, 1)
LANES_KERNEL(lanes_8, 8, 1)
LANES_KERNEL(lanes_16, 16, 1)
LANES_KERNEL(warp_8, WARP, 8 / PACK)
LANES_KERNEL(warp_16, WARP, 16 / PACK)
LANES_KERNEL(warp_32, WARP, 32 / PACK)
BLOCK_KERNEL(16)
BLOCK_KERNEL(32)

// Many short rows that begin on no 16 bytes, a thread each, by way of shared memory.
template <int WIDTH>
__device__ __forceinline__ void quantize_slab(
    const SCALAR* x, signed char* q, float* scale, long long rows, long long cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols);
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(behind_slabs(slab_packs, slab.cols, 1));
    slab.load(x);
    if (static_cast<int>(threadIdx.x) < slab.rows) {
        const SlabRow<WIDTH> here(slab.row(threadIdx.x), slab.cols);
        unsigned largest = 0;
        for_elements<WRITES_NONE>(here, [&](int, const SCALAR& element) { largest = max(largest, bits_of(element)); });
        const Row row(magnitude_of(largest));
        unsigned char* const codes = bytes + threadIdx.x * slab.cols;
        for_elements<WRITES_NONE>(here, [&](int column, const SCALAR& element) {
            codes[column] = static_cast<unsigned char>(row.code(to_float(element)));
        });
        scale[slab.first + threadIdx.x] = row.scale;
    }
    store_bytes(slab, bytes, reinterpret_cast<unsigned char*>(q));
}

#define SLAB_KERNEL(WIDTH)                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) quantize_slab_##WIDTH##_1(                                \
        const SCALAR* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, long long rows, \
        long long cols) {                                                                                     \
        start_early();                                                                                        \
        quantize_slab<WIDTH>(x, q, scale, rows, cols);                                                        \
    }

SLAB_KERNEL(1)
SLAB_KERNEL(2)
SLAB_KERNEL(4)

#ifdef HAS_CLUSTERS
// A cluster a row, a piece of `length` elements a block.
#define CLUSTER_KERNEL(CLUSTER)                                                                              \
    extern "C" __global__ void __cluster_dims__(CLUSTER) __launch_bounds__(1024) quantize_cluster_##CLUSTER( \
        const SCALAR* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, long long cols, \
        long long length) {                                                                                  \
        tell_cluster();                                                                                      \
        const long long row = blockIdx.x / CLUSTER, start = rank_in_cluster() * length;                         \
        const long long left = max(cols - start, 0ll), at = row * cols + start;                              \
        quantize_row<2 * WARP, 32 / PACK, CLUSTER>(                                                          \
            x + at, q + at, start ? nullptr : scale + row, min(left, length), threadIdx.x, blockDim.x);      \
    }

CLUSTER_KERNEL(2)
CLUSTER_KERNEL(4)
CLUSTER_KERNEL(8)
#endif

// ---- Rows longer than the registers of a block: largest magnitudes in a first pass, codes in a second, which finds
// the row in L2 where it fits there ---------------------------------------------------------------------------------

constexpr int UNROLL = 4;

// Calls act(number, pack) for the thread's packs of a run, some of them under way at once.
template <class Act>
__device__ __forceinline__ void for_packs(const SCALAR* x, const AlignedRun& run, Act act) {
    const long long threads = blockDim.x;
    long long pack = threadIdx.x;
    for (; pack + (UNROLL - 1) * threads < run.packs; pack += UNROLL * threads) {
        Pack packs[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) packs[u] = load_pack(x + run.pack_at(pack + u * threads));
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) act(pack + u * threads, packs[u]);
    }
    for (; pack < run.packs; pack += threads) act(pack, load_pack(x + run.pack_at(pack)));
}

// Bits of the largest magnitude of a run; every thread gets them.
__device__ __forceinline__ unsigned largest_of_run(const SCALAR* x, const AlignedRun& run) {
    unsigned largest = threadIdx.x < run.edges ? bits_of(x[run.edge_at(threadIdx.x)]) : 0;
    for_packs(x, run, [&](long long, const Pack& pack) { largest = largest_of(pack, largest); });
    return over_block(largest_half(largest));
}

__device__ __forceinline__ void quantize_run(const SCALAR* x, signed char* q, const AlignedRun& run, const Row& row) {
    if (threadIdx.x < run.edges) {
        const long long at = run.edge_at(threadIdx.x);
        q[at] = static_cast<signed char>(row.code(to_float(x[at])));
    }
    const bool aligned = takes_packs(q + run.head);
    for_packs(x, run, [&](long long number, const Pack& pack) {
        store_codes(q + run.pack_at(number), pack, row, aligned);
    });
}

extern "C" __global__ void __launch_bounds__(1024) quantize_long(
    const SCALAR* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, long long cols
) {
    x += blockIdx.x * cols;
    const AlignedRun run(x, cols);
    const Row row(magnitude_of(largest_of_run(x, run)));
    if (threadIdx.x == 0) scale[blockIdx.x] = row.scale;
    quantize_run(x, q + blockIdx.x * cols, run, row);
}

// Few rows: a block a piece of `length` elements, the last one of a row shorter. An integer maximum is the same in
// any order.
struct Piece {
    long long row, start, length;

    __device__ __forceinline__ Piece(long long cols, long long length, long long pieces) {
        row = blockIdx.x / static_cast<unsigned>(pieces);
        start = blockIdx.x % static_cast<unsigned>(pieces) * length;
        this->length = cols - start < length ? cols - start : length;
    }
};

extern "C" __global__ void __launch_bounds__(512) quantize_piece_largest(
    const SCALAR* __restrict__ x, unsigned* __restrict__ largest, long long cols, long long length, long long pieces
) {
    let_next_start();
    const Piece piece(cols, length, pieces);
    x += piece.row * cols + piece.start;
    const unsigned bits = largest_of_run(x, AlignedRun(x, piece.length));
    if (threadIdx.x == 0) largest[blockIdx.x] = bits;
}

extern "C" __global__ void __launch_bounds__(512) quantize_piece(
    const SCALAR* __restrict__ x, const unsigned* largest, signed char* __restrict__ q, float* __restrict__ scale,
    long long cols, long long length, long long pieces
) {
    const Piece piece(cols, length, pieces);
    const long long start = piece.row * cols + piece.start;
    x += start;
    const AlignedRun run(x, piece.length);
    wait_for_previous();
    unsigned bits = 0;
    for (int other = threadIdx.x; other < pieces; other += blockDim.x) {
        bits = max(bits, largest[piece.row * pieces + other]);
    }
    const Row row(magnitude_of(over_block(bits)));
    if (threadIdx.x == 0 && piece.start == 0) scale[piece.row] = row.scale;
    quantize_run(x, q + start, run, row);
}

// RMS norm and its rows in FP8 with the row in registers: one read of memory, one reduction a row.
//
// Formula: y[r, c] = x[r, c] / sqrt(q_r + 1e-6) w[c], q_r the mean of the row's squares; codes e4m3(448 y[r, c] / l_r),
//   l_r = max_c |y[r, c]|, and scale l_r / 448. 6 rows cols FLOP, rows (cols (s + 1) + 4) + cols s bytes.
// Mapping: as rms_norm/cuda_registers: a row group of 1 lane to 1024 threads owns a row, and each thread keeps 1 to 8
//   packs of 16 bytes as they came. A pack leaves as 4 or 8 codes in one access. Rows that do not start on 16 bytes have
//   packs where they are aligned; very many short ones have a thread or some lanes each, by way of shared memory. Rows
//   that are too long for registers go by pieces and are read twice; where they are few and long, a block has each piece, in two kernels, the second launched while the first one works.
// Idea: cuda_naive's three passes wait for each other: the largest result for the root, codes for both. But the root
//   cancels. y / l is x w / max |x w|, so that the sum of squares and the largest product are reduced at
//   once, across one barrier, and no code waits for the root, which is in the scale alone. A product of two 16-bit
//   numbers is exact in float32.
#include "rms_norm_quantize_fp8/slab_rows.cuh"
#include "shared/overlap.cuh"
#include "shared/row_parts.cuh"

template <bool PACKED>
__device__ __forceinline__ void store(const Share<PACKED>& share, unsigned char* q, int p, const PackedBytes& codes) {
    if constexpr (PACKED) {
        if (share.has(p, 0)) *reinterpret_cast<PackedBytes*>(q + share.column(p, 0)) = codes;
    } else {
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            if (share.has(p, i)) q[share.column(p, i)] = static_cast<unsigned char>(codes.word[i / 4] >> i % 4 * 8);
        }
    }
}

template <int GROUP, int PACKS>
__device__ __forceinline__ void quantise(
    const SCALAR* x, const SCALAR* w, unsigned char* q, float* scale, long long rows, long long cols
) {
    const Share<true> share = group_share<GROUP>(rows, cols);
    const long long row = group_row<GROUP>();
    x += row * cols;
    q += row * cols;
    constexpr bool EARLY = PACKS <= 2;  // registers suffice for the scales too, over the reduction
    Bits packs[PACKS], weights[PACKS];
    share.load_evict_last(x, packs);
    if (EARLY) share.load(w, weights);

    // Before Ada a conversion to FP8 is a score of instructions and registers: there the scales of a pack wait for the
    // pack before.
    constexpr bool LATE = __CUDA_ARCH__ < 890;
    const SCALAR* w_of_pack = w;
    Statistics mine;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        mine.take(packs[p], EARLY ? weights[p] : share.load(w_of_pack, p));
        if (LATE) w_of_pack = once_known(__uint_as_float(mine.largest), w_of_pack);
    }
    const Row how(mine.over_group<GROUP>(), one_of(cols));
    if (share.thread == 0 && row < rows) scale[row] = how.scale;
    keep_packed(packs);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        store(share, q, p, how.codes(packs[p], EARLY ? weights[p] : share.load(w_of_pack, p)));
    }
}

#define KERNEL(NAME, GROUP, PACKS, THREADS, BLOCKS)                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                             \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, unsigned char* __restrict__ q,  \
        float* __restrict__ scale, long long rows, long long cols) {                                \
        start_early();                                                                               \
        quantise<GROUP, PACKS>(x, w, q, scale, rows, cols);                                          \
    }

KERNEL(rms_norm_quantize_lanes_8, 8, 4, 128, 8)
KERNEL(rms_norm_quantize_lanes_16, 16, 4, 128, 8)
KERNEL(rms_norm_quantize_lanes_32, 32, 4, 128, 8)
KERNEL(rms_norm_quantize_warp_1, 32, 1, 128, 8)
KERNEL(rms_norm_quantize_warp_2, 32, 2, 128, 8)
KERNEL(rms_norm_quantize_block_4, BLOCK_GROUP, 4, 512, 2)
// Not 8 packs of half the threads: beside the scales of columns they do not fit into 64 registers.
KERNEL(rms_norm_quantize_long_4, BLOCK_GROUP, 4, 1024, 1)

// Many short rows that begin on 16 bytes: as few lanes as have two packs each.
KERNEL(rms_norm_quantize_pairs_1, 1, 2, 128, 8)
KERNEL(rms_norm_quantize_pairs_2, 2, 2, 128, 8)
KERNEL(rms_norm_quantize_pairs_4, 4, 2, 128, 8)
KERNEL(rms_norm_quantize_pairs_8, 8, 2, 128, 8)

#define SLAB_KERNEL(WIDTH, LANES)                                                                    \
    extern "C" __global__ void __launch_bounds__(256) rms_norm_quantize_slab_##WIDTH##_##LANES(     \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, unsigned char* __restrict__ q,  \
        float* __restrict__ scale, long long rows, long long cols) {                                \
        start_early();                                                                               \
        quantise_slab<WIDTH, LANES>(x, w, q, scale, rows, cols);                                     \
    }

#define SLAB_KERNELS(LANES) SLAB_KERNEL(1, LANES) SLAB_KERNEL(2, LANES) SLAB_KERNEL(4, LANES)

SLAB_KERNELS(1)
#ifndef SCALAR_IS_FLOAT32
SLAB_KERNELS(2)
SLAB_KERNELS(4)
#endif

// Rows that do not start on 16 bytes: packs lie where x is aligned, the codes of each alike, and the elements beside them
// go one by one.
template <int GROUP, int PACKS>
__device__ __forceinline__ void quantise_any(
    const SCALAR* x, const SCALAR* w, unsigned char* q, float* scale, long long rows, long long cols
) {
    constexpr int EDGES = GROUP < WARP / 2 ? 2 : 1;  // of a thread
    const int threads = GROUP > WARP ? blockDim.x : GROUP, thread = threadIdx.x % threads;
    const long long row = group_row<GROUP>();
    x += row * cols;
    q += row * cols;
    const AlignedRun run(x, row < rows ? cols : 0);
    const ColumnVector scales = {w, cols};
    Bits packs[PACKS];
    int inside = 0;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int pack = thread + p * threads;
        if (pack >= run.packs) break;
        packs[p] = load_evict_last(x + run.pack_at(pack));
        ++inside;
    }
    float values[EDGES] = {}, weights[EDGES] = {};
    Statistics mine;
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        if (thread + e * threads >= run.edges) break;
        const long long at = run.edge_at(thread + e * threads);
        values[e] = to_float(x[at]);
        weights[e] = to_float(w[at]);
        mine.squares = fmaf(values[e], values[e], mine.squares);
        mine.largest = max(mine.largest, __float_as_uint(values[e] * weights[e]) & 0x7fffffffu);
    }
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p >= inside) break;
        mine.take(packs[p], scales.at<false>(run.pack_at(thread + p * threads)));
    }
    const Row how(mine.over_group<GROUP>(), one_of(cols));
    if (thread == 0 && row < rows) scale[row] = how.scale;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p >= inside) break;
        const long long at = run.pack_at(thread + p * threads);
        *reinterpret_cast<PackedBytes*>(q + at) = how.codes(packs[p], scales.at<false>(at));
    }
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        if (thread + e * threads >= run.edges) break;
        const float two[] = {values[e], 0.0f}, of_two[] = {weights[e], 0.0f};
        q[run.edge_at(thread + e * threads)] = static_cast<unsigned char>(how.two(two, of_two));
    }
}

#define KERNEL_AT_ANY_ALIGNMENT(NAME, GROUP, PACKS, THREADS, BLOCKS)                                 \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) rms_norm_quantize_##NAME(         \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, unsigned char* __restrict__ q,  \
        float* __restrict__ scale, long long rows, long long cols) {                                \
        start_early();                                                                              \
        quantise_any<GROUP, PACKS>(x, w, q, scale, rows, cols);                                     \
    }

KERNEL_AT_ANY_ALIGNMENT(any_8, 8, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(any_16, 16, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(any_32, 32, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(any_block_4, BLOCK_GROUP, 4, 512, 2)
KERNEL_AT_ANY_ALIGNMENT(any_block_8, BLOCK_GROUP, 8, 512, 1)

template <bool PACKED>
__device__ __forceinline__ void quantise_by_pieces(
    const SCALAR* x, const SCALAR* w, unsigned char* q, float* scale, long long cols
) {
    const int piece = blockDim.x * PACK;
    Statistics mine;
#pragma unroll 2
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        mine.take(share.load(x + start, 0), share.load(w + start, 0));
    }
    const Row how(mine.over_group<BLOCK_GROUP>(), 1.0f / cols);
    if (threadIdx.x == 0) *scale = how.scale;
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        store(share, q + start, 0, how.codes(share.load(x + start, 0), share.load(w + start, 0)));
    }
}

extern "C" __global__ void __launch_bounds__(1024) rms_norm_quantize_pieces(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, unsigned char* __restrict__ q,
    float* __restrict__ scale, long long rows, long long cols
) {
    start_early();
    x += blockIdx.x * cols;
    q += blockIdx.x * cols;
    scale += blockIdx.x;
    if (are_packed(cols, x, w) && reinterpret_cast<unsigned long long>(q) % PACK == 0) {
        quantise_by_pieces<true>(x, w, q, scale, cols);
    } else {
        quantise_by_pieces<false>(x, w, q, scale, cols);
    }
}

// ---- Few long rows: a block a piece of `length` columns, the last one of a row shorter ---------------------------

// A piece by the packs in which x lies. The codes lie alike, 8 bits an element, the scales of columns in another way.
struct Piece {
    long long row, start;  // the first column
    const SCALAR *x, *w, *w_begin, *w_end;
    AlignedRun run;

    __device__ __forceinline__
    Piece(const SCALAR* x, const SCALAR* w, long long cols, long long length, long long pieces)
        : row(blockIdx.x / static_cast<unsigned>(pieces)), start(blockIdx.x % static_cast<unsigned>(pieces) * length),
          x(x + row * cols + start), w(w + start), w_begin(w), w_end(w + cols),
          run(this->x, min(cols - start, length)) {}

    __device__ __forceinline__ Bits scales(long long at) const {
        const unsigned past = bytes_past(w + at);
        const SCALAR* const first = w + at - past / sizeof(SCALAR);
        const Bits low = load_near(first, w_begin, w_end);
        return past ? bytes_from(low, load_near(first + PACK, w_begin, w_end), past) : low;
    }

    // Calls act(index of the first element, pack, its scales), some packs under way at once.
    template <typename Act>
    __device__ __forceinline__ void for_packs(const Act& act) const {
        constexpr int UNROLL = 4;
        for (long long first = threadIdx.x; first < run.packs; first += UNROLL * blockDim.x) {
            Bits packs[UNROLL], weights[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const long long pack = first + u * blockDim.x;
                if (pack >= run.packs) break;
                packs[u] = __ldg(reinterpret_cast<const Bits*>(x + run.pack_at(pack)));
                weights[u] = scales(run.pack_at(pack));
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const long long pack = first + u * blockDim.x;
                if (pack < run.packs) act(run.pack_at(pack), packs[u], weights[u]);
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(512) rms_norm_quantize_statistics(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, float* __restrict__ squares,
    unsigned* __restrict__ largest, long long cols, long long length, long long pieces
) {
    wait_for_previous();
    let_next_start();  // only now, as the next one reads x and w before it waits
    const Piece piece(x, w, cols, length, pieces);
    Statistics mine;
    if (threadIdx.x < piece.run.edges) {
        const long long at = piece.run.edge_at(threadIdx.x);
        const float value = to_float(piece.x[at]);
        mine.squares = value * value;
        mine.largest = __float_as_uint(value * to_float(piece.w[at])) & 0x7fffffffu;
    }
    piece.for_packs([&](long long, const Bits& pack, const Bits& weights) { mine.take(pack, weights); });
    mine = mine.over_group<BLOCK_GROUP>();
    if (threadIdx.x == 0) {
        squares[blockIdx.x] = mine.squares;
        largest[blockIdx.x] = mine.largest;
    }
}

extern "C" __global__ void __launch_bounds__(512) rms_norm_quantize_piece(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const float* squares, const unsigned* largest,
    unsigned char* __restrict__ q, float* __restrict__ scale, long long cols, long long length, long long pieces
) {
    const Piece piece(x, w, cols, length, pieces);
    wait_for_previous();
    Statistics mine;
    for (int other = threadIdx.x; other < pieces; other += blockDim.x) {
        mine.squares += squares[piece.row * pieces + other];
        mine.largest = max(mine.largest, largest[piece.row * pieces + other]);
    }
    const Row how(mine.over_group<BLOCK_GROUP>(), 1.0f / cols);
    if (threadIdx.x == 0 && piece.start == 0) scale[piece.row] = how.scale;
    q += piece.row * cols + piece.start;
    if (threadIdx.x < piece.run.edges) {
        const long long at = piece.run.edge_at(threadIdx.x);
        const float two[] = {to_float(piece.x[at]), 0.0f}, weights[] = {to_float(piece.w[at]), 0.0f};
        q[at] = static_cast<unsigned char>(how.two(two, weights));
    }
    piece.for_packs([&](long long at, const Bits& pack, const Bits& weights) {
        *reinterpret_cast<PackedBytes*>(q + at) = how.codes(pack, weights);
    });
}

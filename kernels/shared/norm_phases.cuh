// Gradients of the norms of rows of any length and number, in phases: sums of pieces of rows, then panels of columns.
//
// Layer norm is CENTRED, RMS norm is not. SHIFTED where rows do not begin on 16 bytes.
//
// 1. Block (row, piece) adds up g and g h of its piece of the row: as many blocks as fill the GPU, however few rows.
// 2. A block has a panel of columns, a pack of 16 bytes a thread, and walks down the rows of its chunk: with the
//    sums of whole rows known, dx is a map, and the sums over rows stay in registers. dy and x are read again, from L2
//    where they fit there. Where a thread has few rows, it holds one at a time, so that twice as many blocks run at
//    once. Of a single row it is a map of dy and x alone: row_gradients.
// 3. Where a panel has more than one chunk of rows, what these left is added up.
// Each kernel is launched while the one before works: overlap.cuh. norm_phases.py chooses the sizes.
#pragma once

#include "shared/norm_backward.cuh"
#include "shared/norm_terms.cuh"
#include "shared/overlap.cuh"
#include "shared/shifted.cuh"

constexpr int PHASE_THREADS = 256;  // as in norm_phases.py
// Of a multiprocessor, of the kernel of a single row: its 64 registers do not do for Blackwell's code.
#if __CUDA_ARCH__ >= 1000
constexpr int SINGLE_ROW_BLOCKS = 3;
#else
constexpr int SINGLE_ROW_BLOCKS = 4;
#endif
// The same of pieces and of panels of few rows, for which they do on Hopper alone.
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000
constexpr int LIGHT_BLOCKS = 4;
#else
constexpr int LIGHT_BLOCKS = 3;
#endif
constexpr int MOST_HEIGHT = 256;  // rows of a chunk, as in norm_phases.py
constexpr int FEW_CHUNKS = 8;     // as in norm_phases.py

// ---- Sums of pieces of rows --------------------------------------------------------------------

// A piece is `length` columns, whole rounds of the block's threads; the last one of a row is shorter.
template <bool CENTRED, bool SHIFTED>
__device__ __forceinline__ void sum_piece(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, float2* sums,
    long long cols, long long length, long long pieces
) {
    constexpr int UNROLL = SHIFTED ? 2 : 4, REACH = SHIFTED ? 2 * PACK : PACK;
    wait_for_previous();
    let_next_start();  // only now, as the next one reads w before it waits
    const long long row = blockIdx.x / static_cast<unsigned>(pieces);
    const long long start = blockIdx.x % static_cast<unsigned>(pieces) * length;
    const long long end = start + length < cols ? start + length : cols, step = blockDim.x * PACK;
    const Normal<CENTRED> normal(means, rstds, row);
    dy += row * cols;
    x += row * cols;
    float2 total = {0.0f, 0.0f};
    NoSums none;
    long long at = start + threadIdx.x * PACK;
    for (; at + (UNROLL - 1) * step < end && at + (UNROLL - 1) * step + REACH <= cols; at += UNROLL * step) {
        Bits gradients[UNROLL], values[UNROLL], weights[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const Columns<SHIFTED> columns(at + u * step, cols);
            gradients[u] = columns.load_whole(dy);
            values[u] = columns.load_whole(x);
            weights[u] = columns.load_whole(w);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) add_terms(total, none, normal, gradients[u], values[u], weights[u]);
    }
    for (; at < end; at += step) {
        const Columns<SHIFTED> columns(at, cols);
        add_terms(total, none, normal, columns.load(dy), columns.load(x), columns.load(w));
    }

    __shared__ float2 of_warp[WARP];
    const int lane = threadIdx.x % WARP;
    total = warp_sum(total);
    if (lane == 0) of_warp[threadIdx.x / WARP] = total;
    __syncthreads();
    total = warp_sum(lane < blockDim.x / WARP ? of_warp[lane] : float2{0.0f, 0.0f});
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// ---- Gradients of panels of columns ------------------------------------------------------------

// What the gradients of a row take, by one access.
struct alignas(16) RowFacts {
    float mean, rstd;
    float2 total;  // of its pieces
};

// A warp a row. The pieces are added up in the same order at every call.
template <bool CENTRED>
__device__ __forceinline__ void find_facts(
    const float* means, const float* rstds, const float2* sums, RowFacts* facts, int height, long long pieces
) {
    constexpr int AT_ONCE = 4;  // pieces of a lane, none of which waits for another
    const int lane = threadIdx.x % WARP;
    for (int row = threadIdx.x / WARP; row < height; row += blockDim.x / WARP) {
        const float mean = CENTRED ? means[row] : 0.0f, rstd = rstds[row];
        float2 total = {0.0f, 0.0f};
        for (long long first = lane; first < pieces; first += AT_ONCE * WARP) {
            float2 more[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                const long long piece = first + i * WARP;
                more[i] = piece < pieces ? sums[row * pieces + piece] : float2{0.0f, 0.0f};
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) total = {total.x + more[i].x, total.y + more[i].y};
        }
        total = warp_sum(total);
        if (lane == 0) facts[row] = {mean, rstd, total};
    }
}

// Sums over the threads of a block that have the same columns, from the top down, into `to_dw` and `to_db`.
template <bool CENTRED, class To>
__device__ __forceinline__ void store_sums(
    const ColumnSums<CENTRED>& own, float* shared, int across, int width_here, To* to_dw, To* to_db
) {
    const int width = across * PACK, down = threadIdx.x / across, steps = blockDim.x / across;
    float* const of_db = shared + PHASE_THREADS * PACK;
#pragma unroll
    for (int i = 0; i < PACK; i += 4) {
        const int at = down * width + threadIdx.x % across * PACK + i;
        four_at(shared + at) = {own.dw[i], own.dw[i + 1], own.dw[i + 2], own.dw[i + 3]};
        if (CENTRED) four_at(of_db + at) = {own.db[i], own.db[i + 1], own.db[i + 2], own.db[i + 3]};
    }
    __syncthreads();
    for (int col = threadIdx.x; col < width_here; col += blockDim.x) {
        float sum_of_dw = 0.0f, sum_of_db = 0.0f;
        for (int other = 0; other < steps; ++other) {
            sum_of_dw += shared[other * width + col];
            if (CENTRED) sum_of_db += of_db[other * width + col];
        }
        from_float(sum_of_dw, to_dw[col]);
        if (CENTRED) from_float(sum_of_db, to_db[col]);
    }
}

// A block has `across` threads side by side, a power of two of whole warps, and the others below them. Of a thread ROWS
// rows are under way at once.
template <bool CENTRED, bool SHIFTED, int ROWS>
__device__ __forceinline__ void panel_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, const float2* sums,
    SCALAR* dx, float* partial, SCALAR* dw, SCALAR* db, long long rows, long long cols, long long pieces, int across,
    long long height
) {
    __shared__ float4 of_columns[(CENTRED ? 2 : 1) * PHASE_THREADS * PACK / 4];
    __shared__ RowFacts of_chunk[MOST_HEIGHT];
    const long long width = across * PACK;
    const unsigned panels = static_cast<unsigned>((cols + width - 1) / width), chunks = gridDim.x / panels;
    const long long start = blockIdx.x % panels * width, chunk = blockIdx.x / panels;
    const long long first = chunk * height, last = first + height < rows ? first + height : rows;
    const long long steps = blockDim.x / across;
    const Columns<SHIFTED> own(start + threadIdx.x % across * PACK, cols);
    const Bits weights = own.load(w);
    const float one_of_cols = 1.0f / cols;
    ColumnSums<CENTRED> of_rows;

    Bits gradients[ROWS], values[ROWS];
    const auto load = [&](long long row) {
        if (row >= last) return;
        if (own.whole && row + (ROWS - 1) * steps < last) {
#pragma unroll
            for (int u = 0; u < ROWS; ++u) {
                gradients[u] = own.load_whole(dy + (row + u * steps) * cols);
                values[u] = own.load_whole(x + (row + u * steps) * cols);
            }
        } else {
#pragma unroll
            for (int u = 0; u < ROWS; ++u) {
                const long long one = row + u * steps < last ? row + u * steps : row;
                gradients[u] = own.load(dy + one * cols);
                values[u] = own.load(x + one * cols);
            }
        }
    };
    long long row = first + threadIdx.x / across;  // the same in a warp
    if (ROWS == 1) load(row);                      // which takes few registers, while the sums are still being added
    start_early();
    find_facts<CENTRED>(
        means + first, rstds + first, sums + first * pieces, of_chunk, static_cast<int>(last - first), pieces
    );
    __syncthreads();
    for (; row < last; row += ROWS * steps) {
        if (ROWS > 1) load(row);
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            const long long one = row + u * steps;
            if (one >= last) break;
            const RowFacts& facts = of_chunk[one - first];
            const Normal<CENTRED> normal(facts.mean, facts.rstd);
            const RowGradient<CENTRED> gradient(normal.rstd, facts.total, one_of_cols);
            float of_dy[PACK], of_x[PACK];
            unpack_words(gradients[u], of_dy);
            unpack_words(values[u], of_x);
#pragma unroll
            for (int i = 0; i < PACK; ++i) of_rows.add(i, of_dy[i], normal(of_x[i]));
            own.store(dx + one * cols, gradient.of(normal, of_dy, of_x, weights));
        }
        if (ROWS == 1) load(row + steps);
    }

    const int width_here = static_cast<int>(cols - start < width ? cols - start : width);
    float* const shared = reinterpret_cast<float*>(of_columns);
    if (chunks == 1) {
        store_sums(of_rows, shared, across, width_here, dw + start, db + start);
    } else {
        float* const to_dw = partial + chunk * cols + start;
        store_sums(of_rows, shared, across, width_here, to_dw, to_dw + chunks * cols);
    }
}

// The sums over chunks. A block of one row of threads has a column for each: where chunks are few, most threads of
// sum_of_parts would have nothing, in as many blocks as wide matrices have 32 columns.
__device__ __forceinline__ void sum_of_chunks(const float* partial, long long chunks, long long cols, SCALAR* out) {
    if (blockDim.y > 1) {
        sum_of_parts(partial, chunks, cols, out);
        return;
    }
    const long long col = thread_of_grid();
    if (col >= cols) return;
    float parts[FEW_CHUNKS], sum = 0.0f;
#pragma unroll
    for (int i = 0; i < FEW_CHUNKS; ++i) parts[i] = i < chunks ? partial[i * cols + col] : 0.0f;
#pragma unroll
    for (int i = 0; i < FEW_CHUNKS; ++i) sum += parts[i];
    from_float(sum, out[col]);
}

// ---- The gradients of one row ------------------------------------------------------------------

// A row alone begins where its tensor does and has the gradients of its columns to itself: a map of it, by a grid that
// stays, whose first packs come while the kernel before works. It goes from the row's end, so that of a row longer than L2
// it reads first what is still there.
template <bool CENTRED>
__device__ __forceinline__ void row_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, const float2* sums,
    SCALAR* dx, SCALAR* dw, SCALAR* db, long long cols, long long pieces
) {
    constexpr int AT_ONCE = 2;  // packs of a thread
    const long long packs = (cols + PACK - 1) / PACK, threads = static_cast<long long>(gridDim.x) * blockDim.x;
    const auto columns_of = [&](long long number) { return Columns<false>((packs - 1 - number) * PACK, cols); };
    Bits gradients[AT_ONCE], values[AT_ONCE], weights[AT_ONCE];
    const auto load = [&](long long number) {
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            if (number + p * threads >= packs) break;
            const Columns<false> own = columns_of(number + p * threads);
            gradients[p] = own.load(dy);
            values[p] = own.load(x);
            weights[p] = own.load(w);
        }
    };
    load(thread_of_grid());
    const Normal<CENTRED> normal(means, rstds, 0);
    start_early();
    float2 total = {0.0f, 0.0f};
    for (long long piece = threadIdx.x; piece < pieces; piece += blockDim.x) {
        total = {total.x + sums[piece].x, total.y + sums[piece].y};
    }
    __shared__ float2 of_warp[WARP];
    const int lane = threadIdx.x % WARP;
    total = warp_sum(total);
    if (lane == 0) of_warp[threadIdx.x / WARP] = total;
    __syncthreads();
    total = warp_sum(lane < blockDim.x / WARP ? of_warp[lane] : float2{0.0f, 0.0f});

    const RowGradient<CENTRED> gradient(normal.rstd, total, 1.0f / cols);
    for (long long number = thread_of_grid(); number < packs; number += AT_ONCE * threads) {
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            if (number + p * threads >= packs) break;
            const Columns<false> own = columns_of(number + p * threads);
            float of_dy[PACK], of_x[PACK], products[PACK];
            unpack_words(gradients[p], of_dy);
            unpack_words(values[p], of_x);
#pragma unroll
            for (int i = 0; i < PACK; ++i) products[i] = of_dy[i] * normal(of_x[i]);
            own.store(dx, gradient.of(normal, of_dy, of_x, weights[p]));
            own.store(dw, pack_bits(products));
            if (CENTRED) own.store(db, gradients[p]);
        }
        load(number + AT_ONCE * threads);
    }
}

// Of the macros of either norm: PIECES(NAME, SHIFTED), and PANELS(NAME, SHIFTED, ROWS, BLOCKS) with so many rows of a thread
// under way and blocks of a multiprocessor.
#define PHASE_KERNELS(PIECES, PANELS)                                                                             \
    PIECES(packed, false)                                                                                         \
    PIECES(shifted, true)                                                                                         \
    PANELS(packed, false, 4, 2)                                                                                   \
    PANELS(shifted, true, 2, 2)                                                                                   \
    PANELS(packed_few, false, 1, LIGHT_BLOCKS)                                                                    \
    PANELS(shifted_few, true, 1, LIGHT_BLOCKS)

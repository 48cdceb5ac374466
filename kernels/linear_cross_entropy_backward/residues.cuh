// The gradients of few rows from rows of w that begin anywhere, without a copy of w: linear_cross_entropy/long_rows.cuh tells how
// it is read.
//
// Mapping: d has its columns residue by residue, `stride` for each, whole tiles. Of dx each residue of rows of w is a part by
//   itself, whose sums lie as many columns behind as its rows begin amid 16 bytes. Of dw a tile has rows of a residue, across:
//   its block stores them by words of 16 bytes as they lie, which all begin alike.
// Idea: neither the sum over the vocabulary nor the rows of dw ask for the order of the columns of d.
#pragma once

#include "linear_cross_entropy/long_rows.cuh"
#include "linear_cross_entropy_backward/few_rows.cuh"

// Where the columns of d lie: residue by residue of their numbers by 2^shift. Without residues as they are.
struct OrderOfColumns {
    int shift;
    long long stride;
    __device__ __forceinline__ long long place_of(long long label) const {
        return (label & ((1ll << shift) - 1)) * stride + (label >> shift);
    }
};

// How rows of w of a residue by 2^shift lie.
struct RowsOfResidue {
    int skipped;      // elements between a word and such a row
    long long begin;  // that word of the first one, in long rows
    int count;
    __device__ __forceinline__ RowsOfResidue(int residue, int shift, long long vocab, long long hidden)
        : skipped(static_cast<int>(residue * hidden % WORD)), begin(residue * hidden - skipped),
          count(static_cast<int>((vocab - residue + (1ll << shift) - 1) >> shift)) {}
};

// ---- What d is made of -----------------------------------------------------------------------------

// `make(logits, top, columns, column0)` makes of a thread's logits, whose warpgroup's rows begin at `top`, what is to be stored
// in d from its column `column0` on.
template <int CONSUMERS_HERE, int COLUMNS, int STAGES_HERE, class Make>
__device__ __forceinline__ void for_logits_of_residues(
    const CUtensorMap& x, const LongRows& w, const CUtensorMap& d, const Rest& rest, long long stride, const Make& make
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    Ring<CONSUMERS_HERE, COLUMNS, STAGES_HERE> ring(stages, 0);
    const TilesOfResidues<CONSUMERS_HERE * 64, COLUMNS> tiles(rest, w);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    wait_for_previous();
    let_next_start();
    unsigned stored = 0;
    for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
        const auto at = tiles.at(tile);
        if (warpgroup == CONSUMERS_HERE) {
            if (threadIdx.x % WARPGROUP) break;
            const CUtensorMap& of_w = at.in_last ? w.with_last : w.without;
            for (int step = 0; step < at.steps; ++step) {
                const int along = at.along(step);
                ring.fill_from(x, of_w, along, at.in_x, at.begin + along, at.columns.first);
            }
        } else {
            float logits[COLUMNS / 2] = {};
            const Clearing<decltype(at), CONSUMERS_HERE * WARPGROUP, COLUMNS> clearing{at, tiles.hidden};
            ring.add_products(logits, at.steps, warpgroup, clearing);
            const int top = at.row + warpgroup * 64;
            const int column0 = static_cast<int>(at.columns.residue * stride) + at.columns.first;
            make(logits, top, at.columns, column0);
            store_tile(logits, d, ring.boxes_of(warpgroup), stored, top, column0, as_they_are);
        }
    }
    if (warpgroup < CONSUMERS_HERE && threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
}

// ---- dx ------------------------------------------------------------------------------------------

// Grid: blocks beside each other, then in `blockIdx.y` the residues and, behind them, which part of its rows.
#define DX_OF_RESIDUES(ROWS, STAGES_HERE, BLOCKS)                                                                 \
    extern "C" __global__ void __launch_bounds__((FEW_COLUMNS / 64 + 1) * WARPGROUP, BLOCKS)                      \
        dx_of_residues_##ROWS(                                                                                    \
            const __grid_constant__ CUtensorMap d, const __grid_constant__ CUtensorMap with_last,                 \
            const __grid_constant__ CUtensorMap without, float* __restrict__ parts, long long rows,               \
            long long hidden, long long vocab, long long shift, long long stride                                  \
        ) {                                                                                                       \
        const int residue = blockIdx.y & ((1 << shift) - 1), part = blockIdx.y >> shift, count = gridDim.y >> shift;  \
        const RowsOfResidue own(residue, static_cast<int>(shift), vocab, hidden);                                 \
        const int steps = (own.count + STEP_K - 1) / STEP_K;                                                      \
        const bool in_last = residue < static_cast<int>(vocab & ((1ll << shift) - 1));                            \
        multiply_d_of_few<ROWS, STAGES_HERE>(                                                                     \
            d, in_last ? with_last : without, parts, static_cast<int>(rows), static_cast<int>(hidden),            \
            {steps * part / count, steps * (part + 1) / count, residue * static_cast<int>(stride),                \
             static_cast<int>(own.begin), own.skipped}                                                            \
        );                                                                                                        \
    }
DX_OF_RESIDUES(16, 6, 2)
DX_OF_RESIDUES(32, 5, 2)
DX_OF_RESIDUES(64, 4, 2)
DX_OF_RESIDUES(128, 6, 1)
DX_OF_RESIDUES(256, 4, 1)

// ---- dw ------------------------------------------------------------------------------------------

// Of a tile across: its columns by so many warpgroups, its rows, stages.
constexpr int ACROSS_GROUPS = 4, ACROSS_ROWS = 128, ACROSS_STAGES = 4;  // as in residues.py
constexpr int ACROSS_COLUMNS = ACROSS_GROUPS * BAND;
constexpr int ACROSS_X = ACROSS_GROUPS * BAND_BYTES, ACROSS_STAGE = ACROSS_X + ACROSS_ROWS / BAND * BAND_BYTES;
constexpr int ACROSS_BUFFERS = 2 * 16 * (ACROSS_COLUMNS * 2 + 16);  // bytes of two of 16 rows
using RowsOfTile = LooseRows<ACROSS_GROUPS, ACROSS_BUFFERS>;

#define MULTIPLY_BOTH_ACROSS(COLUMNS, COUNT, A, B, ...)                                                           \
    __device__ __forceinline__ void multiply_both_across(                                                         \
        float (&sum)[COUNT], unsigned long long a, unsigned long long b                                           \
    ) {                                                                                                           \
        MULTIPLY_ADD(COLUMNS, NAMES_##COUNT, A, B, ", 1, 1", __VA_ARGS__);                                        \
    }
MULTIPLY_BOTH_ACROSS(128, 64, "%64", "%65", SUMS_64(0))

// Where a tile of dw is: neighbours have a row's columns, `wide` tiles, then come residues of the same long rows.
struct TilesOfDw {
    unsigned wide;
    int shift;
    __device__ __forceinline__ int residue(unsigned tile) const {
        return static_cast<int>(tile / wide & ((1u << shift) - 1));
    }
    __device__ __forceinline__ int row(unsigned tile) const {
        return static_cast<int>((tile >> shift) / wide * ACROSS_ROWS);
    }
    __device__ __forceinline__ int column(unsigned tile) const {
        return static_cast<int>(tile % wide * ACROSS_COLUMNS);
    }
};

// Stages of the columns of x, and beside them of the rows of dw in d.
struct StagesOfDw {
    unsigned char* stages;
    Barrier *full, *empty;
    int stage = 0;
    unsigned phase = 0;

    // For all threads, which meet.
    __device__ __forceinline__ explicit StagesOfDw(unsigned char* stages)
        : stages(stages), full(reinterpret_cast<Barrier*>(stages + ACROSS_STAGES * ACROSS_STAGE)),
          empty(full + ACROSS_STAGES) {
        if (threadIdx.x == 0) {
            for (int i = 0; i < ACROSS_STAGES; ++i) {
                init_barrier(full + i, 1);
                init_barrier(empty + i, ACROSS_GROUPS);
            }
            publish_barriers();
        }
        __syncthreads();
    }
    __device__ __forceinline__ unsigned char* buffers() const {
        return reinterpret_cast<unsigned char*>(empty + ACROSS_STAGES);
    }
    __device__ __forceinline__ void advance() {
        if (++stage == ACROSS_STAGES) stage = 0, phase ^= 1;
    }
    __device__ __forceinline__ void fill(const CUtensorMap& d, const CUtensorMap& x, int in_d, int in_x, int row) {
        unsigned char* const to = stages + stage * ACROSS_STAGE;
        wait_for(empty + stage, phase ^ 1);
        arrive_and_expect(full + stage, ACROSS_STAGE);
#pragma unroll
        for (int i = 0; i < ACROSS_GROUPS; ++i) {
            copy_box(to + i * BAND_BYTES, x, in_x + i * BAND, row, full + stage);
        }
#pragma unroll
        for (int i = 0; i < ACROSS_ROWS / BAND; ++i) {
            copy_box(to + ACROSS_X + i * BAND_BYTES, d, in_d + i * BAND, row, full + stage);
        }
        advance();
    }
    // By a warpgroup: the products of a tile's steps.
    __device__ __forceinline__ void add_products(float (&sum)[ACROSS_ROWS / 2], int steps, int warpgroup) {
        int before = 0;
        for (int step = 0; step < steps; ++step, advance()) {
            wait_for(full + stage, phase);
            const unsigned char* const from = stages + stage * ACROSS_STAGE;
            const unsigned long long of_x = swizzled_tile(from + warpgroup * BAND_BYTES, ATOM, 0);
            const unsigned long long of_d = swizzled_tile(from + ACROSS_X, ATOM, BAND_BYTES);
            begin_products();
#pragma unroll
            for (int part = 0; part < 4; ++part) {
                constexpr int ON = 16 * ROW / 16;
                multiply_both_across(sum, of_x + part * ON, of_d + part * ON);
            }
            commit_products();
            wait_for_products<1>();
            if (step > 0 && threadIdx.x % WARPGROUP == 0) arrive(empty + before);
            before = stage;
        }
        wait_for_products<0>();
        settle(sum);
        if (threadIdx.x % WARPGROUP == 0) arrive(empty + before);
    }
};

extern "C" __global__ void __launch_bounds__((ACROSS_GROUPS + 1) * WARPGROUP, 1) dw_of_residues(
    const __grid_constant__ CUtensorMap d, const __grid_constant__ CUtensorMap x, SCALAR* __restrict__ dw,
    long long rows, long long vocab, long long hidden, long long shift, long long stride, long long count,
    long long columns
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    StagesOfDw ring(stages);
    const TilesOfDw tiles{static_cast<unsigned>(columns), static_cast<int>(shift)};
    const int steps = (static_cast<int>(rows) + STEP_K - 1) / STEP_K;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    wait_for_previous();
    let_next_start();
    if (warpgroup == ACROSS_GROUPS) {
        if (threadIdx.x % WARPGROUP) return;
        for (unsigned tile = blockIdx.x; tile < count; tile += gridDim.x) {
            const int in_d = tiles.residue(tile) * static_cast<int>(stride) + tiles.row(tile);
            for (int step = 0; step < steps; ++step) ring.fill(d, x, in_d, tiles.column(tile), step * STEP_K);
        }
        return;
    }
    for (unsigned tile = blockIdx.x; tile < count; tile += gridDim.x) {
        float sum[ACROSS_ROWS / 2] = {};
        ring.add_products(sum, steps, warpgroup);
        const RowsOfResidue own(tiles.residue(tile), static_cast<int>(shift), vocab, hidden);
        const int row0 = tiles.row(tile), column0 = tiles.column(tile);
        const long long pitch = hidden << shift;
        SCALAR* const begin = dw + (own.begin + own.skipped + row0 * pitch + column0);
        const RowsOfTile lines(
            ring.buffers(), begin, static_cast<unsigned>(pitch), own.count - row0, static_cast<int>(hidden) - column0
        );
        if (lines.rows > 0) store_rows_across(sum, lines, column0, as_they_are);
    }
}

// Tiles of C in any order, with sums of any kind: the ring between the thread that copies and those that multiply.
//
// What wgmma_matmul.cuh's main loop does for a whole matrix and sums that stay in the accumulators and are stored, in
// parts: for runs of rows (grouped_matmul), scaled blocks (matmul_fp8_blocks) and tiles that are not stored
// (linear_cross_entropy). B lies along k.
#pragma once

#include "shared/wgmma_matmul.cuh"

struct AsItIs {
    __device__ __forceinline__ void operator()(int, unsigned char*) const {}
};

// Two blocks of a cluster (CLUSTER = 2) take tiles one above the other; each copies half of the rows of B that both need.
template <int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER = 1>
struct Ring {
    static constexpr int BYTES_A = CONSUMERS * 64 * ROW, BYTES_B = BLOCK_N * ROW, STAGE = BYTES_A + BYTES_B;
    unsigned char* stages;
    Barrier *full, *empty;
    unsigned rank;
    int stage = 0;
    unsigned phase = 0;

    // For all threads of a cluster, which meet.
    __device__ __forceinline__ Ring(unsigned char* stages, unsigned rank)
        : stages(stages), full(reinterpret_cast<Barrier*>(boxes_of(CONSUMERS))), empty(full + STAGES), rank(rank) {
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; ++i) {
                init_barrier(full + i, 1);
                init_barrier(empty + i, CONSUMERS * CLUSTER);
            }
            publish_barriers();
        }
        if constexpr (CLUSTER == 1) __syncthreads();
        else meet_cluster();
    }

    // Behind the stages, a warpgroup's boxes for its stores.
    __device__ __forceinline__ unsigned char* boxes_of(int warpgroup) const {
        return stages + STAGES * STAGE + warpgroup * BOXES * BOX;
    }
    __device__ __forceinline__ void advance() {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    // The same so many times.
    __device__ __forceinline__ void pass(int steps) {
        stage += steps;
        phase ^= stage / STAGES % 2;
        stage %= STAGES;
    }

    // By one thread: a step of A from its row on, and of B from its own.
    __device__ __forceinline__ void fill(const CUtensorMap& a, const CUtensorMap& b, int step, int row, int in_b) {
        fill_from(a, b, step * STEP_K, row, step * STEP_K, in_b);
    }
    // The same where the step begins elsewhere in A than in B.
    __device__ __forceinline__ void fill_from(
        const CUtensorMap& a, const CUtensorMap& b, int along_a, int row, int along_b, int in_b
    ) {
        unsigned char* const to_a = stages + stage * STAGE;
        unsigned char* const to_b = to_a + BYTES_A + rank * (BYTES_B / CLUSTER);
        wait_for(empty + stage, phase ^ 1);
        arrive_and_expect(full + stage, STAGE);
        copy_box(to_a, a, along_a, row, full + stage);
        in_b += rank * (BLOCK_N / CLUSTER);
        if constexpr (CLUSTER == 1) copy_box(to_b, b, along_b, in_b, full + stage);
        else copy_box_to((1 << CLUSTER) - 1, to_b, b, along_b, in_b, full + stage);
        advance();
    }

    // By a warpgroup: descriptors of its rows of A, and of B, once they are there.
    __device__ __forceinline__ void wait(int warpgroup, unsigned long long& a, unsigned long long& b) const {
        wait_for(full + stage, phase);
        a = swizzled_tile(stages + stage * STAGE + warpgroup * 64 * ROW, ATOM, 0);
        b = swizzled_tile(stages + stage * STAGE + BYTES_A, ATOM, 0);
    }

    // By a warpgroup that needs a stage no more. A block that copies for itself may be one of a cluster, whose block 0 is
    // another one.
    __device__ __forceinline__ void release(int stage) const {
        if constexpr (CLUSTER > 1) {
            if (threadIdx.x % WARPGROUP < CLUSTER) arrive_at(empty + stage, threadIdx.x % WARPGROUP);
        } else if (threadIdx.x % WARPGROUP == 0) {
            arrive(empty + stage);
        }
    }

    // By a warpgroup: `sum` += its rows of A times B over `steps` steps, each taken and released. `prepare(step, b)` may change
    // what is there of B.
    template <class Prepare = AsItIs>
    __device__ __forceinline__ void add_products(
        float (&sum)[BLOCK_N / 2], int steps, int warpgroup, const Prepare& prepare = {}
    ) {
        int before = 0;
        for (int step = 0; step < steps; ++step) {
            unsigned long long tile_a, tile_b;
            wait(warpgroup, tile_a, tile_b);
            prepare(step, stages + stage * STAGE + BYTES_A);
            begin_products();
#pragma unroll
            for (int part = 0; part < 4; ++part) multiply_add(sum, tile_a + part * 2, tile_b + part * 2);
            commit_products();
            wait_for_products<1>();
            if (step > 0) release(before);
            before = stage;
            advance();
        }
        wait_for_products<0>();
        settle(sum);
        if (steps > 0) release(before);
    }
};

// All tiles of a matrix, in groups of about 2048 rows.
template <int BLOCK_M, int BLOCK_N, int CLUSTER = 1>
struct TilesOfMatrix {
    static constexpr int CLUSTER_M = BLOCK_M * CLUSTER;
    unsigned rows, columns, rank;

    struct Position {
        int row, in_b;
    };
    __device__ __forceinline__ TilesOfMatrix(long long m, long long n, unsigned rank)
        : rows((m + CLUSTER_M - 1) / CLUSTER_M), columns((n + BLOCK_N - 1) / BLOCK_N), rank(rank) {}
    __device__ __forceinline__ unsigned count() const { return rows * columns; }
    __device__ __forceinline__ Position at(unsigned tile) const {
        const TileIndex index = grouped_tile(tile, rows, columns, 2048 / CLUSTER_M);
        return {static_cast<int>(index.row * CLUSTER_M + rank * BLOCK_M), static_cast<int>(index.column * BLOCK_N)};
    }
};

template <int CLUSTER>
__device__ __forceinline__ unsigned rank_among() {
    return CLUSTER == 1 ? 0 : rank_in_cluster();
}

// A warp finds the tiles that a block takes, and a thread of it copies for them.
template <int CLUSTER, class Ring, class Tiles>
__device__ __forceinline__ void fill_for_tiles(
    Ring& ring, const CUtensorMap& a, const CUtensorMap& b, int steps, Tiles tiles, unsigned count
) {
    for (unsigned tile = blockIdx.x / CLUSTER; tile < count; tile += gridDim.x / CLUSTER) {
        const auto position = tiles.at(tile);
        if (threadIdx.x % WARP) continue;
        for (int step = 0; step < steps; ++step) ring.fill(a, b, step, position.row, position.in_b);
    }
}

// `tiles.count()` is asked of all threads; `tiles.at` of whole warps, of the tiles of a cluster in their order, and gives
// `row`, `in_b` and what `compute` needs besides. `compute(ring, position, stored, warpgroup)` takes a tile's steps from
// the ring and stores a warpgroup's 64 rows.
template <int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER, class Tiles, class Compute>
__device__ __forceinline__ void for_each_tile(
    const CUtensorMap& a, const CUtensorMap& b, int steps, Tiles tiles, const Compute& compute
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    Ring<CONSUMERS, BLOCK_N, STAGES, CLUSTER> ring(stages, rank_among<CLUSTER>());
    // The shuffle from lane 0 shows the compiler that the value is the same for a warp.
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    wait_for_previous();  // barriers are set up while the kernel in front still works
    const unsigned count = tiles.count();
    if (warpgroup == CONSUMERS) {
        if constexpr (CONSUMERS == 2) give_registers<40>();
        if (threadIdx.x % WARPGROUP < WARP) fill_for_tiles<CLUSTER>(ring, a, b, steps, tiles, count);
    } else {
        if constexpr (CONSUMERS == 2) take_registers<232>();
        unsigned stored = 0;
        for (unsigned tile = blockIdx.x / CLUSTER; tile < count; tile += gridDim.x / CLUSTER) {
            compute(ring, tiles.at(tile), stored, warpgroup);
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    if constexpr (CLUSTER > 1) meet_cluster();
}

// A tile of CONSUMERS * 64 x 64 by the PARTS blocks of a cluster, each over a part of k: where tiles are few.
// `fill(ring, step)` copies, by one thread of the last warpgroup; `prepare` is that of add_products; `finish(own, part,
// warpgroup)` gets a slice of the columns of a warpgroup's 64 rows, 64 / PARTS of them, which a block then has alone.
template <int STAGES, int PARTS, int CONSUMERS, class Fill, class Prepare, class Finish>
__device__ __forceinline__ void by_parts(int steps, const Fill& fill, const Prepare& prepare, const Finish& finish) {
    constexpr int SUMS = 32, SLICE = SUMS / PARTS;
    static_assert(SUMS * WARPGROUP * 4 <= BOXES * BOX);  // room for what a warpgroup receives
    extern __shared__ __align__(1024) unsigned char stages[];
    Ring<CONSUMERS, 64, STAGES> ring(stages, 0);
    Barrier* const all_received = ring.empty + STAGES;  // one of each warpgroup
    if (threadIdx.x == 0) {
        for (int i = 0; i < CONSUMERS; ++i) {
            init_barrier(all_received + i, 1);
            arrive_and_expect(all_received + i, (PARTS - 1) * SLICE * WARPGROUP * 4);
        }
        publish_barriers();
    }
    meet_cluster();
    const int part = rank_in_cluster(), first = steps * part / PARTS, last = steps * (part + 1) / PARTS;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    wait_for_previous();
    if (warpgroup == CONSUMERS) {
        if (threadIdx.x % WARPGROUP == 0) {
            for (int step = first; step < last; ++step) fill(ring, step);
        }
    } else {
        float sums[SUMS] = {}, own[SLICE];
        settle(sums);
        ring.add_products(sums, last - first, warpgroup, [&](int step, unsigned char* b) { prepare(first + step, b); });
        exchange_sums<PARTS>(sums, own, part, ring.boxes_of(warpgroup), all_received + warpgroup);
        finish(own, part, warpgroup);
    }
    meet_cluster();
}

// The same of all tiles of a matrix; `finish(own, part, position, warpgroup)`.
template <int STAGES, int PARTS, int CONSUMERS = 1, typename Finish>
__device__ __forceinline__ void by_parts_of_tile(
    const CUtensorMap& a, const CUtensorMap& b, int steps, const TilesOfMatrix<CONSUMERS * 64, 64>& tiles,
    const Finish& finish
) {
    const auto at = tiles.at(blockIdx.x / PARTS);
    const auto fill = [&](Ring<CONSUMERS, 64, STAGES>& ring, int step) { ring.fill(a, b, step, at.row, at.in_b); };
    by_parts<STAGES, PARTS, CONSUMERS>(steps, fill, AsItIs{}, [&](float (&own)[32 / PARTS], int part, int warpgroup) {
        finish(own, part, at, warpgroup);
    });
}

// Rows that are read once, into the shared memory of a cluster of blocks: for softmax and the norms, on Hopper and later.
//
// Each block of a cluster copies its part of a row by the bulk copies of Hopper, which take no registers: all of the
// part is under way at once. The statistic is found from shared memory, piece by piece as the pieces come, goes to every
// block of the cluster through distributed shared memory, and the outputs are made from shared memory again. While one
// cluster waits for its row or at its barrier, others on the same multiprocessors read, compute and write.
#pragma once

#include "shared/cluster_exchange.cuh"
#include "shared/overlap.cuh"
#include "shared/row_groups.cuh"

constexpr int PIECES = 4;        // of a part, at most, each with a barrier
constexpr int MOST_BLOCKS = 16;  // of a cluster

// This block has started and may be written to; its barriers are ready.
__device__ __forceinline__ void arrive_at_blocks(int blocks) {
    if (blocks > 1) tell_cluster();
}

// So have all others of the cluster; one block meets alone.
__device__ __forceinline__ void wait_for_blocks(int blocks) {
    if (blocks == 1) return __syncthreads();
    __syncwarp();
    wait_for_cluster();
}

// Every thread of the cluster gets the statistic of all of it. Once in a kernel, after wait_for_blocks.
template <typename Operation>
__device__ __forceinline__ typename Operation::Statistic over_cluster(
    typename Operation::Statistic mine, int blocks, int rank
) {
    __shared__ __align__(16) typename Operation::Statistic of_blocks[MOST_BLOCKS];
    const int other = threadIdx.x % MOST_BLOCKS;
    const typename Operation::Statistic block = over_block<Operation>(mine);
    if (blocks == 1) return block;
    if (threadIdx.x == 0) arrive_and_expect(exchanged(), blocks * sizeof(block));
    if (threadIdx.x < blocks) send_at_rank(&of_blocks[rank], other, block, exchanged());
    wait_for(exchanged(), 0);
    return Operation::template over_lanes<MOST_BLOCKS>(other < blocks ? of_blocks[other] : Operation::nothing());
}

// Packs of a piece of a part: whole rounds of the loop that adds them.
__device__ __forceinline__ int packs_of_piece(int packs) {
    const int round = READ * blockDim.x;
    return ((packs + PIECES - 1) / PIECES + round - 1) / round * round;
}

// One thread starts to copy `packs` packs of each of the inputs, piece by piece.
template <int INPUTS>
__device__ __forceinline__ void start_copies(
    const SCALAR* const (&from)[INPUTS], Bits* const (&to)[INPUTS], int packs, Barrier* arrived
) {
    const int each = packs_of_piece(packs);
    for (int first = 0; first < packs; first += each, ++arrived) {
        const unsigned bytes = 16 * (packs - first < each ? packs - first : each);
        arrive_and_expect(arrived, bytes * INPUTS);
#pragma unroll
        for (int i = 0; i < INPUTS; ++i) copy_bytes_evict_last(to[i] + first, from[i] + first * PACK, bytes, arrived);
    }
}

// What all outputs need of the columns comes as far as L2 while the rows come. For all clusters by the first one, as few rows
// are all under way at once, and each would wait for memory with every pack.
template <typename Operation>
__device__ __forceinline__ void expect_columns(const Operation& operation, const RowPart& part, int blocks) {
    if (blockIdx.x < blocks) operation.expect_many(part.first, part.packs * PACK);
}

// Adds the pieces as they come.
template <typename Operation, typename Load>
__device__ __forceinline__ void add_pieces(
    typename Operation::Statistic& mine, int packs, Barrier* arrived, const Load& load
) {
    const int each = packs_of_piece(packs);
#pragma unroll 1
    for (int first = 0; first < packs; first += each, ++arrived) {
        wait_for(arrived, 0);
        add_packs<Operation>(mine, first, first + each < packs ? first + each : packs, load);
    }
}

// What the first outputs of this thread need comes nearer while the row comes. After the wait for the other blocks,
// which empties L1.
template <typename Operation>
__device__ __forceinline__ void expect_extras(const Operation& operation, const RowPart& part) {
#pragma unroll
    for (int p = 0; p < Operation::WRITTEN_FROM_SHARED; ++p) {
        const int pack = threadIdx.x + p * blockDim.x;
        if (pack < part.packs) operation.expect(part.column(pack));
    }
    if (part.has_edges()) operation.expect(part.edge());
}

// The statistic of this block's part of a row, whose packs it leaves at `packs` and this thread's edge in `edge`.
template <typename Operation>
__device__ __forceinline__ typename Operation::Statistic read_part(
    const Operation& operation, long long start, const RowPart& part, int blocks, Bits* packs, float& edge
) {
    __shared__ Barrier arrived[PIECES];
    if (threadIdx.x == 0) {
        for (int p = 0; p < PIECES; ++p) init_barrier(&arrived[p], 1);
        publish_barriers();
    }
    arrive_at_blocks(blocks);
    wait_for_previous();
    const SCALAR* x = operation.x + start;
    auto mine = Operation::nothing();
    if constexpr (Operation::INPUTS == 1) {
        if (threadIdx.x == 0) {
            start_copies<1>({x + part.first}, {packs}, part.packs, arrived);
            expect_columns(operation, part, blocks);
        }
        if (part.has_edges()) edge = to_float(x[part.edge()]);  // under way while the packs come
        wait_for_blocks(blocks);
        expect_extras(operation, part);
        let_next_start();
        add_pieces<Operation>(mine, part.packs, arrived, [&](int pack) { return packs[pack]; });
    } else {
        const SCALAR* other = operation.residual + start + part.first;
        SCALAR* joined = operation.h + start + part.first;
        Bits* others = packs + part.packs;
        const bool is_alike = is_aligned(other), joined_is_alike = is_aligned(joined);
        if (threadIdx.x == 0) {
            if (is_alike) {
                start_copies<2>({x + part.first, other}, {packs, others}, part.packs, arrived);
            } else {
                start_copies<1>({x + part.first}, {packs}, part.packs, arrived);
            }
            expect_columns(operation, part, blocks);
        }
        if (part.has_edges()) edge = operation.join_edge(start + part.edge());
        wait_for_blocks(blocks);
        expect_extras(operation, part);
        let_next_start();
        add_pieces<Operation>(mine, part.packs, arrived, [&](int pack) {
            const Bits sum = operation.join(packs[pack], is_alike ? others[pack] : load_elements(other + pack * PACK));
            store_bits(joined + pack * PACK, sum, joined_is_alike);
            packs[pack] = sum;
            return sum;
        });
    }
    if (part.has_edges()) Operation::add_element(mine, edge);
    return mine;
}

// Joins what the blocks of the cluster have found, and writes the outputs of this block's part.
template <bool ALIGNED, int COUNT, typename Extras, typename Operation>
__device__ __forceinline__ void finish_part(
    const Operation& operation, const RowPart& part, const typename Operation::Statistic& mine, long long cols,
    int blocks, int rank, const Bits* packs, float edge, SCALAR* y
) {
    Extras extras;
    extras.load(operation, part, threadIdx.x);
    const auto all = over_cluster<Operation>(mine, blocks, rank);
    const auto scale = operation.scale_of(all, cols);
    write_packs<ALIGNED, COUNT>(operation, part, scale, y, packs, extras);
    if (part.has_edges()) from_float(operation.map_edge(edge, operation.edge(part.edge()), scale), y[part.edge()]);
}

// Each cluster takes a row.
template <typename Operation>
__device__ __forceinline__ void rows_by_clusters(const Operation& operation, long long cols) {
    extern __shared__ __align__(128) unsigned char memory[];
    const int blocks = blocks_of_cluster(), rank = static_cast<int>(rank_in_cluster());
    const long long start = blockIdx.x / static_cast<unsigned>(blocks) * cols;
    const RowPart part(operation.x + start, cols, rank, blocks);
    Bits* packs = reinterpret_cast<Bits*>(memory);
    SCALAR* y = operation.y + start;
    float edge = 0.0f;
    const auto mine = read_part(operation, start, part, blocks, packs, edge);
    // Two words a pack take the room of two packs.
    constexpr int COUNT = Operation::WRITTEN_FROM_SHARED, HALF = (COUNT + 1) / 2;
    if (are_aligned(operation, part, y)) {
        using Found = Extras<Operation, true, COUNT>;
        finish_part<true, COUNT, Found>(operation, part, mine, cols, blocks, rank, packs, edge, y);
    } else if (part.head && operation.extras_begin_on_words()) {
        using Found = ShiftedExtras<Operation, HALF>;
        finish_part<false, HALF, Found>(operation, part, mine, cols, blocks, rank, packs, edge, y);
    } else {
        using Found = Extras<Operation, false, COUNT>;
        finish_part<false, COUNT, Found>(operation, part, mine, cols, blocks, rank, packs, edge, y);
    }
}

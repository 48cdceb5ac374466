// Rows at any alignment kept in the registers of a row group: for softmax and the norms, where rows do not start on 16
// bytes and rows.cuh would go by single elements.
//
// A thread has some of the row's packs, as AlignedRun of common.cuh lays them, and at most one or two of the up to 14
// elements beside them.
#pragma once

#include "shared/overlap.cuh"
#include "shared/row_parts.cuh"

// One input, or two that are joined: what this thread keeps of a row. What it does not have is OUTSIDE. `load_others` loads
// what else the row needs, while these loads are under way: nothing in front of it waits.
template <int PACKS, typename Operation, typename Load>
__device__ __forceinline__ int load_row(
    const Operation& operation, long long first, int packs, int thread, int threads, Bits (&kept)[PACKS],
    const Load& load_others
) {
    int inside = 0;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int pack = thread + p * threads;
        kept[p] = {Operation::OUTSIDE, Operation::OUTSIDE, Operation::OUTSIDE, Operation::OUTSIDE};
        if (pack < packs) {
            kept[p] = load_evict_last(operation.x + first + pack * PACK);
            ++inside;
        }
    }
    if constexpr (Operation::INPUTS == 1) {
        load_others(inside);
    } else {
        const SCALAR* other = operation.residual + first;
        SCALAR* joined = operation.h + first;
        const bool is_alike = is_aligned(other), joined_is_alike = is_aligned(joined);
        Bits others[PACKS] = {};
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {  // all under way at once
            const int at = (thread + p * threads) * PACK;
            if (p < inside) others[p] = is_alike ? load_bits(other + at) : load_elements(other + at);
        }
        load_others(inside);
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            if (p >= inside) break;
            kept[p] = operation.join(kept[p], others[p]);
            store_bits(joined + (thread + p * threads) * PACK, kept[p], joined_is_alike);
        }
    }
    return inside;
}

// An element that goes by itself, and what its output needs of its column: loaded together, as a row that waits for its
// statistic and only then for its scales waits twice.
template <typename Operation>
struct Single {
    SCALAR x, residual;
    typename Operation::Edge edge;

    __device__ __forceinline__ void load(const Operation& operation, long long start, long long column) {
        x = operation.x[start + column];
        if constexpr (Operation::INPUTS == 2) residual = operation.residual[start + column];
        edge = operation.edge(column);
    }
    __device__ __forceinline__ float value(const Operation& operation, long long at) const {
        if constexpr (Operation::INPUTS == 1) return to_float(x);
        else return operation.join_edge(at, x, residual);
    }
};

template <int GROUP, typename Operation>
__device__ __forceinline__ typename Operation::Statistic over_row_group(const typename Operation::Statistic& mine) {
    if constexpr (GROUP <= WARP) return Operation::template over_lanes<GROUP>(mine);
    else return over_block<Operation>(mine);
}

// What the outputs need of a row that a row group keeps: packs, and elements beside them.
template <int GROUP, int PACKS, int EDGES, typename Operation>
__device__ __forceinline__ typename Operation::Scale scale_of_row(
    const Operation& operation, const Bits (&kept)[PACKS], int inside, const float (&edges)[EDGES], int edges_here,
    long long cols
) {
    if constexpr (Operation::IN_TWO_PASSES) {
        return Operation::template scale_by_sums<GROUP>(kept, inside, edges, edges_here, cols);
    } else {
        auto mine = Operation::nothing();
        Operation::add_some(mine, kept, inside);
#pragma unroll
        for (int e = 0; e < EDGES; ++e) {
            if (e < edges_here) Operation::add_element(mine, edges[e]);
        }
        return operation.scale_of(over_row_group<GROUP, Operation>(mine), cols);
    }
}

// The outputs of what a thread keeps.
template <bool ALIGNED, int PACKS, typename Operation>
__device__ __forceinline__ void write_row(
    const Operation& operation, const typename Operation::Scale& scale, SCALAR* y, long long first, int thread,
    int threads, const Bits (&kept)[PACKS], int inside
) {
    const bool aligned = ALIGNED || is_aligned(y + first);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p >= inside) break;
        const long long column = first + (thread + p * threads) * PACK;
        const auto extra = operation.template extra<ALIGNED>(column);
        float values[PACK];
        unpack_words(kept[p], values);
        operation.map(values, extra, scale);
        store_bits(y + column, pack_bits(values), aligned);
    }
}

template <int GROUP, int PACKS, typename Operation>
__device__ __forceinline__ void rows_by_groups(const Operation& operation, long long rows, long long cols) {
    constexpr int EDGES = GROUP < WARP / 2 ? 2 : 1;  // of a thread
    const int threads = GROUP > WARP ? blockDim.x : GROUP, thread = threadIdx.x % threads;
    const long long row = group_row<GROUP>(), start = row * cols;
    const AlignedRun run(operation.x + start, row < rows ? cols : 0);
    Bits kept[PACKS];
    Single<Operation> singles[EDGES] = {};
    int edges_here = 0;
    const auto load_others = [&](int inside) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            if (p < inside) operation.expect(run.head + (thread + p * threads) * PACK);
        }
#pragma unroll
        for (int e = 0; e < EDGES; ++e) {
            const int edge = thread + e * threads;
            if (edge >= run.edges) break;
            singles[e].load(operation, start, run.edge_at(edge));
            ++edges_here;
        }
    };
    const int packs = static_cast<int>(run.packs);
    const int inside = load_row(operation, start + run.head, packs, thread, threads, kept, load_others);
    float edges[EDGES] = {};
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        if (e < edges_here) edges[e] = singles[e].value(operation, start + run.edge_at(thread + e * threads));
    }
    const auto scale = scale_of_row<GROUP>(operation, kept, inside, edges, edges_here, cols);
    keep_packed(kept);
    SCALAR* y = operation.y + start;
    write_row<false>(operation, scale, y, run.head, thread, threads, kept, inside);
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        const int edge = thread + e * threads;
        if (edge >= run.edges) break;
        from_float(operation.map_edge(edges[e], singles[e].edge, scale), y[run.edge_at(edge)]);
    }
}

// Short rows element by element, a lane every LANES-th of them: for rows so short that packs save no access, and what
// finds the packs of a row takes longer than the row.
template <int LANES, int EACH, typename Operation>
__device__ __forceinline__ void rows_by_elements(const Operation& operation, long long rows, long long cols) {
    const long long row = thread_of_grid() / LANES, start = row * cols;
    const int lane = threadIdx.x % LANES, length = row < rows ? static_cast<int>(cols) : 0;
    float values[EACH];
    Single<Operation> singles[EACH] = {};
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        if (lane + e * LANES < length) singles[e].load(operation, start, lane + e * LANES);
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        values[e] = Operation::outside();
        if (lane + e * LANES < length) values[e] = singles[e].value(operation, start + lane + e * LANES);
    }
    const auto mine = Operation::of_elements(values, lane < length ? (length - lane + LANES - 1) / LANES : 0);
    const auto scale = operation.scale_of(Operation::template over_lanes<LANES>(mine), cols);
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int column = lane + e * LANES;
        if (column < length)
            from_float(operation.map_edge(values[e], singles[e].edge, scale), operation.y[start + column]);
    }
}

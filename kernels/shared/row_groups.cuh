// Rows at any alignment kept in the registers of a row group: for softmax and the norms, where rows do not start on 16
// bytes and rows.cuh would go by single elements.
//
// A thread has some of the row's packs, as AlignedRun of common.cuh lays them, and at most one or two of the up to 14
// elements beside them.
#pragma once

#include "shared/overlap.cuh"
#include "shared/row_parts.cuh"

// One input, or two that are joined: what this thread keeps of a row. What it does not have is OUTSIDE.
template <int PACKS, typename Operation>
__device__ __forceinline__ int load_row(
    const Operation& operation, long long first, int packs, int thread, int threads, Bits (&kept)[PACKS]
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
    if constexpr (Operation::INPUTS == 2) {
        const SCALAR* other = operation.residual + first;
        SCALAR* joined = operation.h + first;
        const bool is_alike = is_aligned(other), joined_is_alike = is_aligned(joined);
        Bits others[PACKS] = {};
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {  // all under way at once
            const int at = (thread + p * threads) * PACK;
            if (p < inside) others[p] = is_alike ? load_bits(other + at) : load_elements(other + at);
        }
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            if (p >= inside) break;
            kept[p] = operation.join(kept[p], others[p]);
            store_bits(joined + (thread + p * threads) * PACK, kept[p], joined_is_alike);
        }
    }
    return inside;
}

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
    float edges[EDGES] = {};
    const int inside = load_row(operation, start + run.head, static_cast<int>(run.packs), thread, threads, kept);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p < inside) operation.expect(run.head + (thread + p * threads) * PACK);
    }
    int edges_here = 0;
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        const int edge = thread + e * threads;
        if (edge >= run.edges) break;
        const long long at = start + run.edge_at(edge);
        operation.expect(run.edge_at(edge));
        if constexpr (Operation::INPUTS == 1) edges[e] = to_float(operation.x[at]);
        else edges[e] = operation.join_edge(at);
        ++edges_here;
    }
    const auto scale = scale_of_row<GROUP>(operation, kept, inside, edges, edges_here, cols);
    keep_packed(kept);
    SCALAR* y = operation.y + start;
    write_row<false>(operation, scale, y, run.head, thread, threads, kept, inside);
#pragma unroll
    for (int e = 0; e < EDGES; ++e) {
        const int edge = thread + e * threads;
        if (edge >= run.edges) break;
        const long long column = run.edge_at(edge);
        from_float(operation.map_element(edges[e], column, scale), y[column]);
    }
}

// Short rows element by element, a lane every LANES-th of them: for rows so short that packs save no access, and what
// finds the packs of a row takes longer than the row.
template <int LANES, int EACH, typename Operation>
__device__ __forceinline__ void rows_by_elements(const Operation& operation, long long rows, long long cols) {
    const long long row = thread_of_grid() / LANES, start = row * cols;
    const int lane = threadIdx.x % LANES, length = row < rows ? static_cast<int>(cols) : 0;
    float values[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        values[e] = Operation::outside();
        if (lane + e * LANES >= length) continue;
        const long long at = start + lane + e * LANES;
        if constexpr (Operation::INPUTS == 1) values[e] = to_float(operation.x[at]);
        else values[e] = operation.join_edge(at);
    }
    const auto mine = Operation::of_elements(values, lane < length ? (length - lane + LANES - 1) / LANES : 0);
    const auto scale = operation.scale_of(Operation::template over_lanes<LANES>(mine), cols);
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int column = lane + e * LANES;
        if (column < length) from_float(operation.map_element(values[e], column, scale), operation.y[start + column]);
    }
}

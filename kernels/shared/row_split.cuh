// Rows that the whole grid shares, by two kernels: for softmax and the norms, where few rows are longer than a cluster
// holds, or more than a cluster should read.
//
// The first kernel leaves the statistic of each part, the second joins those of a row and writes the outputs. It takes
// the parts in the opposite order, so that of rows longer than L2 it reads again first what is still there. On Hopper
// the second kernel starts while the first one works, and reads its first packs meanwhile.
#pragma once

#include "shared/overlap.cuh"
#include "shared/row_parts.cuh"

constexpr int SPLIT_THREADS = 256;  // of a block, as in row_parts.py

// Block b of the grid has part b % parts of row b / parts.
template <typename Operation>
__device__ __forceinline__ void find_statistics(
    const Operation& operation, typename Operation::Statistic* found, long long cols, long long parts
) {
    wait_for_previous();  // and only then may the next start, which reads x before it waits
    let_next_start();
    const long long start = blockIdx.x / static_cast<unsigned>(parts) * cols;
    const SCALAR* x = operation.x + start;
    const RowPart part(x, cols, blockIdx.x % static_cast<unsigned>(parts), static_cast<int>(parts));
    x += part.first;
    float edge = 0.0f;
    auto mine = Operation::nothing();
    if constexpr (Operation::INPUTS == 1) {
        if (part.has_edges()) edge = to_float(operation.x[start + part.edge()]);
        add_packs<Operation>(mine, 0, part.packs, [&](int pack) { return load_bits(x + pack * PACK); });
    } else {
        const SCALAR* other = operation.residual + start + part.first;
        SCALAR* joined = operation.h + start + part.first;
        const bool is_alike = is_aligned(other), joined_is_alike = is_aligned(joined);
        if (part.has_edges()) edge = operation.join_edge(start + part.edge());
        add_packs<Operation>(mine, 0, part.packs, [&](int pack) {
            const int at = pack * PACK;
            const Bits sum =
                operation.join(load_bits(x + at), is_alike ? load_bits(other + at) : load_elements(other + at));
            store_bits(joined + at, sum, joined_is_alike);
            return sum;
        });
    }
    if (part.has_edges()) Operation::add_element(mine, edge);
    const auto all = over_block<Operation>(mine);
    if (threadIdx.x == 0) found[blockIdx.x] = all;
}

// The statistic of a row that the kernel before left in parts.
template <typename Operation>
__device__ __forceinline__ typename Operation::Statistic join_statistics(
    const typename Operation::Statistic* found, int parts
) {
    auto mine = Operation::nothing();
    for (int part = threadIdx.x; part < parts; part += blockDim.x) mine = Operation::together(mine, found[part]);
    return over_block<Operation>(mine);
}

// The outputs of a part. Its packs and what belongs to them are asked for one step before, the first ones while the
// kernel before still works.
template <bool ALIGNED, int COUNT, typename Extras, typename Operation, typename Load>
__device__ __forceinline__ void finish_part(
    const Operation& operation, const RowPart& part, const typename Operation::Statistic* found, long long cols,
    int parts, SCALAR* y, const Load& load, float edge
) {
    const int step = COUNT * blockDim.x;
    Bits packs[COUNT];
    Extras extras;
    const auto load_packs = [&](int first) {
#pragma unroll
        for (int p = 0; p < COUNT; ++p) {
            if (first + p * blockDim.x < part.packs) packs[p] = load(first + p * blockDim.x);
        }
    };
    load_packs(threadIdx.x);
    extras.load(operation, part, threadIdx.x);
    if constexpr (Operation::INPUTS == 1) wait_for_previous();
    const auto scale = operation.scale_of(join_statistics<Operation>(found, parts), cols);
#pragma unroll 1
    for (int first = threadIdx.x; first < part.packs; first += step) {
        Bits now[COUNT];
#pragma unroll
        for (int p = 0; p < COUNT; ++p) now[p] = packs[p];
        const auto with = extras;
        load_packs(first + step);
        extras.load(operation, part, first + step);
#pragma unroll
        for (int p = 0; p < COUNT; ++p) {
            const int pack = first + p * blockDim.x;
            if (pack >= part.packs) continue;
            write_pack<ALIGNED>(operation, scale, with.at(p, part), now[p], y + part.column(pack));
        }
    }
    if (part.has_edges()) from_float(operation.map_edge(edge, operation.edge(part.edge()), scale), y[part.edge()]);
}

// What the kernel before has joined is read where it has stored it: its packs may lie otherwise than those of x.
template <typename Operation>
__device__ __forceinline__ void write_outputs(
    const Operation& operation, const typename Operation::Statistic* found, long long cols, long long parts
) {
    constexpr int COUNT = Operation::WRITTEN, HALF = (COUNT + 1) / 2;  // two words a pack take the room of two packs
    const unsigned block = gridDim.x - 1 - blockIdx.x, row = block / static_cast<unsigned>(parts);
    const int each = static_cast<int>(parts);
    const long long start = row * cols;
    SCALAR* y = operation.y + start;
    const SCALAR* values;
    if constexpr (Operation::INPUTS == 1) {
        values = operation.x + start;
    } else {
        values = operation.h + start;
        wait_for_previous();
    }
    const RowPart part(values, cols, block % static_cast<unsigned>(parts), each);
    const float edge = part.has_edges() ? to_float(values[part.edge()]) : 0.0f;
    values += part.first;
    // Volatile, as those of h must not move before the wait.
    const auto load = [&](int pack) { return load_evict_last(values + pack * PACK); };
    found += row * parts;
    if (are_aligned(operation, part, y)) {
        using Found = Extras<Operation, true, COUNT>;
        finish_part<true, COUNT, Found>(operation, part, found, cols, each, y, load, edge);
    } else if (part.head && operation.extras_begin_on_words()) {
        using Found = ShiftedExtras<Operation, HALF>;
        finish_part<false, HALF, Found>(operation, part, found, cols, each, y, load, edge);
    } else {
        using Found = Extras<Operation, false, COUNT>;
        finish_part<false, COUNT, Found>(operation, part, found, cols, each, y, load, edge);
    }
}

// C = finish(A B) of a large B in 16 bits whose rows begin anywhere, by TMA as they lie, and an A of fewer rows.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); (m k + k n + m n) 2 bytes, of which most are B's.
// Mapping: rows of B that are `classes` apart begin alike: B, seen as k / classes rows of classes n elements each, has rows of
//   whole 16 bytes. A sum has terms of all classes; each block of a cluster takes those of one class, or a part of them, for the
//   same tile. Its boxes begin on whole 16 bytes, so up to 7 columns in front of the tile: sums of its first and last columns
//   are of others, and are not used. The blocks leave their sums in shared memory and add them up, each shifted as its class
//   is. A's columns are put in order before, one class behind the other. One warp copies, as in wgmma_matmul.cuh, and sums lie
//   across, as a tile's rows are those of A.
// Idea: wgmma_classes.cuh has it for rows of A. A copy of B that has rows of whole 16 bytes takes twice the time of reading B,
//   the product then once more.
#pragma once

#include "shared/finish.cuh"
#include "shared/overlap.cuh"
#include "shared/wgmma_copies.cuh"

// A with the columns of each class behind each other, zeros from the end of a class to whole steps: a thread makes 8 of them.
// Threads beside each other have the same 8 of all classes, which lie among each other in A.
__device__ __forceinline__ void order_classes(
    const SCALAR* a, uint4* ordered, unsigned m, int k, unsigned classes, unsigned units
) {
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x, of_row = classes * units;
    const unsigned row = index / of_row, in_row = index - row * of_row, unit = in_row / classes;
    const unsigned number = in_row - unit * classes;
    wait_for_previous();
    let_next_start();
    if (row >= m) return;
    const auto* const from = reinterpret_cast<const unsigned short*>(a) + row * static_cast<unsigned long long>(k);
    unsigned words[4] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const unsigned column = (unit * 8 + i) * classes + number;
        if (column < static_cast<unsigned>(k))
            words[i / 2] |= static_cast<unsigned>(__ldg(from + column)) << i % 2 * 16;
    }
    ordered[(row * static_cast<unsigned long long>(classes) + number) * units + unit] =
        make_uint4(words[0], words[1], words[2], words[3]);
}

// The tile of a cluster: what its blocks have left of it, and where it goes.
template <int COLUMNS>
struct TileOfClasses {
    static constexpr int PITCH = COLUMNS + 4;  // floats: what a warp leaves at once lies in different banks
    static constexpr int WIDTH = COLUMNS - 8;  // columns that all classes have
    SCALAR* c;
    unsigned m, n, row0, column0;

    // Two neighbours of C, of which each of BLOCKS blocks has a part of the sums.
    template <int BLOCKS, class Finish>
    __device__ __forceinline__ void store(
        const float* left, const unsigned (&shifts)[BLOCKS], unsigned row, unsigned column, const Finish& finish
    ) const {
        float2 part[BLOCKS];
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
            const unsigned from = address_in(block, left) + (row * PITCH + column + shifts[block]) * 4;
            part[block] = make_float2(load_one_from(from), load_one_from(from + 4));
        }
        float2 sums = part[0];
#pragma unroll
        for (int block = 1; block < BLOCKS; ++block) sums.x += part[block].x, sums.y += part[block].y;
        const int at = static_cast<int>(column0 + column);
        const float2 pair = finish_pair(for_columns<1>(finish, at), sums, at, 0);
        alignas(4) SCALAR elements[2];
        from_floats(pair.x, pair.y, elements);
        SCALAR* const to = c + ((row0 + row) * static_cast<unsigned long long>(n) + at);
        if (n % 2 == 0) {
            *reinterpret_cast<unsigned*>(to) = reinterpret_cast<const unsigned&>(elements);
        } else {
            to[0] = elements[0];
            if (at + 1 < static_cast<int>(n)) to[1] = elements[1];
        }
    }

    // The rows that are this block's, by `threads` of it.
    template <int BLOCKS, class Finish>
    __device__ __forceinline__ void store_rows(
        const float* left, unsigned rows, unsigned classes, unsigned rank, unsigned threads, const Finish& finish
    ) const {
        unsigned shifts[BLOCKS];
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) shifts[block] = block % classes * (n % 8) % 8;
        const unsigned here = min(rows, m - row0), pairs = (min(WIDTH, n - column0) + 1) / 2;
        for (unsigned i = threadIdx.x; i < (here + BLOCKS - 1 - rank) / BLOCKS * pairs; i += threads) {
            store<BLOCKS>(left, shifts, i / pairs * BLOCKS + rank, i % pairs * 2, finish);
        }
    }

private:
    static __device__ __forceinline__ float load_one_from(unsigned address) {
        float one;
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(one) : "r"(address) : "memory");
        return one;
    }
};

// `longer` is the map of the classes that have one row of B more than the others, `b` that of these.
template <int ROWS, int CONSUMERS, int STAGES, class MakeFinish>
__device__ __forceinline__ void multiply_class_sums(
    const CUtensorMap& ordered, const CUtensorMap& b, const CUtensorMap& longer, SCALAR* c, unsigned m, unsigned n,
    int k, unsigned classes, unsigned units, const MakeFinish& make_finish
) {
    constexpr int SUMS = ROWS / 2, COLUMNS = CONSUMERS * BAND;  // of a thread, of a block
    constexpr int BYTES_A = ROWS * ROW, STAGE = BYTES_A + COLUMNS * ROW;
    using Tile = TileOfClasses<COLUMNS>;
    static_assert(ROWS * Tile::PITCH * sizeof(float) <= STAGES * STAGE);
    extern __shared__ __align__(1024) unsigned char stages[];
    Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES * STAGE);
    Barrier* const empty = full + STAGES;

    const unsigned parts = blocks_of_cluster(), rank = rank_in_cluster(), number = rank % classes;
    const unsigned tile = blockIdx.x / parts, tiles_above = (m + ROWS - 1) / ROWS;
    const unsigned row0 = tile % tiles_above * ROWS, column0 = tile / tiles_above * Tile::WIDTH;
    const bool is_longer = number < k % classes;
    const int steps = static_cast<int>((k / classes + is_longer + STEP_K - 1) / STEP_K);
    const int sharers = parts / classes, part = rank / classes;  // of a class
    const int first = steps * part / sharers, last = steps * (part + 1) / sharers;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    const CUtensorMap& of_class = is_longer ? longer : b;

    if (threadIdx.x == CONSUMERS * WARPGROUP) {
        prefetch_map(ordered);
        prefetch_map(of_class);
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, CONSUMERS);
        }
        publish_barriers();
    }
    __syncthreads();
    wait_for_previous();
    let_next_start();

    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };
    const auto finish = make_finish();
    float* const left = reinterpret_cast<float*>(stages);  // sums, for the cluster
    if (warpgroup == CONSUMERS) {
        if (threadIdx.x % WARP == 0) {
            const int column_a = static_cast<int>(number * units * 8);
            const int column_b = static_cast<int>(number * n / 8 * 8 + column0);  // on whole 16 bytes
            for (int step = first; step < last; ++step, next_stage()) {
                wait_for(empty + stage, phase ^ 1);
                unsigned char* const to = stages + stage * STAGE;
                arrive_and_expect(full + stage, STAGE);
                copy_part_of_b<COLUMNS, 1>(CopyHere{of_class, full + stage}, to + BYTES_A, 0, column_b, step * STEP_K);
                copy_box(to, ordered, column_a + step * STEP_K, static_cast<int>(row0), full + stage);
            }
        }
        __syncwarp();
        __syncthreads();
    } else {
        if (threadIdx.x < COLUMNS / 64) ask_for_columns(finish, static_cast<int>(column0 + threadIdx.x * 64));
        float sum[SUMS] = {};
        int before = 0;
        const auto release = [&](int stage) {
            if (threadIdx.x % WARPGROUP == 0) arrive(empty + stage);
        };
        for (int step = first; step < last; ++step, next_stage()) {
            wait_for(full + stage, phase);
            const unsigned char* const from = stages + stage * STAGE;
            const unsigned long long tile_a = swizzled_tile(from, ATOM, 0);
            const unsigned long long tile_b = swizzled_tile(from + BYTES_A + warpgroup * 64 * ROW, ATOM, BAND * ROW);
            begin_products();
#pragma unroll
            for (int slice = 0; slice < 4; ++slice) {
                multiply_across(sum, tile_b + slice * (16 * ROW / 16), tile_a + slice * 2);
            }
            commit_products();
            wait_for_products<1>();
            if (step > first) release(before);
            before = stage;
        }
        wait_for_products<0>();
        settle(sum);
        __syncthreads();  // nobody multiplies any more
        const int lane = threadIdx.x % WARP;
        float* const own = left + lane % 4 * 2 * Tile::PITCH + threadIdx.x / WARP * 16 + lane / 4;
#pragma unroll
        for (int i = 0; i < SUMS; i += 4) {
            float* const to = own + i * 2 * Tile::PITCH;  // 8 rows for each four sums
            to[0] = sum[i], to[Tile::PITCH] = sum[i + 1];
            to[8] = sum[i + 2], to[Tile::PITCH + 8] = sum[i + 3];
        }
    }
    arrive_with_writes();
    wait_for_cluster();
    if (warpgroup < CONSUMERS) {
        const Tile of_c{c, m, n, row0, column0};
        constexpr unsigned THREADS = CONSUMERS * WARPGROUP;
        if (parts == 2) of_c.template store_rows<2>(left, ROWS, classes, rank, THREADS, finish);
        else if (parts == 4) of_c.template store_rows<4>(left, ROWS, classes, rank, THREADS, finish);
        else of_c.template store_rows<8>(left, ROWS, classes, rank, THREADS, finish);
    }
    // No block may leave while another still reads what it has left.
    __syncwarp();
    meet_cluster();
}

#define CLASS_SUMS_KERNEL(NAME, ROWS, CONSUMERS, STAGES, BLOCKS, FINISH, ...)                                     \
    extern "C" __global__ void __launch_bounds__(CONSUMERS * WARPGROUP + WARP, BLOCKS)                            \
        NAME(const __grid_constant__ CUtensorMap ordered, const __grid_constant__ CUtensorMap b,                  \
             const __grid_constant__ CUtensorMap longer, SCALAR* c, long long m, long long n, long long k,        \
             long long classes, long long units, ##__VA_ARGS__) {                                                 \
        multiply_class_sums<ROWS, CONSUMERS, STAGES>(                                                             \
            ordered, b, longer, c, static_cast<unsigned>(m), static_cast<unsigned>(n), static_cast<int>(k),       \
            static_cast<unsigned>(classes), static_cast<unsigned>(units), [&] { return FINISH; });                \
    }
#define ORDERED_CLASSES_KERNEL                                                                                    \
    extern "C" __global__ void ordered_classes(                                                                   \
        const SCALAR* a, uint4* ordered, long long m, long long k, long long classes, long long units             \
    ) {                                                                                                           \
        order_classes(a, ordered, static_cast<unsigned>(m), static_cast<int>(k), static_cast<unsigned>(classes),  \
                      static_cast<unsigned>(units));                                                              \
    }
#define CLASS_SUMS_KERNELS(...)                                         \
    ORDERED_CLASSES_KERNEL                                              \
    CLASS_SUMS_KERNEL(class_sums_48x128, 48, 2, 4, 2, __VA_ARGS__)      \
    CLASS_SUMS_KERNEL(class_sums_64x128, 64, 2, 4, 2, __VA_ARGS__)      \
    CLASS_SUMS_KERNEL(class_sums_96x128, 96, 2, 4, 2, __VA_ARGS__)      \
    CLASS_SUMS_KERNEL(class_sums_128x128, 128, 2, 3, 2, __VA_ARGS__)    \
    CLASS_SUMS_KERNEL(class_sums_160x192, 160, 3, 5, 1, __VA_ARGS__)    \
    CLASS_SUMS_KERNEL(class_sums_192x192, 192, 3, 4, 1, __VA_ARGS__)    \
    CLASS_SUMS_KERNEL(class_sums_224x128, 224, 2, 4, 1, __VA_ARGS__)

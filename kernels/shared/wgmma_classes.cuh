// C = finish(A B) of a tall A and little of B and C, in 16 bits, from rows of A that begin anywhere, by TMA as they lie.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); (m k + k n + m n) 2 bytes, of which most are A's.
// Mapping: rows of A that are `classes` apart begin alike: A, seen as m / classes rows of classes k elements each, has rows of
//   whole 16 bytes. A tile takes 128 rows of one class and all columns of C. Boxes begin on whole 16 bytes, so up to 7 elements
//   in front of the class, and those of B as many rows earlier. What a box has of its rows' neighbours meets zeros of B;
//   it is made zero too, as a NaN would not stay where it is. The blocks of a cluster share a tile, a part of k each, and
//   add their sums by way of shared memory. One warp copies, as in wgmma_matmul.cuh.
// Idea: a copy of A that has rows of whole 16 bytes takes twice the time of reading A, the product then once more.
#pragma once

#include "shared/finish.cuh"
#include "shared/overlap.cuh"
#include "shared/wgmma_copies.cuh"

// Makes zeros of a step's elements in front of `low` and from `high` on, in a warpgroup's 64 rows.
__device__ __forceinline__ void clear_outside(unsigned char* rows, int low, int high) {
    const int row = threadIdx.x % 64;
    for (int chunk = threadIdx.x % WARPGROUP / 64; chunk < ROW / 16; chunk += 2) {
        const int first = chunk * 8;
        if (first >= low && first + 8 <= high) continue;
        SCALAR* const elements = reinterpret_cast<SCALAR*>(rows + row * ROW + (chunk ^ row % 8) * 16);
        for (int i = 0; i < 8; ++i) {
            if (first + i < low || first + i >= high) from_float(0.0f, elements[i]);
        }
    }
}

// The rows of C that a tile has, which are those of a class from `first` on.
struct RowsOfClass {
    SCALAR* c;
    unsigned first, end, classes, number, n;

    // Two neighbours each of two rows, as a thread has them of 8 columns.
    template <class Finish>
    __device__ __forceinline__ void store(const float* sums, int group, const Finish& finish) const {
        const unsigned lane = threadIdx.x % WARP, column = group * 8 + lane % 4 * 2;
        const unsigned upper = first + threadIdx.x / WARP * 16 + lane / 4;
        if (column >= n) return;
        const auto& of_column = for_columns<1>(finish, static_cast<int>(column));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const unsigned row = upper + i * 8;
            if (row >= end) return;
            const float2 two = make_float2(sums[i * 2], sums[i * 2 + 1]);
            const float2 pair = finish_pair(of_column, two, static_cast<int>(column), 0);
            alignas(4) SCALAR elements[2];
            from_floats(pair.x, pair.y, elements);
            SCALAR* const to = c + ((row * static_cast<unsigned long long>(classes) + number) * n + column);
            if (n % 2 == 0) {
                *reinterpret_cast<unsigned*>(to) = reinterpret_cast<const unsigned&>(elements);
            } else {
                to[0] = elements[0];
                if (column + 1 < n) to[1] = elements[1];
            }
        }
    }
};

// Adds what the blocks of the cluster have left at the same place, in one order.
__device__ __forceinline__ void add_of_cluster(float (&sums)[4], const float4* place, unsigned blocks) {
#pragma unroll
    for (float& sum : sums) sum = 0.0f;
    for (unsigned block = 0; block < blocks; ++block) {
        float4 part;
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(part.x), "=f"(part.y), "=f"(part.z), "=f"(part.w)
                     : "r"(address_in(block, place))
                     : "memory");
        sums[0] += part.x, sums[1] += part.y, sums[2] += part.z, sums[3] += part.w;
    }
}

constexpr int ROWS_OF_CLASS_TILE = 128;
constexpr int CLASS_CONSUMERS = ROWS_OF_CLASS_TILE / 64;
constexpr int CLASS_THREADS = CLASS_CONSUMERS * WARPGROUP + WARP;

// `longer` is the map of the classes that have one row more than the others, `a` that of these.
template <int COLUMNS, int STAGES, class MakeFinish>
__device__ __forceinline__ void multiply_classes(
    const CUtensorMap& a, const CUtensorMap& longer, const CUtensorMap& b, SCALAR* c, unsigned m, unsigned n, int k,
    unsigned classes, const MakeFinish& make_finish
) {
    constexpr int SUMS = COLUMNS / 2;  // of a thread
    constexpr int BYTES_A = ROWS_OF_CLASS_TILE * ROW, STAGE = BYTES_A + COLUMNS * ROW;
    static_assert(COLUMNS % BAND == 0 && CLASS_CONSUMERS * WARPGROUP * SUMS * sizeof(float) <= STAGES * STAGE);
    extern __shared__ __align__(1024) unsigned char stages[];
    Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES * STAGE);
    Barrier* const empty = full + STAGES;

    const int parts = blocks_of_cluster(), part = static_cast<int>(rank_in_cluster());
    const unsigned tile = blockIdx.x / parts, number = tile % classes, row = tile / classes * ROWS_OF_CLASS_TILE;
    const bool is_longer = number < m % classes;
    const unsigned rows = m / classes + is_longer;
    if (row >= rows) return;  // the whole cluster
    const int shift = static_cast<int>(number * k % 8);
    // Where boxes begin, and what of these is behind the class.
    const int begin = static_cast<int>(number) * k - shift, end = k + shift;
    const int steps = (end + STEP_K - 1) / STEP_K;
    const int first = steps * part / parts, last = steps * (part + 1) / parts;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    const CUtensorMap& of_class = is_longer ? longer : a;

    if (threadIdx.x == CLASS_CONSUMERS * WARPGROUP) {
        prefetch_map(of_class);
        prefetch_map(b);
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, CLASS_CONSUMERS);
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
    const RowsOfClass rows_of_c{c, row, rows, classes, number, n};
    float4* const left = reinterpret_cast<float4*>(stages) + threadIdx.x;  // sums, for the cluster
    constexpr int BETWEEN = CLASS_CONSUMERS * WARPGROUP;                   // two groups of four of a thread's

    if (warpgroup == CLASS_CONSUMERS) {
        if (threadIdx.x % WARP == 0) {
            for (int step = first; step < last; ++step, next_stage()) {
                wait_for(empty + stage, phase ^ 1);
                unsigned char* const to = stages + stage * STAGE;
                arrive_and_expect(full + stage, STAGE);
                copy_box(to, of_class, begin + step * STEP_K, static_cast<int>(row), full + stage);
                copy_part_of_b<COLUMNS, 1>(CopyHere{b, full + stage}, to + BYTES_A, 0, 0, step * STEP_K - shift);
            }
        }
        __syncwarp();
        if (parts > 1) __syncthreads();
    } else {
        if (threadIdx.x < COLUMNS / 64) ask_for_columns(finish, static_cast<int>(threadIdx.x) * 64);
        float sum[SUMS] = {};
        int before = 0;
        const auto release = [&](int stage) {
            if (threadIdx.x % WARPGROUP == 0) arrive(empty + stage);
        };
        for (int step = first; step < last; ++step, next_stage()) {
            wait_for(full + stage, phase);
            unsigned char* const own = stages + stage * STAGE + warpgroup * 64 * ROW;
            const int low = step == 0 ? shift : 0, high = end - step * STEP_K;
            if (low > 0 || high < STEP_K) {
                clear_outside(own, low, high);
                publish_writes();
                meet_warpgroup(warpgroup);
            }
            const unsigned long long tile_a = swizzled_tile(own, ATOM, 0);
            const unsigned long long tile_b = swizzled_tile(stages + stage * STAGE + BYTES_A, ATOM, BAND * ROW);
            begin_products();
#pragma unroll
            for (int slice = 0; slice < 4; ++slice) {
                multiply_add(sum, tile_a + slice * 2, tile_b + slice * (16 * ROW / 16));
            }
            commit_products();
            wait_for_products<1>();
            if (step > first) release(before);
            before = stage;
        }
        wait_for_products<0>();
        if (parts > 1) {
            __syncthreads();  // nobody multiplies any more
#pragma unroll
            for (int i = 0; i < SUMS / 4; ++i)
                left[i * BETWEEN] = make_float4(sum[i * 4], sum[i * 4 + 1], sum[i * 4 + 2], sum[i * 4 + 3]);
        } else {
#pragma unroll
            for (int i = 0; i < SUMS / 4; ++i) rows_of_c.store(sum + i * 4, i, finish);
        }
    }
    if (parts == 1) return;
    arrive_with_writes();
    wait_for_cluster();
    if (warpgroup < CLASS_CONSUMERS) {
        for (int i = part; i < SUMS / 4; i += parts) {
            float sums[4];
            add_of_cluster(sums, left + i * BETWEEN, parts);
            rows_of_c.store(sums, i, finish);
        }
    }
    // No block may leave while another still reads what it has left.
    __syncwarp();
    meet_cluster();
}

#define CLASSES_KERNEL(NAME, COLUMNS, STAGES, BLOCKS, FINISH, ...)                                                \
    extern "C" __global__ void __launch_bounds__(CLASS_THREADS, BLOCKS)                                           \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap longer,                   \
             const __grid_constant__ CUtensorMap b, SCALAR* c, long long m, long long n, long long k,             \
             long long classes, ##__VA_ARGS__) {                                                                  \
        multiply_classes<COLUMNS, STAGES>(                                                                        \
            a, longer, b, c, static_cast<unsigned>(m), static_cast<unsigned>(n), static_cast<int>(k),             \
            static_cast<unsigned>(classes), [&] { return FINISH; });                                              \
    }
#define CLASSES_KERNELS(...)                           \
    CLASSES_KERNEL(classes_64, 64, 4, 2, __VA_ARGS__)   \
    CLASSES_KERNEL(classes_128, 128, 3, 2, __VA_ARGS__) \
    CLASSES_KERNEL(classes_256, 256, 4, 1, __VA_ARGS__)

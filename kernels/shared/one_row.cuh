// C = finish(A B) of one row, in 16 bits: a sum of B's rows by the elements of A, at the speed of memory.
//
// Formula: C[j] = finish(sum over l of A[l] B[l, j]); (k + k n + n) 2 bytes, of which nearly all are B's.
// Mapping: rows 8 apart begin alike, whatever n is. So each of a block's 8 warps takes every eighth row of B and reads words of
//   16 bytes as they lie, 512 bytes of a row at once: its 256 columns begin up to 7 in front of the block's, of which there
//   are 248, or 256 where all rows begin on such words. Only the sums are shifted, where the warps meet in shared memory. Eight
//   rows are multiplied while the next eight are on their way. A lane holds an element of A for one of its warp's next 32
//   rows. The blocks of a cluster have a part of k each.
// Idea: few_rows.cuh multiplies by mma.sync, for which a warp takes 128 bytes of a row, and wants A in order, by a kernel in
//   front. One row needs neither: an FMA for each element of B is little beside its bytes.
#pragma once

#include "shared/finish.cuh"
#include "shared/hopper.cuh"
#include "shared/loose_words.cuh"
#include "shared/overlap.cuh"

constexpr int ONE_WARPS = 8;                    // each with every eighth row of B
constexpr int ONE_ROWS = 8;                     // of a warp, at once
constexpr int ONE_STEP = ONE_WARPS * ONE_ROWS;  // rows of B that a block takes at once
constexpr int ONE_COLUMNS = WARP * 8;           // of a warp
constexpr int ONE_PAIRS = ONE_COLUMNS / 2;
constexpr int ONE_PITCH = ONE_COLUMNS + 8;  // of sums in shared memory, which are read up to 7 further on
constexpr int ONE_BATCH = WARP / ONE_ROWS;  // steps for which a warp holds A

__device__ __forceinline__ void add_eight(float (&sum)[8], const uint4& word, float by) {
    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(&word);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = fmaf(static_cast<float>(elements[i]), by, sum[i]);
}

// One block's rows of B, `first` to `last` in steps of ONE_STEP, from `from` on for this lane.
struct OneRow {
    const Element *a, *b, *from, *end;
    long long n, k, column0;
    int warp, lane;

    __device__ __forceinline__ void load(int step, Eight<true> (&rows)[8]) const {
        const Element* const lowest = b + static_cast<long long>(step) * ONE_STEP * n + column0 - 7;
        const Element* const highest =
            b + (static_cast<long long>(step + 1) * ONE_STEP - 1) * n + column0 + ONE_COLUMNS;
        const Element* const at = from + static_cast<long long>(step) * ONE_STEP * n;
        if (lowest >= b && highest <= end) {
#pragma unroll
            for (int i = 0; i < ONE_ROWS; ++i)
                rows[i].low = __ldg(reinterpret_cast<const uint4*>(at + i * ONE_WARPS * n));
        } else {
            load_within(rows, at, ONE_WARPS * n, b, end);
        }
    }
    // The element of A for this lane's row of the warp's 32 from this step on.
    __device__ __forceinline__ float weight(int step) const {
        const long long along_k = static_cast<long long>(step) * ONE_STEP + lane * ONE_WARPS + warp;
        return along_k < k ? static_cast<float>(reinterpret_cast<const SCALAR*>(a)[along_k]) : 0.0f;
    }
    __device__ __forceinline__ void add(float (&sum)[8], const Eight<true> (&rows)[8], float weights, int batch) const {
#pragma unroll
        for (int i = 0; i < ONE_ROWS; ++i) {
            add_eight(sum, rows[i].low, __shfl_sync(WHOLE_WARP, weights, batch * ONE_ROWS + i));
        }
    }
    __device__ __forceinline__ void add_all(float (&sum)[8], int first, int last) const {
        if (first >= last) return;
        Eight<true> now[8], next[8];
        float weights = weight(first);
        load(first, now);
        for (int step = first; step < last; ++step) {
            const int batch = (step - first) % ONE_BATCH;
            const float following = batch == ONE_BATCH - 1 ? weight(step + 1) : weights;
            if (step + 1 < last) load(step + 1, next);
            add(sum, now, weights, batch);
            weights = following;
#pragma unroll
            for (int i = 0; i < ONE_ROWS; ++i) now[i].low = next[i].low;
        }
    }
};

// `width` columns of a block are 248 or 256.
template <class Out, class MakeFinish>
__device__ __forceinline__ void multiply_one(
    const Element* a, const Element* __restrict__ b, Out* __restrict__ c, long long n, long long k, int width,
    const MakeFinish& make_finish
) {
    __shared__ __align__(16) float sums[ONE_WARPS][ONE_PITCH];
    __shared__ float2 parts[ONE_PAIRS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int blocks = blocks_of_cluster();
    const unsigned rank = rank_in_cluster();
    const long long column0 = static_cast<long long>(blockIdx.x / blocks) * width;
    const int steps = static_cast<int>((k + ONE_STEP - 1) / ONE_STEP), each = (steps + blocks - 1) / blocks;
    const int first = rank * each, last = min(steps, first + each);
    // By how many elements the words of a warp's rows begin in front of the block's columns.
    const auto before = [&](int of_warp) {
        const auto begin = reinterpret_cast<unsigned long long>(b) / sizeof(Element);
        return static_cast<int>((begin + of_warp * n + column0) % 8);
    };
    const OneRow row = {a, b, b + warp * n + column0 - before(warp) + lane * 8, b + k * n, n, k, column0, warp, lane};
    if (threadIdx.x < ONE_COLUMNS / 64) {
        ask_for_columns(make_finish(), static_cast<int>(column0 + threadIdx.x * 64));
    }
    wait_for_previous();
    let_next_start();
    float sum[8] = {};
    row.add_all(sum, first, last);
    float4* const to = reinterpret_cast<float4*>(&sums[warp][lane * 8]);
    to[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    to[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
    __syncthreads();

    const auto finish = make_finish();
    const auto store = [&](int pair, float2 two) {
        const long long column = column0 + pair * 2;
        if (pair * 2 >= width || column >= n) return;
        const float2 done =
            finish_pair(for_columns<1>(finish, static_cast<int>(column)), two, static_cast<int>(column), 0);
        from_float(done.x, c[column]);
        if (column + 1 < n) from_float(done.y, c[column + 1]);
    };
    const int pair = threadIdx.x;
    if (pair < ONE_PAIRS) {
        float2 two = {};
        if (pair * 2 < width) {
#pragma unroll
            for (int other = 0; other < ONE_WARPS; ++other) {
                const float* const both = &sums[other][pair * 2 + before(other)];
                two.x += both[0], two.y += both[1];
            }
        }
        if (blocks == 1) store(pair, two);
        else parts[pair] = two;
    }
    if (blocks == 1) return;
    arrive_with_writes();
    wait_for_cluster();
    const int of_block = ONE_PAIRS / blocks;
    if (pair < of_block) {
        float2 two = {};
        for (int block = 0; block < blocks; ++block) {
            const float2 more = load_from(address_in(block, &parts[rank * of_block + pair]));
            two.x += more.x, two.y += more.y;
        }
        store(rank * of_block + pair, two);
    }
    meet_cluster();  // none may end while another reads its parts
}

#define ONE_ROW_KERNEL_OF(FINISH, ...)                                                                           \
    extern "C" __global__ void __launch_bounds__(ONE_WARPS * WARP, 2) one_row(                                   \
        const Element* a, const Element* b, SCALAR* c, long long n, long long k, long long width, ##__VA_ARGS__ \
    ) {                                                                                                          \
        multiply_one(a, b, c, n, k, static_cast<int>(width), [&] { return FINISH; });                            \
    }
#define ONE_ROW_KERNEL(...) ONE_ROW_KERNEL_OF(__VA_ARGS__)

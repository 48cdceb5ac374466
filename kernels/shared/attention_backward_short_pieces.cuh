// What attention_backward_short.cuh is made of (sm_90a): a block's shared memory, its products, and sums that the blocks of a
// cluster add up.
#pragma once

#include "shared/attention_backward_ends.cuh"
#include "shared/wgmma_attention_products.cuh"

constexpr int ROWS = 64;               // of a warpgroup, and of a step, as in the launcher
constexpr int NUMBERS = 2 * ROWS * 4;  // bytes of a step's numbers

// Shared memory, as the launcher counts it.
template <int DIM, int GROUPS>
struct ShortBlock {
    static constexpr int TILE = ROWS * DIM * 2;
    unsigned char* own;  // two tiles of each warpgroup
    int stages;          // of two tiles each

    __device__ __forceinline__ unsigned char* stage(int i) const { return own + 2 * (GROUPS + i) * TILE; }
    __device__ __forceinline__ unsigned char* numbers(int i) const { return stage(stages) + i * NUMBERS; }
    __device__ __forceinline__ Barrier* own_full() const { return reinterpret_cast<Barrier*>(numbers(stages)); }
    __device__ __forceinline__ Barrier* full(int i) const { return own_full() + 1 + i; }
    __device__ __forceinline__ Barrier* numbers_full(int i) const { return own_full() + 1 + stages + i; }
    __device__ __forceinline__ int* read_by(int i) const { return reinterpret_cast<int*>(numbers_full(stages)) + i; }

    __device__ __forceinline__ void begin() const {
        if (threadIdx.x == 0) {
            init_barrier(own_full(), 2 * GROUPS);
            for (int i = 0; i < stages; ++i) {
                *read_by(i) = 0;
                init_barrier(full(i), 2);
                init_barrier(numbers_full(i), 1);
            }
            publish_barriers();
        }
        __syncthreads();
    }
};

// `use` of each place in this thread's scores and the number of its column, as number_at<128> lays numbers.
template <class Use>
__device__ __forceinline__ void with_columns(const unsigned char* numbers, Use use) {
    const float4* const from = reinterpret_cast<const float4*>(numbers) + threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < ROWS / 16; ++j) {
        const float4 four = from[j * 4];
        const float added[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int l = 0; l < 8; ++l) use(j * 8 + l, added[l / 4 * 2 + l % 2]);
    }
}

// A warpgroup meets. Under compute-sanitizer all of a block meet: its racecheck does not see what a count orders.
template <int GROUPS>
__device__ __forceinline__ void meet_readers(int warpgroup) {
#ifdef SANITIZED
    if (GROUPS > 1) return __syncthreads();
#endif
    meet_warpgroup(warpgroup);
}

// Which steps a block goes over: every `stride`-th from `first` on.
struct Steps {
    int first, stride, count;
    __device__ __forceinline__ int at(int i) const { return first + i * stride; }
};

// sum (64 x 64) = own rows times rows of a step
template <int DIM>
__device__ __forceinline__ void start_scores(
    float (&sum)[ROWS / 2], const unsigned char* own, const unsigned char* tile
) {
    const unsigned long long a = swizzled_tile(own, ATOM, 0), b = swizzled_tile(tile, ATOM, 0);
#pragma unroll
    for (int i = 0; i < DIM / 16; ++i) {  // 32 bytes along a row, then on to the next band
        const int at = i / 4 * ROWS * ROW + i % 4 * 32 >> 4;
        if (i == 0) {
            begin_multiply(sum, a, b);
        } else {
            multiply(sum, a + at, b + at, true);
        }
    }
    commit_products();
}

// sum (64 x DIM) += weights times rows of a step
template <int DIM>
__device__ __forceinline__ void add_products(
    float (&sum)[DIM / 2], const unsigned* weights, const unsigned char* tile
) {
    const unsigned long long b = swizzled_tile(tile, ATOM, ROWS * ROW);
#pragma unroll
    for (int i = 0; i < ROWS / 16; ++i) multiply(sum, weights + i * 4, b + (i * 16 * ROW >> 4));
}

// A cluster's blocks have sums of the same tile, and each adds up the columns of all that are its share. Here a thread's
// sums go to their owners: float4 number `first` and the following of `count`.
template <int COUNT>
__device__ __forceinline__ void send_sums(
    const float (&sum)[COUNT], unsigned char* places, int first, int count, int parts, int rank
) {
    const int share = count / parts;
#pragma unroll
    for (int j = 0; j < COUNT / 4; ++j) {
        const int owner = (first + j) / share;
        const int place = (rank * share + first + j - owner * share) * WARPGROUP + threadIdx.x;
        asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address_in(owner, places) + place * 16),
                     "f"(sum[j * 4]), "f"(sum[j * 4 + 1]), "f"(sum[j * 4 + 2]), "f"(sum[j * 4 + 3])
                     : "memory");
    }
}

// In the order of the ranks. `store(number, four)` takes float4 number `number` of a thread's sums.
template <class Store>
__device__ __forceinline__ void join_sums(
    const unsigned char* places, int count, int parts, int rank, const Store& store
) {
    const int share = count / parts;
    const float4* const from = reinterpret_cast<const float4*>(places) + threadIdx.x;
    for (int j = 0; j < share; ++j) {
        float4 total = from[j * WARPGROUP];
        for (int part = 1; part < parts; ++part) {
            const float4 other = from[(part * share + j) * WARPGROUP];
            total.x += other.x, total.y += other.y, total.z += other.z, total.w += other.w;
        }
        store(rank * share + j, total);
    }
}

// Where a block of a tile writes: a row's two neighbours for each half.
template <int DIM>
__device__ __forceinline__ void store_four(const float4& four, int number, float factor, SCALAR* to, int own, int seq) {
    to += number * 8 + threadIdx.x % 4 * 2;
    if (own < seq) from_floats(four.x * factor, four.y * factor, to);
    if (own + 8 < seq) from_floats(four.z * factor, four.w * factor, to + 8 * DIM);
}

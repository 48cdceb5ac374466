// One array in ascending order by digits of 8 bits, each in one pass over the keys.
//
// Formula: y = the keys in ascending order. No FLOP, 8n compulsory bytes; this version moves 36n and the counts of
//   tiles.
// Mapping: one pass counts the digits of all four positions. Then a pass a digit, from the last: a block of 512 threads
//   owns a tile of 8192 keys, 16 a thread, 512 neighbouring ones a warp. A warp ranks its keys among those of their
//   digit, 32 at a time, by votes on each bit; the block adds up its warps, and puts the keys in the order of their
//   digits in shared memory. Meanwhile thread d learns how many keys of digit d lie in tiles before, and the keys leave
//   in runs.
// Idea: triton_digits reads the keys of every digit twice, for tiles know where to write only once all have counted.
//   Here a tile asks those before it while it goes, and all digits are counted in one pass ahead. Adinets and Merrill,
//   "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", arXiv:2206.01784: counts of tiles are published
//   with what is known of those before, and a tile looks back until it finds a complete sum. A count and its state are
//   one word, which needs no fence. States take turns from pass to pass: words are cleared once.
#include "shared/common.cuh"

constexpr int BITS = 8;
constexpr int DIGITS = 1 << BITS;
constexpr int PASSES = 32 / BITS;
constexpr int THREADS = 512;  // as in cuda_onesweep.py
constexpr int WARPS = THREADS / WARP;
constexpr int KEYS = 16;                // of a thread
constexpr int TILE = THREADS * KEYS;    // as in cuda_onesweep.py
constexpr unsigned LAST = 0x7fffffffu;  // beyond the array: it comes after all keys, and is not written

// Signed keys are in the order of unsigned ones with the first bit turned.
__device__ __forceinline__ unsigned digit_of(unsigned key, int pass) {
    return ((key ^ 0x80000000u) >> (pass * BITS)) % DIGITS;
}

// ---- Counts of digits --------------------------------------------------------------------------

constexpr int COPIES = 8;  // of each count, so that no more than 4 lanes of a warp meet

extern "C" __global__ void __launch_bounds__(THREADS) radix_sort_count(
    const unsigned* __restrict__ key, unsigned* __restrict__ counts, long long n
) {
    __shared__ unsigned mine[PASSES][DIGITS][COPIES];
    unsigned* const every = &mine[0][0][0];
    for (int i = threadIdx.x; i < PASSES * DIGITS * COPIES; i += THREADS) every[i] = 0;
    __syncthreads();
    const int copy = threadIdx.x % COPIES;
    const long long step = static_cast<long long>(gridDim.x) * THREADS;
#pragma unroll 8
    for (long long i = thread_of_grid(); i < n; i += step) {
        const unsigned bits = __ldg(key + i);
#pragma unroll
        for (int pass = 0; pass < PASSES; ++pass) atomicAdd(&mine[pass][digit_of(bits, pass)][copy], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < PASSES * DIGITS; i += THREADS) {
        unsigned sum = 0;
#pragma unroll
        for (int c = 0; c < COPIES; ++c) sum += every[i * COPIES + c];
        if (sum) atomicAdd(counts + i, sum);
    }
}

// The sum of the values of threads before this one, of the first DIGITS threads of a block; all take part.
__device__ __forceinline__ unsigned sum_before(unsigned value) {
    __shared__ unsigned totals[DIGITS / WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    unsigned up_to = value;
#pragma unroll
    for (int offset = 1; offset < WARP; offset *= 2) {
        const unsigned before = __shfl_up_sync(WHOLE_WARP, up_to, offset);
        if (lane >= offset) up_to += before;
    }
    if (threadIdx.x < DIGITS && lane == WARP - 1) totals[warp] = up_to;
    __syncthreads();
    unsigned sum = up_to - value;
#pragma unroll
    for (int w = 0; w < DIGITS / WARP; ++w) sum += w < warp ? totals[w] : 0;
    return sum;
}

// From counts to where each digit's keys start: a block for each pass.
extern "C" __global__ void __launch_bounds__(DIGITS) radix_sort_starts(unsigned* counts) {
    unsigned* const mine = counts + blockIdx.x * DIGITS + threadIdx.x;
    *mine = sum_before(*mine);
}

// ---- A pass ------------------------------------------------------------------------------------

// Two bits of a word say what its count is. In even passes a tile's own, then that of all tiles up to it; in odd passes
// other values mean the same. What the pass before has left, of all tiles up to each, means "not yet".
constexpr int STATE_SHIFT = 30;
constexpr unsigned COUNT_BITS = (1u << STATE_SHIFT) - 1;

struct States {
    unsigned own, all;
    __device__ __forceinline__ explicit States(int pass)
        : own(pass % 2 ? 3u << STATE_SHIFT : 1u << STATE_SHIFT), all(pass % 2 ? 0u : 2u << STATE_SHIFT) {}
};

__device__ __forceinline__ unsigned read_word(const unsigned* word) {
    return *reinterpret_cast<const volatile unsigned*>(word);
}

__device__ __forceinline__ void write_word(unsigned* word, unsigned value) {
    *reinterpret_cast<volatile unsigned*>(word) = value;
}

// Keys of this digit in all tiles before `tile`. Tiles are numbered as they start: none is waited for that has not.
__device__ __forceinline__ unsigned look_back(const unsigned* words, long long tile, const States& states) {
    unsigned sum = 0;
    for (long long before = tile - 1; before >= 0; --before) {
        unsigned word, state;
        do {
            word = read_word(words + before * DIGITS + threadIdx.x);
            state = word & ~COUNT_BITS;
        } while (state != states.own && state != states.all);
        sum += word & COUNT_BITS;
        if (state == states.all) break;
    }
    return sum;
}

// The lanes of the warp that have the same digit.
__device__ __forceinline__ unsigned lanes_with(unsigned digit) {
    unsigned lanes = WHOLE_WARP;
#pragma unroll
    for (int bit = 0; bit < BITS; ++bit) {
        const bool is_set = digit >> bit & 1;
        const unsigned set = __ballot_sync(WHOLE_WARP, is_set);
        lanes &= is_set ? set : ~set;
    }
    return lanes;
}

constexpr int BLOCKS = __CUDA_ARCH__ < 1000 ? 2 : 1;  // of a multiprocessor at least: with two, Blackwell's spill

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) radix_sort_pass(
    const unsigned* __restrict__ key, unsigned* __restrict__ sorted, const unsigned* __restrict__ starts,
    unsigned* words, unsigned* counters, long long n, long long pass_number
) {
    __shared__ unsigned short of_warp[WARPS][DIGITS];  // first counts, then the sums of the warps before
    __shared__ unsigned ordered[TILE];
    __shared__ unsigned first_in_tile[DIGITS];
    __shared__ unsigned first_in_all[DIGITS];  // less first_in_tile
    __shared__ unsigned number;
    const int pass = static_cast<int>(pass_number);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (threadIdx.x == 0) number = atomicAdd(counters + pass, 1u);
    for (int i = threadIdx.x; i < WARPS * DIGITS / 2; i += THREADS) reinterpret_cast<unsigned*>(of_warp)[i] = 0;
    __syncthreads();
    const long long tile = number, first = tile * TILE + warp * (WARP * KEYS) + lane;

    unsigned keys[KEYS];
#pragma unroll
    for (int i = 0; i < KEYS; ++i) keys[i] = first + i * WARP < n ? __ldg(key + first + i * WARP) : LAST;

    // Ranks among the keys of a digit, in the order of the array.
    unsigned short ranks[KEYS];
#pragma unroll
    for (int i = 0; i < KEYS; ++i) {
        const unsigned digit = digit_of(keys[i], pass), lanes = lanes_with(digit);
        const unsigned before = of_warp[warp][digit], lower = __popc(lanes & ((1u << lane) - 1));
        ranks[i] = static_cast<unsigned short>(before + lower);
        __syncwarp();
        if (lower == 0) of_warp[warp][digit] = static_cast<unsigned short>(before + __popc(lanes));
        __syncwarp();
    }
    __syncthreads();

    unsigned count = 0;
    if (threadIdx.x < DIGITS) {
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            const unsigned short of_this = of_warp[w][threadIdx.x];
            of_warp[w][threadIdx.x] = static_cast<unsigned short>(count);
            count += of_this;
        }
    }
    const States states(pass);
    unsigned* const word = words + tile * DIGITS + threadIdx.x;
    if (threadIdx.x < DIGITS) write_word(word, count | (tile ? states.own : states.all));
    const unsigned in_tile = sum_before(count);
    if (threadIdx.x < DIGITS) first_in_tile[threadIdx.x] = in_tile;
    __syncthreads();

#pragma unroll
    for (int i = 0; i < KEYS; ++i) {
        const unsigned digit = digit_of(keys[i], pass);
        ordered[first_in_tile[digit] + of_warp[warp][digit] + ranks[i]] = keys[i];
    }
    if (threadIdx.x < DIGITS) {
        const unsigned before = look_back(words, tile, states);
        if (tile) write_word(word, (before + count) | states.all);
        first_in_all[threadIdx.x] = starts[pass * DIGITS + threadIdx.x] + before - in_tile;
    }
    __syncthreads();

    const long long left = n - tile * TILE;
    const int length = left < TILE ? static_cast<int>(left) : TILE;
#pragma unroll
    for (int i = 0; i < KEYS; ++i) {
        const int at = threadIdx.x + i * THREADS;
        if (at < length) {
            const unsigned bits = ordered[at];
            sorted[first_in_all[digit_of(bits, pass)] + at] = bits;
        }
    }
}

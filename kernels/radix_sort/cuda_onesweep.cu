// One array in ascending order by digits of 8 bits, each in one pass over the keys.
//
// Formula: y = the keys in ascending order. No FLOP, 8n compulsory bytes; this version moves 36n and the counts of
//   tiles.
// Mapping: one kernel counts the digits of all four positions, and its last block turns counts into where each digit
//   starts. Then a pass a digit, from the last: a block owns a tile, each of its warps KEYS rows of 32 neighbouring keys.
//   A warp counts its digits, the block adds up its warps, and thread d tells other tiles how many keys of digit d there
//   are. Then a warp ranks its keys row by row, by votes on each bit and a counter for each digit, and puts them in the
//   order of their digits in shared memory. Thread d learns how many keys of digit d lie in tiles before, and the keys
//   leave in runs.
// Idea: triton_digits reads the keys of every digit twice, for tiles know where to write only once all have counted.
//   Here a tile asks those before it while it goes, and all digits are counted in one pass ahead. Adinets and Merrill,
//   "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", arXiv:2206.01784: counts of tiles are published
//   with what is known of those before, and a tile looks back until it finds a complete sum. A count and its state are
//   one word, which needs no fence. States take turns from pass to pass: words are cleared once. Keys of one digit keep
//   their order in all passes but the first, whose order is nobody's: there an atomic addition ranks a key, and another
//   one gives a tile its places.
#include "radix_sort/digits.cuh"
#include "shared/overlap.cuh"

// Passes may overlap (`overlaps=True`). The launcher asks for that where an array is short: long ones take longer so.

// ---- What passes share -------------------------------------------------------------------------

// The same value, of which the compiler does not know that.
__device__ __forceinline__ unsigned opaque(unsigned value) {
    asm volatile("" : "+r"(value));
    return value;
}

__device__ __forceinline__ unsigned* word_at(unsigned* memory, unsigned bytes) {
    return reinterpret_cast<unsigned*>(reinterpret_cast<char*>(memory) + bytes);
}

// Keys in the order of their digits go where those of their digit go: neighbours to neighbours.
template <int THREADS, int KEYS>
__device__ __forceinline__ void write_runs(
    const unsigned* ordered, const unsigned* first_in_all, unsigned* sorted, long long left, unsigned selector
) {
    if (left >= THREADS * KEYS) {
#pragma unroll
        for (int i = 0; i < KEYS; ++i) {
            const unsigned at = threadIdx.x + i * THREADS, bits = ordered[at];
            sorted[first_in_all[digit_of(bits, selector)] + at] = bits;
        }
    } else {
        for (unsigned at = threadIdx.x; at < left; at += THREADS) {
            const unsigned bits = ordered[at];
            sorted[first_in_all[digit_of(bits, selector)] + at] = bits;
        }
    }
}

// ---- The first pass: keys of one digit come in any order ---------------------------------------

constexpr int FIRST_THREADS = 512;  // as in cuda_onesweep.py
constexpr int FIRST_BLOCKS = 2;     // of a multiprocessor at least

// Numbers below 2^16, two in a register.
template <int COUNT>
struct Halves {
    unsigned pairs[(COUNT + 1) / 2];
    __device__ __forceinline__ void set(int i, unsigned value) {
        pairs[i / 2] = i % 2 ? pairs[i / 2] | value << 16 : value;
    }
    __device__ __forceinline__ unsigned operator[](int i) const {
        return i % 2 ? pairs[i / 2] >> 16 : pairs[i / 2] & 0xffffu;
    }
};

// One lane adds for all of the warp, who would take turns at one address.
__device__ __forceinline__ unsigned add_by_one(unsigned* count) {
    const int lane = threadIdx.x % WARP;
    unsigned before = 0;
    if (lane == 0) before = atomicAdd(count, static_cast<unsigned>(WARP));
    return __shfl_sync(WHOLE_WARP, before, 0) + lane;
}

// Loads a tile's keys, and ranks them among those of their digit.
template <bool IS_WHOLE, int KEYS>
__device__ __forceinline__ void rank_first(
    const unsigned* source, long long left, unsigned* of_digit, unsigned (&keys)[KEYS], Halves<KEYS>& ranks
) {
    const unsigned selector = selector_of(0);
#pragma unroll
    for (int i = 0; i < KEYS; ++i) {
        const bool is_key = IS_WHOLE || threadIdx.x + i * FIRST_THREADS < left;
        keys[i] = is_key ? __ldg(source + i * FIRST_THREADS) : 0;
    }
#pragma unroll
    for (int i = 0; i < KEYS; ++i) {
        const bool is_key = IS_WHOLE || threadIdx.x + i * FIRST_THREADS < left;
        const unsigned digit = digit_of(keys[i], selector);
        if (IS_WHOLE && __all_sync(WHOLE_WARP, digit == __shfl_sync(WHOLE_WARP, digit, 0))) {
            ranks.set(i, add_by_one(of_digit + digit));
        } else {
            ranks.set(i, is_key ? atomicAdd(of_digit + digit, 1u) : 0);
        }
    }
}

template <bool IS_WHOLE, int KEYS>
__device__ __forceinline__ void put_in_order(
    unsigned* ordered, const unsigned* of_digit, const unsigned (&keys)[KEYS], const Halves<KEYS>& ranks, long long left
) {
    const unsigned selector = opaque(selector_of(0));
#pragma unroll
    for (int i = 0; i < KEYS; ++i) {
        if (IS_WHOLE || threadIdx.x + i * FIRST_THREADS < left)
            ordered[of_digit[digit_of(keys[i], selector)] + ranks[i]] = keys[i];
    }
}

template <int KEYS>
__device__ __forceinline__ void sort_first_tile(
    const unsigned* __restrict__ key, unsigned* __restrict__ sorted, unsigned* starts, long long n
) {
    constexpr int TILE = FIRST_THREADS * KEYS;
    __shared__ unsigned ordered[TILE];
    __shared__ unsigned of_digit[DIGITS];      // first counts, then where each digit starts in the tile
    __shared__ unsigned first_in_all[DIGITS];  // less where it starts in the tile
    const int thread = threadIdx.x;
    if (thread < DIGITS) of_digit[thread] = 0;
    __syncthreads();
    const long long first = static_cast<long long>(blockIdx.x) * TILE, left = n - first;
    const unsigned* const source = key + first + thread;
    wait_for_previous();
    unsigned keys[KEYS];
    Halves<KEYS> ranks;
    if (left >= TILE) rank_first<true>(source, left, of_digit, keys, ranks);
    else rank_first<false>(source, left, of_digit, keys, ranks);
    __syncthreads();
    unsigned count = 0, start = 0;
    if (thread < DIGITS) {
        count = of_digit[thread];
        start = atomicAdd(starts + thread, count);
    }
    const unsigned in_tile = sum_before(count);
    if (thread < DIGITS) of_digit[thread] = in_tile;
    __syncthreads();
    if (left >= TILE) put_in_order<true>(ordered, of_digit, keys, ranks, left);
    else put_in_order<false>(ordered, of_digit, keys, ranks, left);
    if (thread < DIGITS) first_in_all[thread] = start - in_tile;
    __syncthreads();
    let_next_start();
    write_runs<FIRST_THREADS, KEYS>(ordered, first_in_all, sorted, left, selector_of(0));
}

#define RADIX_SORT_FIRST(NAME, KEYS)                                                                              \
    extern "C" __global__ void __launch_bounds__(FIRST_THREADS, FIRST_BLOCKS)                                     \
        NAME(const unsigned* __restrict__ key, unsigned* __restrict__ sorted, unsigned* starts, long long n) {    \
        sort_first_tile<KEYS>(key, sorted, starts, n);                                                            \
    }
// As in cuda_onesweep.py.
RADIX_SORT_FIRST(radix_sort_first, 20)
RADIX_SORT_FIRST(radix_sort_short_first, 8)

// ---- A later pass ------------------------------------------------------------------------------

constexpr unsigned LAST = 0x7fffffffu;  // beyond the array: it comes after all keys, and is not written
constexpr int THREADS = 256;            // as in cuda_onesweep.py
constexpr int BLOCKS = 4;               // of a multiprocessor at least
constexpr int WARPS = THREADS / WARP;
constexpr int WORDS = 4;  // of tiles before, that a thread asks for at once

// Two bits of a word say what its count is. In odd passes a tile's own, then that of all tiles up to it; in even passes
// other values mean the same. What the pass before has left, of all tiles up to each, means "not yet".
constexpr int STATE_SHIFT = 30;
constexpr unsigned COUNT_BITS = (1u << STATE_SHIFT) - 1;

struct States {
    unsigned own, all;
    __device__ __forceinline__ explicit States(int pass)
        : own(pass % 2 ? 1u << STATE_SHIFT : 3u << STATE_SHIFT), all(pass % 2 ? 2u << STATE_SHIFT : 0u) {}
    __device__ __forceinline__ bool is_all(unsigned word) const { return (word & ~COUNT_BITS) == all; }
    __device__ __forceinline__ bool is_known(unsigned word) const {
        return is_all(word) || (word & ~COUNT_BITS) == own;
    }
};

__device__ __forceinline__ unsigned read_word(const unsigned* word) {
    return *reinterpret_cast<const volatile unsigned*>(word);
}

__device__ __forceinline__ void write_word(unsigned* word, unsigned value) {
    *reinterpret_cast<volatile unsigned*>(word) = value;
}

// Keys of a digit in all tiles before `tile`, whose word is `word`. Tiles are numbered as they start: none is waited
// for that has not. Several words are on their way at once, for each takes most of a microsecond.
__device__ __forceinline__ unsigned look_back(const unsigned* word, int tile, const States& states) {
    unsigned sum = 0;
    for (int left = tile;; left -= WORDS) {
        unsigned found[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; ++i) {
            word -= DIGITS;
            found[i] = i < left ? read_word(word) : states.all;
        }
#pragma unroll
        for (int i = 0; i < WORDS; ++i) {
            while (!states.is_known(found[i])) found[i] = read_word(word + (WORDS - 1 - i) * DIGITS);
            sum += found[i] & COUNT_BITS;
            if (states.is_all(found[i])) return sum;
        }
    }
}

__device__ __forceinline__ unsigned all_of(unsigned a, unsigned b, unsigned c) {
    asm("lop3.b32 %0, %0, %1, %2, 0x80;" : "+r"(a) : "r"(b), "r"(c));
    return a;
}

// The lanes of the warp that have the same digit. In PTX: of ballots in C++ the compiler makes twice the instructions.
__device__ __forceinline__ unsigned lanes_with(unsigned digit) {
    unsigned lanes[8];
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
        asm volatile(
            "{.reg .pred p; .reg .b32 b;\n and.b32 b, %1, %2;\n setp.ne.u32 p, b, 0;\n"
            "vote.sync.ballot.b32 %0, p, 0xffffffff;\n @!p not.b32 %0, %0;}"
            : "=r"(lanes[bit])
            : "r"(digit), "r"(1u << bit)
        );
    }
    return all_of(all_of(lanes[0], lanes[1], lanes[2]), all_of(lanes[3], lanes[4], lanes[5]), lanes[6]) & lanes[7];
}

// Where a row's key goes, in bytes: `next` has where the warp's next key of the digit goes.
__device__ __forceinline__ unsigned take_place(volatile unsigned* next, unsigned digit) {
    const int lane = threadIdx.x % WARP;
    const unsigned lanes = lanes_with(digit), lower = __popc(lanes & ((1u << lane) - 1));
    const unsigned place = *next + lower * 4;
    const bool is_top = (lanes & (0xfffffffeu << lane)) == 0;
    __syncwarp();
    if (is_top) *next = place + 4;
    __syncwarp();
    return place;
}

template <int KEYS>
__device__ __forceinline__ void sort_tile(
    const unsigned* __restrict__ key, unsigned* __restrict__ sorted, const unsigned* __restrict__ starts,
    unsigned* words, unsigned* counters, long long n, long long pass_number
) {
    constexpr int TILE = THREADS * KEYS;
    extern __shared__ unsigned memory[];
    unsigned* const ordered = memory;                          // TILE keys
    unsigned* const of_warps = memory + TILE;                  // first counts, then the places of the next keys
    unsigned* const first_in_all = of_warps + WARPS * DIGITS;  // less where the digit starts in the tile
    __shared__ unsigned number;
    __shared__ volatile unsigned kept;  // the selector: with it as read again no register keeps a digit till then
    const int pass = static_cast<int>(pass_number), lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const unsigned selector = selector_of(pass);
    const unsigned mine = opaque(4 * (TILE + warp * DIGITS));  // so a digit's address takes one instruction
    if (threadIdx.x == 0) {
        number = atomicAdd(counters + pass, 1u);
        kept = selector;
    }
    for (int i = lane; i < DIGITS; i += WARP) of_warps[warp * DIGITS + i] = 0;
    __syncthreads();
    wait_for_previous();
    const int tile = number, in_tile = warp * (WARP * KEYS) + lane;
    const long long left = n - static_cast<long long>(tile) * TILE;
    const unsigned* const source = key + static_cast<long long>(tile) * TILE + in_tile;

    unsigned keys[KEYS];
    if (left >= TILE) {
#pragma unroll
        for (int i = 0; i < KEYS; ++i) keys[i] = __ldg(source + i * WARP);
    } else {
#pragma unroll
        for (int i = 0; i < KEYS; ++i) keys[i] = in_tile + i * WARP < left ? __ldg(source + i * WARP) : LAST;
    }
#pragma unroll
    for (int i = 0; i < KEYS; ++i) atomicAdd(word_at(memory, mine + digit_of(keys[i], selector) * 4), 1u);
    __syncthreads();

    const States states(pass);
    const int digit = digit_at(threadIdx.x % DIGITS, pass);
    const bool has_digit = threadIdx.x < DIGITS;
    unsigned* const word = words + static_cast<long long>(tile) * DIGITS + digit;
    unsigned count = 0;
    if (has_digit) {
#pragma unroll 4
        for (int w = 0; w < WARPS; ++w) count += of_warps[w * DIGITS + digit];
        write_word(word, count | (tile ? states.own : states.all));
    }
    const unsigned starts_in_tile = sum_before(count);
    if (has_digit) {
        unsigned place = starts_in_tile;
#pragma unroll 4
        for (int w = 0; w < WARPS; ++w) {
            const unsigned of_this = of_warps[w * DIGITS + digit];
            of_warps[w * DIGITS + digit] = place * 4;
            place += of_this;
        }
    }
    __syncthreads();

    const unsigned same = kept;
#pragma unroll
    for (int i = 0; i < KEYS; ++i) {
        const unsigned of_key = digit_of(keys[i], same);
        *word_at(memory, take_place(word_at(memory, mine + of_key * 4), of_key)) = keys[i];
    }
    if (has_digit) {
        unsigned before = 0;
        if (tile) {
            before = look_back(word, tile, states);
            write_word(word, (before + count) | states.all);
        }
        first_in_all[digit] = starts[pass * DIGITS + digit] + before - starts_in_tile;
    }
    __syncthreads();
    let_next_start();
    write_runs<THREADS, KEYS>(ordered, first_in_all, sorted, left, selector);
}

// Tiles of more keys have longer runs of a digit. Those of fewer fill more of the GPU where an array is short.
#define RADIX_SORT_PASS(NAME, KEYS)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                           \
        const unsigned* __restrict__ key, unsigned* __restrict__ sorted, const unsigned* __restrict__ starts,     \
        unsigned* words, unsigned* counters, long long n, long long pass_number                                   \
    ) {                                                                                                           \
        sort_tile<KEYS>(key, sorted, starts, words, counters, n, pass_number);                                    \
    }
// As in cuda_onesweep.py.
RADIX_SORT_PASS(radix_sort_short_pass, 8)
RADIX_SORT_PASS(radix_sort_pass, 28)
RADIX_SORT_PASS(radix_sort_long_pass, 36)

// The rotary embedding in one pass, 16 bytes of either half of a head a thread.
//
// Formula: y[i] = x[i] cos[i] - x[i + half] sin[i], y[i + half] = x[i + half] cos[i] + x[i] sin[i]; 3 FLOP an
//   element, (2 batch heads seq 2 half + 2 seq half)s bytes: heads read the tables again, from L2.
// Mapping: a thread turns one pack of the lower half with the pack half a head further. A block is blockDim.x
//   packs wide, half a head, and blockDim.y positions high. Blocks go along one head after the other, or, where L2
//   would lose the tables meanwhile, through all heads at the same positions. Where half a head is no multiple of
//   16 bytes, a thread turns PAIRS pairs. Two or more heads a thread, which would load the tables once for all, are
//   slower: fewer threads are under way.
// Idea: Su et al., "RoFormer", arXiv:2104.09864, in the rotate-half form of GPT-NeoX: halves, not neighbours,
//   are paired, so that both are read in whole packs.
#include "shared/common.cuh"
#include "shared/division.cuh"
#include "shared/overlap.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py
constexpr int PAIRS = 2;      // of a thread, as there

// `low` and `high` become the turned pair.
__device__ __forceinline__ void turn(float& low, float& high, float cos, float sin) {
    const float turned = low * cos - high * sin;
    high = high * cos + low * sin;
    low = turned;
}

// The grid is runs of `run` blocks: `heads_first`, of all heads at the same positions, otherwise of all of a head.
extern "C" __global__ void __launch_bounds__(THREADS) rope_packs(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ cos, const SCALAR* __restrict__ sin,
    SCALAR* __restrict__ y, long long seq, long long half, long long run, long long heads_first
) {
    start_early();
    const unsigned outer = blockIdx.x / static_cast<unsigned>(run), inner = blockIdx.x % static_cast<unsigned>(run);
    const long long head = heads_first ? inner : outer;
    const long long position = static_cast<long long>(heads_first ? outer : inner) * blockDim.y + threadIdx.y;
    if (position >= seq) return;
    for (long long col = threadIdx.x * PACK; col < half; col += blockDim.x * PACK) {
        const long long at = (head * seq + position) * 2 * half + col;
        const long long angle = position * half + col;
        const Pack packs[] = {load_pack_evict_last(x + at), load_pack_evict_last(x + at + half)};
        const Pack c = load_pack_evict_last(cos + angle);
        const Pack s = load_pack_evict_last(sin + angle);
        float low[PACK], high[PACK];
        unpack(packs[0], low);
        unpack(packs[1], high);
#pragma unroll
        for (int i = 0; i < PACK; ++i) turn(low[i], high[i], to_float(c.element[i]), to_float(s.element[i]));
        store_whole_pack(y + at, to_pack(low));
        store_whole_pack(y + at + half, to_pack(high));
    }
}

// `pairs` of all heads together, below 2^31, PAIRS a thread.
extern "C" __global__ void __launch_bounds__(THREADS) rope_pairs(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ cos, const SCALAR* __restrict__ sin,
    SCALAR* __restrict__ y, long long pairs, long long half, long long half_multiplier, long long half_shift,
    long long table, long long table_multiplier, long long table_shift
) {
    start_early();
    const Division by_half(half, half_multiplier, half_shift), by_table(table, table_multiplier, table_shift);
    float low[PAIRS], high[PAIRS], c[PAIRS], s[PAIRS];
    long long at[PAIRS];
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) {
        const unsigned pair = (blockIdx.x * PAIRS + i) * THREADS + threadIdx.x;
        const unsigned angle = by_table.remainder(pair, by_table.quotient(pair));
        at[i] = static_cast<long long>(pair) + by_half.quotient(pair) * half;  // after the halves before it
        if (pair < pairs) {
            low[i] = to_float(x[at[i]]);
            high[i] = to_float(x[at[i] + half]);
            c[i] = to_float(cos[angle]);
            s[i] = to_float(sin[angle]);
        }
    }
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) {
        if ((blockIdx.x * PAIRS + i) * THREADS + threadIdx.x >= pairs) break;
        turn(low[i], high[i], c[i], s[i]);
        from_float(low[i], y[at[i]]);
        from_float(high[i], y[at[i] + half]);
    }
}

// Of any number.
extern "C" __global__ void __launch_bounds__(THREADS) rope_many_pairs(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ cos, const SCALAR* __restrict__ sin,
    SCALAR* __restrict__ y, long long seq, long long half, long long pairs
) {
    start_early();
    const long long pair = thread_of_grid();
    if (pair >= pairs) return;
    const long long angle = pair % (seq * half);
    const long long at = pair / half * half + pair;  // after the lower and the upper halves before it
    float low = to_float(x[at]), high = to_float(x[at + half]);
    turn(low, high, to_float(cos[angle]), to_float(sin[angle]));
    from_float(low, y[at]);
    from_float(high, y[at + half]);
}

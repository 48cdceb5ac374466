// Steps along k of strips of B's columns, in equal shares, and sums that meet in memory: for wgmma_strips.cuh.
#pragma once

#include "shared/hopper.cuh"

// The runs of a block: of one strip each, from step `first` to `last`. Shares are equal by bytes of B, and in order of strips;
// the last strip may have fewer columns. They go from the last block to the first, because a block waits for sums of
// those behind its own, which have started before.
template <int COLUMNS>
struct StripRuns {
    unsigned strip = 0;
    int first = 0, last = 0, steps;

private:
    static constexpr unsigned EACH = COLUMNS / 8;  // units of 8 columns in a strip
    unsigned units;                                // of all columns
    unsigned next_strip, end_strip;
    int next_step, end_step;

    // Where the share at a place begins. 32 bits count units times steps.
    __device__ __forceinline__ void begin_of(unsigned place, unsigned& strip, int& step) const {
        const unsigned all = units * steps, each = EACH * steps;
        const unsigned at = all / gridDim.x * place + min(all % gridDim.x, place);
        strip = at / each;
        const unsigned wide = min(EACH, units - strip * EACH);  // none behind the last strip
        step = wide ? static_cast<int>((at - strip * each) / wide) : 0;
    }

public:
    __device__ __forceinline__ StripRuns(unsigned n, unsigned steps) : steps(static_cast<int>(steps)), units(n / 8) {
        begin_of(place(), next_strip, next_step);
        begin_of(place() + 1, end_strip, end_step);
    }

    static __device__ __forceinline__ unsigned place() { return gridDim.x - 1 - blockIdx.x; }

    __device__ __forceinline__ bool next() {
        const bool whole = next_strip < end_strip;
        strip = next_strip, first = next_step, last = whole ? steps : end_step;
        if (whole) ++next_strip, next_step = 0;
        else next_step = end_step;
        return first < last;
    }

    // How many places behind this one have steps of its last strip.
    __device__ __forceinline__ unsigned sharers() const {
        unsigned other_strip = strip, count = 0;
        int step = last;
        while (other_strip == strip && step < steps) begin_of(place() + ++count + 1, other_strip, step);
        return count;
    }
};

// Two sums and the launch's ticket, which says that they are there: one access reads or writes both.
__device__ __forceinline__ void store_word(ulonglong2* to, unsigned long long two, unsigned long long ticket) {
    asm volatile("{\n.reg .b128 word;\nmov.b128 word, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], word;\n}" ::"l"(to),
                 "l"(two), "l"(ticket)
                 : "memory");
}
__device__ __forceinline__ ulonglong2 load_word(const ulonglong2* from) {
    ulonglong2 word;
    asm volatile("{\n.reg .b128 word;\nld.relaxed.gpu.global.b128 word, [%2];\nmov.b128 {%0, %1}, word;\n}"
                 : "=l"(word.x), "=l"(word.y)
                 : "l"(from)
                 : "memory");
    return word;
}

// Sums of parts of strips, of a warpgroup's 64 columns at an index. Who has read a word takes the ticket out: so memory needs
// no zeros to begin with, and a graph may be launched again with the same ticket.
struct SharedSums {
    ulonglong2* words;
    unsigned long long ticket;

    template <int COUNT>
    __device__ __forceinline__ ulonglong2* of_thread(unsigned index) const {
        return words + static_cast<unsigned long long>(index) * (COUNT / 2 * WARPGROUP) + threadIdx.x % WARPGROUP;
    }

    template <int COUNT>
    __device__ __forceinline__ void leave(const float (&sum)[COUNT], unsigned index) const {
        ulonglong2* const to = of_thread<COUNT>(index);
#pragma unroll
        for (int i = 0; i < COUNT / 2; ++i) {
            const float2 two = make_float2(sum[i * 2], sum[i * 2 + 1]);
            store_word(to + i * WARPGROUP, reinterpret_cast<const unsigned long long&>(two), ticket);
        }
    }

    // Those at `index_of(0)` to `index_of(count - 1)`, in this order, several on their way at once.
    template <int COUNT, class IndexOf>
    __device__ __forceinline__ void add(float (&sum)[COUNT], unsigned count, const IndexOf& index_of) const {
        constexpr int AT_ONCE = COUNT > 8 ? 2 : 16 / COUNT;
        for (unsigned first = 0; first < count; first += AT_ONCE) {
            ulonglong2 read[AT_ONCE][COUNT / 2];
            bool there;
            do {
                there = true;
#pragma unroll
                for (int other = 0; other < AT_ONCE; ++other) {
                    const ulonglong2* const from = of_thread<COUNT>(index_of(min(first + other, count - 1)));
#pragma unroll
                    for (int i = 0; i < COUNT / 2; ++i) read[other][i] = load_word(from + i * WARPGROUP);
                }
#pragma unroll
                for (int other = 0; other < AT_ONCE; ++other) {
#pragma unroll
                    for (int i = 0; i < COUNT / 2; ++i) there &= read[other][i].y == ticket;
                }
                if (!there) __nanosleep(32);
            } while (!there);
#pragma unroll
            for (int other = 0; other < AT_ONCE; ++other) {
                if (first + other >= count) break;
                ulonglong2* const from = of_thread<COUNT>(index_of(first + other));
#pragma unroll
                for (int i = 0; i < COUNT / 2; ++i) {
                    const float2 two = reinterpret_cast<const float2&>(read[other][i].x);
                    sum[i * 2] += two.x, sum[i * 2 + 1] += two.y;
                    from[i * WARPGROUP].y = 0;
                }
            }
        }
    }
};

// Steps along k of strips of B's columns, in equal shares, and sums that meet in memory: for wgmma_strips.cuh.
#pragma once

#include "shared/hopper.cuh"

// The runs of a cluster: of one strip each, from step `first` to `last`. A strip has `columns` for each block of the cluster.
// Shares are equal by the bands of 64 columns of its first block, as the others go in step, and in order of strips; or, where
// their number is a multiple of that of strips, as many of each strip. They go from the last cluster to the first, because a
// block waits for sums of those behind its own, which have started before.
struct StripRuns {
    unsigned strip = 0;
    int first = 0, last = 0, steps;

private:
    unsigned each, whole, rest;  // bands of a strip's first block, whole strips, and bands that are left for another
    unsigned of_strip;           // shares of each strip, or none where they go on from strip to strip
    unsigned next_strip, end_strip;
    int next_step, end_step;

    static __device__ __forceinline__ unsigned shares() { return gridDim.x / blocks_of_cluster(); }

    // Where the share at a place begins. 32 bits count bands times steps.
    __device__ __forceinline__ void begin_of(unsigned place, unsigned& strip, int& step) const {
        if (of_strip) {
            strip = place / of_strip, step = static_cast<int>(steps * (place % of_strip) / of_strip);
            return;
        }
        const unsigned all = (whole * each + rest) * steps;
        const unsigned at = all / shares() * place + min(all % shares(), place);
        strip = at / (each * steps);
        const unsigned wide = strip < whole ? each : strip == whole ? rest : 0;
        step = wide ? static_cast<int>((at - strip * each * steps) / wide) : 0;
    }

public:
    __device__ __forceinline__ StripRuns(unsigned n, unsigned bands, unsigned steps)
        : steps(static_cast<int>(steps)), each(bands) {
        const unsigned all = (n + 63) / 64, of_cluster = bands * blocks_of_cluster();
        whole = all / of_cluster, rest = min(all % of_cluster, bands);
        const unsigned strips = whole + (rest > 0);
        of_strip = shares() % strips ? 0 : shares() / strips;
        begin_of(place(), next_strip, next_step);
        begin_of(place() + 1, end_strip, end_step);
    }

    static __device__ __forceinline__ unsigned place() { return shares() - 1 - blockIdx.x / blocks_of_cluster(); }

    __device__ __forceinline__ bool next() {
        const bool goes_on = next_strip < end_strip;
        strip = next_strip, first = next_step, last = goes_on ? steps : end_step;
        if (goes_on) ++next_strip, next_step = 0;
        else next_step = end_step;
        return first < last;
    }

    // How many places behind this one have steps of its last strip.
    __device__ __forceinline__ unsigned sharers() const {
        unsigned other = strip, count = 0;
        int step = last;
        while (other == strip && step < steps) begin_of(place() + ++count + 1, other, step);
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

    // Those at `index_of(0)` to `index_of(count - 1)`, in this order, as many on their way at once as WORDS of them are.
    template <int WORDS, int COUNT, class IndexOf>
    __device__ __forceinline__ void add(float (&sum)[COUNT], unsigned count, const IndexOf& index_of) const {
        constexpr int AT_ONCE = WORDS / (COUNT / 2);
        for (unsigned first = 0; first < count; first += AT_ONCE) {
            ulonglong2 read[AT_ONCE][COUNT / 2];
            bool are_there;
            do {
                are_there = true;
#pragma unroll
                for (int other = 0; other < AT_ONCE; ++other) {
                    const ulonglong2* const from = of_thread<COUNT>(index_of(min(first + other, count - 1)));
#pragma unroll
                    for (int i = 0; i < COUNT / 2; ++i) read[other][i] = load_word(from + i * WARPGROUP);
                }
#pragma unroll
                for (int other = 0; other < AT_ONCE; ++other) {
#pragma unroll
                    for (int i = 0; i < COUNT / 2; ++i) are_there &= read[other][i].y == ticket;
                }
                if (!are_there) __nanosleep(32);
            } while (!are_there);
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

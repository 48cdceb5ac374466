#if PART == 4
constexpr bool UNPINNED = true;
#else
constexpr bool UNPINNED = false;
#endif
#include "held.cuh"
#include "shared/rms_norm_parts.cuh"
struct Op : RmsNorm {
    using Part = Statistic;
    __device__ __forceinline__ Op(const SCALAR* x, const ColumnVector& w, SCALAR* y) : RmsNorm{x, w, y} {}
    static __device__ __forceinline__ Part empty() { return {0.0f}; }
    static __device__ __forceinline__ Part one_or_none(const Part& part, bool one) { return {one ? part.squares : 0.0f}; }
    struct Ready { float w[PACK]; Bits bits; };
    template <int PACKS>
    struct Shifts {
        Shifted<PACKS> w;
        __device__ __forceinline__ void load(const Op& op, const bool (&has)[PACKS], unsigned first, unsigned step, unsigned head, unsigned cols) { w.load(op.w.start, has, first, step, head, cols); }
        __device__ __forceinline__ void load_tail(const Op& op, bool wanted, unsigned packs, unsigned head) { w.load_tail(op.w.start, wanted, packs, head); }
        __device__ __forceinline__ Ready ready(int p, bool is_last, unsigned head) const { Ready r; r.bits = w.at(p, is_last, head); return r; }
    };
    using Edge = float;
    __device__ __forceinline__ Edge edge(unsigned column) const { return w.element(column); }
    static __device__ __forceinline__ Part with_element(const Part& mine, float value) { return {fmaf(value, value, mine.squares)}; }
    template <int PACKS>
    __device__ __forceinline__ void prepare(Ready (&ready)[PACKS]) const {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            unpack_words(ready[p].bits, ready[p].w);
#pragma unroll
            for (int i = 0; i < PACK; ++i) asm volatile("" : "+f"(ready[p].w[i]));
            ready[p].bits.x = 1;
        }
    }
    template <bool HINT>
    __device__ __forceinline__ Ready extra_where(bool has, unsigned column, unsigned further) const { Ready r; r.bits = load_where<HINT>(has, w.start + column + further, 0); return r; }
    static __device__ __forceinline__ Part over_warp(const Part& mine) { return over_lanes<WARP>(mine); }
    template <int EACH>
    static __device__ __forceinline__ Part over_parts(const Part (&parts)[EACH], const Part&) {
        float sum = parts[0].squares;
#pragma unroll
        for (int e = 1; e < EACH; ++e) sum += parts[e].squares;
        return {lanes_sum<WARP>(sum)};
    }
    __device__ __forceinline__ Scale scale_of_part(const Part& all, long long cols) const {
        return rsqrtf(all.squares * one_of(cols) + EPSILON);
    }
    template <int PACKS>
    struct Held {
        Bits kept[PACKS];
        __device__ __forceinline__ Part find(const Bits (&packs)[PACKS], int) {
            float sums[PACKS];
#pragma unroll
            for (int p = 0; p < PACKS; ++p) { kept[p] = packs[p]; sums[p] = squares_of(packs[p]); }
#pragma unroll
            for (int p = 1; p < PACKS; ++p) sums[0] += sums[p];
            return {sums[0]};
        }
        __device__ __forceinline__ void map(const Op&, int p, const Ready& ready, Scale scale, float (&values)[PACK]) const {
            unpack_words(kept[p], values);
            float w[PACK];
            if constexpr (PACKS > 4 || UNPINNED) unpack_words(ready.bits, w);
            else for (int i = 0; i < PACK; ++i) w[i] = ready.w[i];
#pragma unroll
            for (int i = 0; i < PACK; ++i) values[i] = values[i] * scale * w[i];
        }
        static __device__ __forceinline__ float map_edge(float value, Edge w, Scale scale) { return value * scale * w; }
    };
};
#define PARAMS (const SCALAR* x, const SCALAR* w, SCALAR* y, long long cols)
#define OP Op(x, {w, cols}, y)
#include "list.cuh"

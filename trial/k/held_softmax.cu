#if PART == 4
constexpr bool UNPINNED = true;
#else
constexpr bool UNPINNED = false;
#endif
#include "held.cuh"
#include "softmax/operation.cuh"
struct Op : Softmax {
    struct alignas(8) Part { float highest, total; };
    __device__ __forceinline__ Op(const SCALAR* x, SCALAR* y) : Softmax{x, y} {}
    static __device__ __forceinline__ Part one_or_none(const Part& part, bool one) { return one ? part : empty(); }
    struct Ready {};
    template <int PACKS>
    struct Shifts {
        __device__ __forceinline__ void load(const Op&, const bool (&)[PACKS], unsigned, unsigned, unsigned, unsigned) {}
        __device__ __forceinline__ void load_tail(const Op&, bool, unsigned, unsigned) {}
        __device__ __forceinline__ Ready ready(int, bool, unsigned) const { return {}; }
    };
    struct Edge {};
    __device__ __forceinline__ Edge edge(unsigned) const { return {}; }
    static __device__ __forceinline__ Part with_element(const Part& mine, float value) {
        const Statistics s = ::together({mine.highest, mine.total}, {value, power_of(value, base_of(value))});
        return {s.highest, s.total};
    }
    template <int PACKS>
    __device__ __forceinline__ void prepare(Ready (&)[PACKS]) const {}
    template <bool HINT>
    __device__ __forceinline__ Ready extra_where(bool, unsigned, unsigned) const { return {}; }
    static __device__ __forceinline__ Part empty() { return {NEGATIVE_INFINITY, 0.0f}; }
    template <int EACH>
    static __device__ __forceinline__ Part joined(const Part (&parts)[EACH]) {
        float highest = parts[0].highest;
#pragma unroll
        for (int e = 1; e < EACH; ++e) highest = fmaxf(highest, parts[e].highest);
        highest = warp_highest(highest);
        float total = 0.0f;
#pragma unroll
        for (int e = 0; e < EACH; ++e) total += parts[e].total * rescale(parts[e].highest, highest);
        return {highest, lanes_sum<WARP>(total)};
    }
    static __device__ __forceinline__ Part over_warp(const Part& mine) {
        const Part one[1] = {mine};
        return joined<1>(one);
    }
    template <int EACH>
    static __device__ __forceinline__ Part over_parts(const Part (&parts)[EACH], const Part&) { return joined<EACH>(parts); }
    struct ScaleOf { float highest, factor; };
    __device__ __forceinline__ ScaleOf scale_of_part(const Part& all, long long) const {
        return {all.highest, fast_reciprocal(all.total)};
    }
    template <int PACKS>
    struct Held {
        float powers[PACKS][PACK], highest;
        __device__ __forceinline__ Part find(const Bits (&packs)[PACKS], int) {
            highest = highest_of(packs);
            const float base = base_of(highest);
            float total = 0.0f;
#pragma unroll
            for (int p = 0; p < PACKS; ++p) {
                unpack_words(packs[p], powers[p]);
                float some = 0.0f;
#pragma unroll
                for (int i = 0; i < PACK; ++i) { powers[p][i] = power_of(powers[p][i], base); some += powers[p][i]; }
                total += some;
            }
            return {highest, total};
        }
        static __device__ __forceinline__ float map_edge(float value, const Edge&, const ScaleOf& scale) {
            return power_of(value, base_of(scale.highest)) * scale.factor;
        }
        __device__ __forceinline__ void map(const Op&, int p, const Ready&, const ScaleOf& scale, float (&values)[PACK]) const {
            const float factor = rescale(highest, scale.highest) * scale.factor;
#pragma unroll
            for (int i = 0; i < PACK; ++i) values[i] = powers[p][i] * factor;
        }
    };
};
#define PARAMS (const SCALAR* x, SCALAR* y, long long cols)
#define OP Op(x, y)
#include "list.cuh"

#if PART == 4
constexpr bool UNPINNED = true;
#else
constexpr bool UNPINNED = false;
#endif
#include "held.cuh"
#include "layer_norm/operation.cuh"
struct Op : LayerNorm {
    struct alignas(16) Part { float count, mean, squares, beside; };
    __device__ __forceinline__ Op(const SCALAR* x, const ColumnVector& w, const ColumnVector& b, SCALAR* y) : LayerNorm{x, w, b, y} {}
    static __device__ __forceinline__ Part one_or_none(const Part& part, bool one) { return one ? part : empty(); }
    struct Ready { float w[PACK], b[PACK]; Bits wb, bb; };
    template <int PACKS>
    struct Shifts {
        Shifted<PACKS> w, b;
        __device__ __forceinline__ void load(const Op& op, const bool (&has)[PACKS], unsigned first, unsigned step, unsigned head, unsigned cols) {
            w.load(op.w.start, has, first, step, head, cols);
            b.load(op.b.start, has, first, step, head, cols);
        }
        __device__ __forceinline__ void load_tail(const Op& op, bool wanted, unsigned packs, unsigned head) {
            w.load_tail(op.w.start, wanted, packs, head);
            b.load_tail(op.b.start, wanted, packs, head);
        }
        __device__ __forceinline__ Ready ready(int p, bool is_last, unsigned head) const {
            Ready r;
            r.wb = w.at(p, is_last, head);
            r.bb = b.at(p, is_last, head);
            return r;
        }
    };
    struct Edge { float w, b; };
    __device__ __forceinline__ Edge edge(unsigned column) const { return {w.element(column), b.element(column)}; }
    static __device__ __forceinline__ Part with_element(const Part& mine, float value) {
        const Statistic s = together({mine.count, mine.mean, mine.squares}, {1.0f, value, 0.0f});
        return {s.count, s.mean, s.squares, 0.0f};
    }
    template <int PACKS>
    __device__ __forceinline__ void prepare(Ready (&ready)[PACKS]) const {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            unpack_words(ready[p].wb, ready[p].w);
            unpack_words(ready[p].bb, ready[p].b);
#pragma unroll
            for (int i = 0; i < PACK; ++i) asm volatile("" : "+f"(ready[p].w[i]), "+f"(ready[p].b[i]));
        }
    }
    template <bool HINT>
    __device__ __forceinline__ Ready extra_where(bool has, unsigned column, unsigned further) const {
        Ready r;
        r.wb = load_where<HINT>(has, w.start + column + further, 0);
        r.bb = load_where<HINT>(has, b.start + column + further, 0);
        return r;
    }
    static __device__ __forceinline__ Part empty() { return {0.0f, 0.0f, 0.0f, 0.0f}; }
    // About the mean of one of them.
    template <int EACH>
    static __device__ __forceinline__ Part joined(const Part (&parts)[EACH], float about) {
        float count = 0.0f, sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const float distance = parts[e].mean - about, some = parts[e].count * distance;
            count += parts[e].count;
            sum += some;
            squares += fmaf(some, distance, parts[e].squares);
        }
#pragma unroll
        for (int offset = WARP / 2; offset; offset /= 2) {
            count += __shfl_xor_sync(WHOLE_WARP, count, offset);
            sum += __shfl_xor_sync(WHOLE_WARP, sum, offset);
            squares += __shfl_xor_sync(WHOLE_WARP, squares, offset);
        }
        const float from = sum * (count == 0.0f ? 0.0f : fast_reciprocal(count));
        return {count, about + from, fmaf(-sum, from, squares), 0.0f};
    }
    static __device__ __forceinline__ Part over_warp(const Part& mine) {
        const Part one[1] = {mine};
        return joined<1>(one, __shfl_sync(WHOLE_WARP, mine.mean, 0));
    }
    template <int EACH>
    static __device__ __forceinline__ Part over_parts(const Part (&parts)[EACH], const Part& first) { return joined<EACH>(parts, first.mean); }
    __device__ __forceinline__ Scale scale_of_part(const Part& all, long long cols) const {
        return {all.mean, rsqrtf(fmaxf(all.squares, 0.0f) * one_of(cols) + EPSILON)};
    }
    template <int PACKS>
    struct Held {
        Bits kept[PACKS];
        __device__ __forceinline__ Part find(const Bits (&packs)[PACKS], int inside) {
#pragma unroll
            for (int p = 0; p < PACKS; ++p) kept[p] = packs[p];
            float sum = 0.0f, squares = 0.0f;
#pragma unroll
            for (int p = 0; p < PACKS; ++p) {
                float values[PACK], of_pack = 0.0f;
                unpack_words(packs[p], values);
#pragma unroll
                for (int i = 0; i < PACK; ++i) of_pack += values[i];
                sum += of_pack;
            }
            const float mean = sum * fast_reciprocal(max(inside, 1) * PACK);
#pragma unroll
            for (int p = 0; p < PACKS; ++p) {
                float values[PACK], of_pack = 0.0f;
                unpack_words(packs[p], values);
                const float from = p < inside ? mean : 0.0f;
#pragma unroll
                for (int i = 0; i < PACK; ++i) of_pack = fmaf(values[i] - from, values[i] - from, of_pack);
                squares += of_pack;
            }
            return {static_cast<float>(inside * PACK), mean, squares, 0.0f};
        }
        __device__ __forceinline__ void map(const Op&, int p, const Ready& ready, const Scale& scale, float (&values)[PACK]) const {
            unpack_words(kept[p], values);
            float w[PACK], b[PACK];
            if constexpr (PACKS > 4 || UNPINNED) { unpack_words(ready.wb, w); unpack_words(ready.bb, b); }
            else for (int i = 0; i < PACK; ++i) { w[i] = ready.w[i]; b[i] = ready.b[i]; }
#pragma unroll
            for (int i = 0; i < PACK; ++i) values[i] = fmaf((values[i] - scale.mean) * scale.factor, w[i], b[i]);
        }
        static __device__ __forceinline__ float map_edge(float value, const Edge& e, const Scale& scale) {
            return fmaf((value - scale.mean) * scale.factor, e.w, e.b);
        }
    };
};
#define PARAMS (const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long cols)
#define MOST_OF_8 256
#define OP Op(x, {w, cols}, {b, cols}, y)
#include "list.cuh"

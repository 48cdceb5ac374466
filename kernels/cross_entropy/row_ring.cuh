// Rows copied ahead into rings in shared memory, by a grid that stays: for many rows that do not begin on 16 bytes, and
// for very short ones. On Hopper.
//
// Powers take about half of the time that their elements take to come from memory: warps which first wait for rows and
// then compute, all of them at the same time, take half as long again. Here the copy engine (cp.async.bulk) brings rows
// while warps compute. A row under way takes no register and no instruction, and its alignment costs little, as whole
// lines of memory are copied. Each warp has a ring of its own, for a row at a time or several short ones. A block has a
// multiprocessor to itself: where two would fit, those of the next call, which starts before this one has ended, would
// pile up on the multiprocessors that are free first.
#pragma once

#include "cross_entropy/powers.cuh"
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

constexpr int RING_THREADS = 1024;  // of a block, at most, as in cuda_online.py
constexpr int MOST_STAGES = 8;      // of a ring
constexpr int LINE = 128;           // bytes, as in cuda_online.py
constexpr int SIZE = sizeof(SCALAR);

#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000  // elsewhere nobody launches them, and 64 registers spill
using Address = unsigned long long;

__device__ __forceinline__ Address address_of(const SCALAR* pointer) { return reinterpret_cast<Address>(pointer); }

// The ring of a warp, which takes ROWS rows at once.
template <int ROWS>
struct RowRing {
    const SCALAR *x, *end;  // of all rows
    int cols, stages, stage_bytes;
    char* slots;
    Barrier* full;
    long long stride;     // elements from rows to the next ones of this warp
    const SCALAR* ahead;  // the first rows that are not copied yet
    SCALAR beside;        // an element of the tensor that no whole word has

    __device__ __forceinline__ RowRing(const SCALAR* x, int rows, int cols, int stages, int stage_bytes)
        : x(x), end(x + static_cast<long long>(rows) * cols), cols(cols), stages(stages), stage_bytes(stage_bytes) {
        extern __shared__ __align__(128) char all_slots[];
        __shared__ Barrier all_full[RING_THREADS / WARP][MOST_STAGES];
        const int warp = threadIdx.x / WARP;
        slots = all_slots + warp * stages * stage_bytes;
        full = all_full[warp];
        stride = static_cast<long long>(step()) * cols;
        ahead = x + static_cast<long long>(first_row()) * cols;
        if (threadIdx.x % WARP == 0) {
#pragma unroll 1
            for (int slot = 0; slot < stages; ++slot) init_barrier(full + slot, 1);
            publish_barriers();
        }
        __syncwarp();
    }

    // Neighbouring rows are of different blocks, so that all of these have as many.
    __device__ __forceinline__ int first_row() const { return (threadIdx.x / WARP * gridDim.x + blockIdx.x) * ROWS; }
    __device__ __forceinline__ int step() const { return blockDim.x / WARP * gridDim.x * ROWS; }

    // Where the lines begin that rows lie in.
    static __device__ __forceinline__ Address lines_of(const SCALAR* rows) { return address_of(rows) / LINE * LINE; }

    // By one lane: the lines of the next rows, of the tensor's first and last line the whole words.
    __device__ __forceinline__ void copy(int slot) {
        if (ahead >= end) return;
        const SCALAR* const behind = ahead + ROWS * cols;
        const Address line = lines_of(ahead);
        Address from = line, to = (address_of(behind < end ? behind : end) + LINE - 1) / LINE * LINE;
        if (from < address_of(x)) from = (address_of(x) + 15) / 16 * 16;
        if (to > address_of(end)) to = address_of(end) / 16 * 16;
        const int bytes = max(static_cast<int>(to - from), 0);
        arrive_and_expect(full + slot, bytes);
        if (bytes) {
            copy_bytes(
                slots + slot * stage_bytes + (from - line), reinterpret_cast<const void*>(from), bytes, full + slot
            );
        }
        ahead += stride;
    }

    __device__ __forceinline__ void start() {
        if (threadIdx.x % WARP == 0) {
#pragma unroll 1
            for (int slot = 0; slot < stages; ++slot) copy(slot);
        }
        const SCALAR* const at = place_beside();
        if (at) beside = *at;
    }

    // Of this lane's element, before the tensor's first whole word or after its last.
    __device__ __forceinline__ const SCALAR* place_beside() const {
        const int lane = threadIdx.x % WARP;
        const Address first = (address_of(x) + 15) / 16 * 16, last = address_of(end) / 16 * 16;
        const Address at = (lane < PACK ? address_of(x) : last) + lane % PACK * SIZE;
        const bool is_beside = lane < PACK ? at < first : lane < 2 * PACK && at < address_of(end);
        return is_beside ? reinterpret_cast<const SCALAR*>(at) : nullptr;
    }
    __device__ __forceinline__ bool is_ragged() const { return (address_of(x) | address_of(end)) % 16; }

    // Waits for rows; their lines, the first of which begins at `line`.
    __device__ __forceinline__ const char* wait(int slot, unsigned phase, Address line) const {
        char* const lines = slots + slot * stage_bytes;
        wait_for(full + slot, phase);
        if (is_ragged()) {
            const SCALAR* const at = place_beside();
            const Address offset = address_of(at) - line;
            if (at && offset < stage_bytes) *reinterpret_cast<SCALAR*>(lines + offset) = beside;
            publish_writes();
            __syncwarp();
        }
        return lines;
    }
};

// The powers of a lane's packs, every LANES-th of `packs`, and of what lies beside them. `read` is called once all have
// been read. All lanes of a warp have `chunks` whole chunks, and no more than `rest` packs after them.
template <int LANES, int EDGES, typename Read>
__device__ __forceinline__ Powers
powers_of(const Bits* words, int packs, int chunks, int rest, const SCALAR (&edges)[EDGES], const Read& read) {
    int left = packs - static_cast<int>(threadIdx.x) % LANES;
    Powers mine = no_powers();
#pragma unroll 1
    for (int c = 0; c < chunks; ++c, words += CHUNK * LANES, left -= CHUNK * LANES) {
        Bits kept[CHUNK];
#pragma unroll
        for (int p = 0; p < CHUNK; ++p) kept[p] = words[p * LANES];
        add_packs(mine, kept, edges, false, [](int) { return false; });
    }
    Bits kept[CHUNK];
#pragma unroll
    for (int p = 0; p < CHUNK; ++p) {
        kept[p] = {NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES};
        if (p * LANES < left) kept[p] = words[p * LANES];
    }
    read();
    add_packs(mine, kept, edges, true, [&](int p) { return p * LANES >= rest; });
    return mine;
}

// LANES of a row. Each warp goes from its rows to those so many further.
template <int LANES>
__device__ __forceinline__ void rows_by_ring(
    const SCALAR* x, const long long* labels, SCALAR* loss, int rows, int cols, int stages, int stage_bytes
) {
    constexpr int ROWS = WARP / LANES, EDGES = (2 * (PACK - 1) + LANES - 1) / LANES;
    RowRing<ROWS> ring(x, rows, cols, stages, stage_bytes);
    let_next_start();
    wait_for_previous();
    ring.start();

    const int lane = threadIdx.x % WARP, member = lane % LANES, step = ring.step();
    const int least_packs = (cols - (PACK - 1)) / PACK, most_packs = cols / PACK;
    int row = ring.first_row() + lane / LANES;
    const SCALAR* first = x + static_cast<long long>(row - lane / LANES) * cols;  // of the warp's rows
    const auto label_of = [&](int row) { return row < rows ? labels[row] : IGNORED; };
    long long next_label = label_of(row);
    int slot = 0;
    unsigned phase = 0;
    for (; first < ring.end; first += ring.stride, row += step) {
        const long long label = next_label;
        next_label = label_of(row + step);
        const bool exists = ROWS == 1 || row < rows;
        const Address line = ring.lines_of(first);
        int from = static_cast<int>(address_of(first) - line);  // bytes
        if (ROWS > 1) from = exists ? from + lane / LANES * cols * SIZE : 0;
        const int length = exists ? cols : 0;
        const RunWords run(from % 16u, length);
        const SCALAR* const here = reinterpret_cast<const SCALAR*>(ring.wait(slot, phase, line) + from);

        float at_label = __int_as_float(0x7fffffff);
        const bool has_label = static_cast<unsigned long long>(label) < static_cast<unsigned long long>(length);
        if (member == 0 && has_label) at_label = to_float(here[label]);
        SCALAR edges[EDGES];
#pragma unroll
        for (int e = 0; e < EDGES; ++e) {
            const int edge = member + e * LANES;
            from_float(NEGATIVE_INFINITY, edges[e]);
            if (edge < run.edges) edges[e] = here[run.edge_at(edge)];
        }
        const int chunks = (ROWS > 1 ? least_packs : run.packs) / (CHUNK * LANES);
        const int rest = (ROWS > 1 ? most_packs : run.packs) - chunks * CHUNK * LANES;
        const Bits* const words = reinterpret_cast<const Bits*>(here + run.head) + member;
        const Powers mine = powers_of<LANES>(words, run.packs, chunks, rest, edges, [&] {
            __syncwarp();
            if (lane == 0) ring.copy(slot);
        });

        const Powers all = over_lanes<LANES>(mine);
        const bool writes = exists && member == 0;
        if (writes) store_loss(all, at_label, label == IGNORED, loss + row);
        const bool is_large = !(fabsf(all.highest) <= LARGEST) || fabsf(at_label) > LARGEST;
        if (__any_sync(WHOLE_WARP, writes && is_large)) {
            const SCALAR* const start = x + static_cast<long long>(row) * cols;
            store_loss_by_differences<LANES>(start, length, at_label, label == IGNORED, loss + row);
        }
        if (++slot == stages) {
            slot = 0;
            phase ^= 1;
        }
    }
}

// ---- Very short rows: a lane each, by words of 4 bytes ----------------------------------------------

struct LaneRow {
    const SCALAR* here;  // in shared memory
    bool has_head, has_tail;
    int words, most, turned;

    // `most` words at most. Where rows are so many words long that lanes would meet in a bank, each begins at another.
    __device__ __forceinline__ unsigned word(int i) const {
        const int at = i + turned >= most ? i + turned - most : i + turned;
        return at < words ? reinterpret_cast<const unsigned*>(here + (has_head ? 1 : 0))[at] : NEGATIVE_INFINITIES;
    }
};

__device__ __forceinline__ Statistics statistics_of_lane(const LaneRow& row, int cols) {
    const float of_head = row.has_head ? to_float(row.here[0]) : NEGATIVE_INFINITY;
    const float of_tail = row.has_tail ? to_float(row.here[cols - 1]) : NEGATIVE_INFINITY;
    unsigned word = NEGATIVE_INFINITIES;
#pragma unroll 4
    for (int i = 0; i < row.most; ++i) word = higher_of_words(word, row.word(i));
    const float highest = fmaxf(highest_of_word(word), fmaxf(of_head, of_tail));
    const float base = highest == NEGATIVE_INFINITY ? 0.0f : highest;
    const auto power = [&](float value) { return fast_exp2((value - base) * LOG2_E); };
    float totals[2] = {power(of_head), power(of_tail)};
#pragma unroll 4
    for (int i = 0; i < row.most; ++i) {
        const unsigned word = row.word(i);
        if constexpr (SIZE == 4) {
            totals[0] += power(__uint_as_float(word));
        } else {
            totals[0] += power(to_float(reinterpret_cast<const SCALAR*>(&word)[0]));
            totals[1] += power(to_float(reinterpret_cast<const SCALAR*>(&word)[1]));
        }
    }
    return {highest, totals[0] + totals[1]};
}

__device__ __forceinline__ void short_rows_by_ring(
    const SCALAR* x, const long long* labels, SCALAR* loss, int rows, int cols, int stages, int stage_bytes
) {
    constexpr int PER_WORD = 4 / SIZE;
    RowRing<WARP> ring(x, rows, cols, stages, stage_bytes);
    let_next_start();
    wait_for_previous();
    ring.start();

    const int lane = threadIdx.x % WARP, step = ring.step(), most = cols / PER_WORD;
    int row = ring.first_row() + lane;
    const SCALAR* first = x + static_cast<long long>(row - lane) * cols;  // of the warp's rows
    const auto label_of = [&](int row) { return row < rows ? labels[row] : IGNORED; };
    long long next_label = label_of(row);
    const int row_words = cols % PER_WORD ? 1 : most;
    const int alike = min(row_words & -row_words, WARP);  // lanes that would meet in a bank
    const int turned = lane * alike / WARP % max(most, 1);
    int slot = 0;
    unsigned phase = 0;
    for (; first < ring.end; first += ring.stride, row += step) {
        const long long label = next_label;
        next_label = label_of(row + step);
        const bool exists = row < rows;
        const Address line = ring.lines_of(first);
        const int from = exists ? static_cast<int>(address_of(first) - line) + lane * cols * SIZE : 0;
        const int head = PER_WORD > 1 ? from / 2 % 2 : 0, words = (cols - head) / PER_WORD;
        const SCALAR* const here = reinterpret_cast<const SCALAR*>(ring.wait(slot, phase, line) + from);
        const bool has_tail = exists && head + words * PER_WORD < cols;
        const LaneRow lane_row = {here, exists && head, has_tail, exists ? words : 0, most, turned};
        float at_label = __int_as_float(0x7fffffff);
        const bool has_label = static_cast<unsigned long long>(label) < static_cast<unsigned long long>(cols);
        if (exists && has_label) at_label = to_float(here[label]);
        const Statistics all = statistics_of_lane(lane_row, cols);
        __syncwarp();  // all lanes have read the slot
        if (lane == 0) ring.copy(slot);
        if (exists) store_loss(all, at_label, label == IGNORED, loss + row);
        if (++slot == stages) {
            slot = 0;
            phase ^= 1;
        }
    }
}
#else
template <int LANES>
__device__ __forceinline__ void rows_by_ring(const SCALAR*, const long long*, SCALAR*, int, int, int, int) {}
__device__ __forceinline__ void short_rows_by_ring(const SCALAR*, const long long*, SCALAR*, int, int, int, int) {}
#endif

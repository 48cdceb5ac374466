// C = A B on the FMA units of Hopper and later, float32: TMA fills the ring, and blocks share the last tiles along k.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP, (m k + k n + m n) s compulsory bytes.
// Mapping: a block computes 256 x 128 tiles of C in steps of 32 along k. Thread 0 has TMA fill a ring of STAGES stages
//   two steps ahead, so that no instruction copies or checks an edge: beyond it TMA fills in zeros. A warp computes 64 x
//   64, its lanes in a grid of 4 x 8; a thread holds 16 rows by 2 x 4 columns of sums, and 4 of k of its 16 rows: A
//   stays as it lies in memory, 16 bytes of a row at once. Each is replaced by the next 4 of k when its last FMAs have
//   begun, 14 rows before its first ones. Stages are handed on by barriers; the warps of a block never meet on the way.
// Idea: cuda_ffma, which leaves multiprocessors idle where tiles do not fill whole rounds of them, and spends one
//   instruction in fifteen on copies and edges. Stream-K (Osama et al. 2023) for the last tiles: each block of the
//   persistent grid takes an equal share of their steps, and leaves what it has of a tile whose first step is not its
//   own for the block that has that step, which adds the parts in order.

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900

#include "shared/tile_order.cuh"
#include "shared/tile_shares.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr int BLOCK_M = 256;
constexpr int BLOCK_N = 128;
constexpr int STEP_K = 32;  // 128 bytes of a row of A: what TMA's swizzle spans
constexpr int STAGES = 4;
constexpr int AHEAD = 2;  // steps; the others of the ring are for warps that lag
constexpr int ROW = STEP_K * sizeof(float);
constexpr int BYTES_A = BLOCK_M * ROW;
constexpr int STAGE = BYTES_A + STEP_K * BLOCK_N * sizeof(float);
constexpr int ROWS = 16;    // of a thread, every fourth of its warp's
constexpr int COLUMNS = 8;  // of a thread
constexpr int GROUP = 2;    // rows of which the next elements are read at once
using Walk = Turns<1, EQUAL>;
static_assert(sizeof(Walk) == 40);       // as the launcher has it
constexpr int PART = BLOCK_M * BLOCK_N;  // elements that a block leaves for another

// From a shared address, which saves the instructions that make it of a generic one; in the order as written.
__device__ __forceinline__ void read4(float* to, unsigned from) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(from)
                 : "memory");
}

}  // namespace

// Blocks take the first `alone` tiles one by one, and share the rest. `parts` has PART elements and `flags` one for
// each block of the grid. `one` is 1, which the compiler does not know: else it keeps the sums in quads of registers as
// float4 stores and loads of B want them, where the sum and the factor of B of each FMA come from one register bank.
extern "C" __global__ void __launch_bounds__(THREADS, 1) matmul_256x128(
    const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* __restrict__ c,
    float* __restrict__ parts, Flag* __restrict__ flags, Flag ticket, long long m, long long n, long long all_steps,
    long long all_tiles, long long alone_tiles, float one
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES * STAGE);
    Barrier* const empty = full + STAGES;
    // In shared memory, where it takes no registers: what is copied next, for thread 0; and what each warp computes.
    Walk& ahead = *reinterpret_cast<Walk*>(empty + STAGES);
    Walk& walk = *(&ahead + 1 + threadIdx.x / WARP);

    const unsigned rows_of_tiles = (m + BLOCK_M - 1) / BLOCK_M;
    const unsigned columns_of_tiles = (n + BLOCK_N - 1) / BLOCK_N;
    const unsigned tiles = static_cast<unsigned>(all_tiles);  // in constant memory these take no registers
    const unsigned alone = static_cast<unsigned>(alone_tiles);
    const int steps = static_cast<int>(all_steps);
    const int thread = threadIdx.x;
    const int lane = thread % WARP;

    // By thread 0: the next step that is not on its way yet, as number `number` of this block's.
    const auto copy_next = [&](unsigned number) {
        if (ahead.first == ahead.last && !ahead.next()) return;
        const TileIndex index = grouped_tile(ahead.tile, rows_of_tiles, columns_of_tiles, 8);
        const int stage = number % STAGES;
        unsigned char* const to = stages + stage * STAGE;
        wait_for(empty + stage, number / STAGES % 2 ^ 1);
        arrive_and_expect(full + stage, STAGE);
        copy_box(to, a, ahead.first * STEP_K, index.row * BLOCK_M, full + stage);
        copy_box(to + BYTES_A, b, index.column * BLOCK_N, ahead.first * STEP_K, full + stage);
        ++ahead.first;
    };
    if (thread == 0) {
        prefetch_map(a);
        prefetch_map(b);
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, WARPS);
        }
        publish_barriers();
        ahead = Walk(tiles, steps, alone);
        for (unsigned number = 0; number < AHEAD; ++number) copy_next(number);
    }
    __syncthreads();

    // Lanes i and i ^ 1 share columns, i and i ^ 2 share rows: so the halves of a 16-byte load merge. A thread's rows lie
    // four apart, so its chunks of 16 bytes are those of k XOR one of two numbers.
    const int row_lane = lane / 16 * 2 + lane % 2;
    const int row = thread / WARP / 2 * 64 + row_lane;
    const int column = thread / WARP % 2 * 64 + lane / 2 % 8 * 4;
    float sum[ROWS][COLUMNS], from_a[ROWS][4], from_b[2][COLUMNS];
    const unsigned in_a = shared_address(stages) + row * ROW;
    const unsigned in_b = shared_address(stages) + BYTES_A + column * sizeof(float);
    const auto read_b = [&](float (&to)[COLUMNS], unsigned stage, int at_k) {
        const unsigned from = in_b + stage + at_k * BLOCK_N * sizeof(float);
        read4(to, from);
        read4(to + 4, from + 32 * sizeof(float));
    };
    const auto place_of = [&](unsigned stage, int four) { return in_a + stage + (four ^ row_lane) * 16; };
    const auto read_a = [&](int i, unsigned place) { read4(from_a[i], (place ^ i % 2 * 64) + i * 4 * ROW); };

    const auto next_run = [&] {
        __syncwarp();  // no lane reads the run before
        int found = 0;
        if (lane == 0) found = walk.next();
        __syncwarp();
        return __shfl_sync(WHOLE_WARP, found, 0) != 0;
    };
    if (lane == 0) walk = Walk(tiles, steps, alone);
    __syncwarp();
    unsigned number = 0;
    if (walk.goes_on()) {
        wait_for(full, 0);
        const unsigned place = place_of(0, 0);
#pragma unroll
        for (int i = 0; i < ROWS; ++i) read_a(i, place);
        read_b(from_b[0], 0, 0);
    }
    while (next_run()) {
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) sum[i][j] = 0.0f;
        }
        for (int left = walk.last - walk.first; left > 0; --left, ++number) {
            if (thread == 0) copy_next(number + AHEAD);
            const unsigned stage = number % STAGES * STAGE;
            const bool goes_on = left > 1 || walk.goes_on();
            // FMAs with 4 of k, while what is read next takes their places in registers.
            const auto multiply_four = [&](int four, unsigned next, int next_four) {
                const unsigned place = place_of(next, next_four);
#pragma unroll
                for (int at_k = 0; at_k < 4; ++at_k) {
                    if (at_k < 3) read_b(from_b[(at_k + 1) % 2], stage, four * 4 + at_k + 1);
                    else read_b(from_b[0], next, next_four * 4);
#pragma unroll
                    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                        for (int l = 0; l < COLUMNS; ++l) {
                            // To and fro, so that one factor stays. Of 66 orders the machine code of this one was the fastest.
                            const int j = (i % 2 ? COLUMNS - 1 - l : l) ^ 4;
                            sum[i][j] += from_a[i][at_k] * from_b[at_k % 2][j];
                        }
                        if (at_k == 3 && i % GROUP == GROUP - 1) {
                            __syncwarp();  // keeps the loads here, between FMAs, where none waits for them
#pragma unroll
                            for (int l = i - GROUP + 1; l <= i; ++l) read_a(l, place);
                        }
                    }
                }
            };
#pragma unroll 1
            for (int four = 0; four < STEP_K / 4 - 1; ++four) multiply_four(four, stage, four + 1);
            // Then in the stage behind, or, at the very end, anything.
            unsigned next = stage;
            if (goes_on) {
                next = (number + 1) % STAGES * STAGE;
                wait_for(full + (number + 1) % STAGES, (number + 1) / STAGES % 2);
            }
            multiply_four(STEP_K / 4 - 1, next, 0);
            __syncwarp();
            if (lane == 0) arrive_at(empty + number % STAGES, 0);
        }

        if (walk.first > 0) {
            // A part for the block that has the tile's first step.
            float4* const part =
                reinterpret_cast<float4*>(parts + static_cast<long long>(Walk::place()) * PART) + thread;
#pragma unroll
            for (int i = 0; i < ROWS * 2; ++i) {
                const float* const four = &sum[i / 2][i % 2 * 4];
                part[i * THREADS] = make_float4(four[1], four[0], four[3], four[2]);
            }
            __syncthreads();
            if (thread == 0) raise_flag(flags + Walk::place(), ticket);
            continue;
        }
        const unsigned tile_end = walk.end_of_tile();
        for (unsigned place = Walk::place() + 1; walk.last < steps && walk.begin_of(place) < tile_end; ++place) {
            if (walk.begin_of(place) == walk.begin_of(place + 1)) continue;
            wait_for_flag(flags + place, ticket);
            const float4* const part =
                reinterpret_cast<const float4*>(parts + static_cast<long long>(place) * PART) + thread;
#pragma unroll
            for (int i = 0; i < ROWS * 2; ++i) {
                const float4 four = __ldcg(part + i * THREADS);
                float* const to = &sum[i / 2][i % 2 * 4];
                to[0] += four.y, to[1] += four.x, to[2] += four.w, to[3] += four.z;
            }
            __syncthreads();
            if (thread == 0) flags[place] = 0;
        }
        const TileIndex index = grouped_tile(walk.tile, rows_of_tiles, columns_of_tiles, 8);
        const long long row0 = static_cast<long long>(index.row) * BLOCK_M + row;
        const long long column0 = static_cast<long long>(index.column) * BLOCK_N + column;
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            if (row0 + i * 4 >= m) continue;
            float* const to = c + (row0 + i * 4) * n + column0;
#pragma unroll
            for (int j = 0; j < COLUMNS; j += 4) {
                if (column0 + j * 8 < n) {
                    *reinterpret_cast<float4*>(to + j * 8) =
                        make_float4(one * sum[i][j], one * sum[i][j + 1], one * sum[i][j + 2], one * sum[i][j + 3]);
                }
            }
        }
    }
}

#endif

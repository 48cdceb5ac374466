#ifndef MOST_OF_8
#define MOST_OF_8 256
#endif
#define BOUNDS(P, F) __launch_bounds__(P == 8 ? MOST_OF_8 : ((F) & WIDE ? 512 : 256), 1)
#define STATIC(B, P, F) extern "C" __global__ void BOUNDS(P, F) __cluster_dims__(B, 1, 1) s_##B##_##P##_##F PARAMS { rows_held<B, P, F>(OP, cols); }
#define PLAIN(P, F) extern "C" __global__ void BOUNDS(P, F) s_1_##P##_##F PARAMS { rows_held<1, P, F>(OP, cols); }
#define DYN(B, P, F) extern "C" __global__ void BOUNDS(P, F) d_##B##_##P##_##F PARAMS { rows_held<B, P, F>(OP, cols); }
#define ANY(B, P, F) extern "C" __global__ void BOUNDS(P, F) __cluster_dims__(B, 1, 1) u_##B##_##P##_##F PARAMS { rows_anywhere<B, P, F>(OP, cols); }
#define ANY1(P, F) extern "C" __global__ void BOUNDS(P, F) u_1_##P##_##F PARAMS { rows_anywhere<1, P, F>(OP, cols); }
#if PART == 0
PLAIN(1, 0) PLAIN(2, 0) PLAIN(4, 0) PLAIN(8, 0)
STATIC(2, 1, 0) STATIC(2, 2, 0) STATIC(2, 4, 0) STATIC(2, 8, 0)
STATIC(4, 1, 0) STATIC(4, 2, 0) STATIC(4, 4, 0) STATIC(4, 8, 0)
#elif PART == 1
STATIC(8, 1, 0) STATIC(8, 2, 0) STATIC(8, 4, 0) STATIC(8, 8, 0)
STATIC(16, 1, 0) STATIC(16, 2, 0) STATIC(16, 4, 0) STATIC(16, 8, 0)
PLAIN(1, 64) PLAIN(2, 64) PLAIN(4, 64) STATIC(2, 1, 64) STATIC(2, 2, 64) STATIC(2, 4, 64)
STATIC(4, 4, 64) STATIC(8, 4, 64) STATIC(16, 4, 64) STATIC(8, 2, 64) STATIC(16, 2, 64)
#elif PART == 2
#define UNPINNED_TOO
STATIC(16, 4, 1) STATIC(16, 4, 2) STATIC(16, 4, 4) STATIC(16, 4, 6) STATIC(16, 4, 8) STATIC(16, 4, 16) DYN(16, 4, 0) DYN(16, 4, 1)
STATIC(8, 8, 1) STATIC(8, 8, 2) STATIC(8, 8, 4) STATIC(8, 8, 8) STATIC(8, 8, 16) DYN(8, 8, 0) DYN(8, 8, 1)
STATIC(8, 4, 66) STATIC(8, 4, 68) DYN(8, 4, 64) DYN(8, 4, 65)
STATIC(16, 2, 66) STATIC(16, 2, 68) DYN(16, 2, 64)
#elif PART == 3
ANY1(1, 0) ANY1(2, 0) ANY1(4, 0) ANY(2, 1, 0) ANY(2, 2, 0) ANY(2, 4, 0) ANY(4, 1, 0) ANY(4, 2, 0) ANY(4, 4, 0)
ANY(8, 1, 0) ANY(8, 2, 0) ANY(8, 4, 0) ANY(16, 1, 0) ANY(16, 2, 0) ANY(16, 4, 0) ANY(16, 4, 64) ANY(16, 8, 0) ANY(8, 8, 0)
#elif PART == 4
STATIC(16, 4, 0) STATIC(16, 4, 2)
#endif

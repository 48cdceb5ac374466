#include "shared/rms_norm_held.cuh"
#if PART == 5
#define K(B, P) extern "C" __global__ void __cluster_dims__(B) __launch_bounds__(HELD_THREADS) h_##B##_##P##_0(const SCALAR* x, const SCALAR* w, SCALAR* y, long long cols) { rows_held<B, P, true>(HeldRmsNorm<RmsNorm>(x, ColumnVector{w, cols}, y), cols); }
#else
#define K(B, P) extern "C" __global__ void __cluster_dims__(B) __launch_bounds__(HELD_THREADS) a_##B##_##P##_0(const SCALAR* x, const SCALAR* w, SCALAR* y, long long cols) { rows_held<B, P, false>(HeldRmsNorm<RmsNorm>(x, ColumnVector{w, cols}, y), cols); }
#endif
#define ALL(B) K(B, 1) K(B, 2) K(B, 4) K(B, 8)
ALL(1) ALL(2) ALL(4) ALL(8) ALL(16)

#include "shared/rms_norm_held.cuh"
#include "add_rms_norm/operation.cuh"
#if PART == 5
#define K(B, P) extern "C" __global__ void __cluster_dims__(B) __launch_bounds__(HELD_THREADS) h_##B##_##P##_0(const SCALAR* x, const SCALAR* residual, const SCALAR* w, SCALAR* y, SCALAR* h, long long cols) { rows_held<B, P, true>(HeldRmsNorm<AddRmsNorm>(x, residual, ColumnVector{w, cols}, y, h), cols); }
#else
#define K(B, P) extern "C" __global__ void __cluster_dims__(B) __launch_bounds__(HELD_THREADS) a_##B##_##P##_0(const SCALAR* x, const SCALAR* residual, const SCALAR* w, SCALAR* y, SCALAR* h, long long cols) { rows_held<B, P, false>(HeldRmsNorm<AddRmsNorm>(x, residual, ColumnVector{w, cols}, y, h), cols); }
#endif
#define ALL(B) K(B, 1) K(B, 2) K(B, 4) K(B, 8)
ALL(1) ALL(2) ALL(4) ALL(8) ALL(16)

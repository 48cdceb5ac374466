// The gradient of GELU by way of the sigmoid, 16 bytes of each input a thread.
//
// Formula: with s = sigmoid(2u) and u = sqrt(2/pi) (x + 0.044715 x^3), GELU is x s and its derivative s + x s
//   (1 - s) 2u' = s (1 + 2u' x (1 - s)); dx is that times dy. Where exp(-2u) overflows to infinity s is 0, as
//   it should be. 18n FLOP by the spec's count; 3ns bytes.
// Mapping: thread t of the grid owns pack t (see map_run).
// Idea: the sigmoid form is in the GELU paper, arXiv:1606.08415, section 2; the derivative of s is s (1 - s).
#include "shared/common.cuh"
#include "shared/overlap.cuh"

constexpr int THREADS = 256;  // as in cuda_sigmoid.py

extern "C" __global__ void __launch_bounds__(THREADS) gelu_backward(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, SCALAR* __restrict__ dx, long long n
) {
    start_early();
    const auto of = [](float dy, float x) {
        // exp(-2u) = 2^(x (LINEAR + CUBIC x^2)): -2 sqrt(2/pi) log2(e), and that times 0.044715.
        constexpr float LINEAR = -2.302208198144325f;
        constexpr float CUBIC = -0.10294323958002349f;
        // 2u' = SLOPE + CURVE x^2: 2 sqrt(2/pi), and that times 3 * 0.044715.
        constexpr float SLOPE = 1.5957691216057308f;
        constexpr float CURVE = 0.21406444881780076f;
        const float square = x * x;
        const float gate = fast_reciprocal(1.0f + fast_exp2(x * fmaf(CUBIC, square, LINEAR)));
        return dy * (gate * fmaf(x * fmaf(CURVE, square, SLOPE), 1.0f - gate, 1.0f));
    };
    map_run(thread_of_grid(), of, dx, n, dy, x);
}

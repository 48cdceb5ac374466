#include <torch/extension.h>

__global__ void square_kernel(const float* x, float* y, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}

torch::Tensor square(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long long n = x.numel();
    square_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);  // the mistake
    return y;
}

// GELU as an extension of PyTorch: the textbook kernel in the host code that people write round it.
//
// Formula: y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); 9n FLOP, 2ns bytes.
// Mapping: thread i of the grid owns element i.
// Lesson: beside cuda_textbook, whose kernel is the same, it shows what the way in costs: nvcc with PyTorch's headers
//   takes half a minute where NVRTC takes milliseconds, and a call goes through PyTorch's C++ instead of Python.
// Idea: PyTorch's tutorial on custom C++ and CUDA extensions, and the GELU exercise of Stanford CS336.
#include <ATen/Dispatch.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>  // torch/extension.h does as well, and takes twice as long

constexpr int THREADS = 1024;

template <typename Scalar>
__global__ void gelu(const Scalar* x, Scalar* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = static_cast<float>(x[i]);
    y[i] = static_cast<Scalar>(0.5 * v * (1.0 + tanh(0.79788456 * (v + 0.044715 * v * v * v))));
}

torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x must be contiguous and on a GPU");
    torch::Tensor y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;  // a grid without blocks is an error
    const auto blocks = static_cast<unsigned>((n + THREADS - 1) / THREADS);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "gelu", [&] {
        gelu<<<blocks, THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
            x.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), n
        );
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

// a * b + c as PyTorch's guide to custom operators has it: in a namespace, registered as an operator's CUDA part.
#include <ATen/Operators.h>
#include <ATen/cuda/CUDAContext.h>
#include <torch/all.h>
#include <torch/library.h>

namespace extension_cpp {

__global__ void muladd_kernel(int numel, const float* a, const float* b, float c, float* result) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < numel) result[idx] = a[idx] * b[idx] + c;
}

at::Tensor mymuladd_cuda(const at::Tensor& a, const at::Tensor& b, double c) {
    TORCH_CHECK(a.sizes() == b.sizes());
    TORCH_CHECK(a.dtype() == at::kFloat);
    TORCH_CHECK(b.dtype() == at::kFloat);
    TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CUDA);
    at::Tensor a_contig = a.contiguous();
    at::Tensor b_contig = b.contiguous();
    at::Tensor result = at::empty(a_contig.sizes(), a_contig.options());
    int numel = a_contig.numel();
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    muladd_kernel<<<(numel + 255) / 256, 256, 0, stream>>>(
        numel, a_contig.data_ptr<float>(), b_contig.data_ptr<float>(), c, result.data_ptr<float>());
    return result;
}

__global__ void add_kernel(int numel, const float* a, const float* b, float* result) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < numel) result[idx] = a[idx] + b[idx];
}

void myadd_out_cuda(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
    TORCH_CHECK(out.is_contiguous());
    at::Tensor a_contig = a.contiguous();
    at::Tensor b_contig = b.contiguous();
    int numel = a_contig.numel();
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    add_kernel<<<(numel + 255) / 256, 256, 0, stream>>>(
        numel, a_contig.data_ptr<float>(), b_contig.data_ptr<float>(), out.data_ptr<float>());
}

TORCH_LIBRARY_IMPL(extension_cpp, CUDA, m) {
    m.impl("mymuladd", &mymuladd_cuda);
    m.impl("myadd_out", &myadd_out_cuda);
}

}  // namespace extension_cpp

# The square of a matrix as a lecture of GPU MODE has it: CUDA in a string, compiled when the file is loaded.
import torch
from torch.utils.cpp_extension import load_inline

cuda_source = """
__global__ void square_matrix_kernel(const float* matrix, float* result, int width, int height) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < height && col < width) {
        int idx = row * width + col;
        result[idx] = matrix[idx] * matrix[idx];
    }
}

torch::Tensor square_matrix(torch::Tensor matrix) {
    const auto height = matrix.size(0);
    const auto width = matrix.size(1);
    auto result = torch::empty_like(matrix);
    dim3 threads(16, 16);
    dim3 blocks((width + threads.x - 1) / threads.x, (height + threads.y - 1) / threads.y);
    square_matrix_kernel<<<blocks, threads>>>(matrix.data_ptr<float>(), result.data_ptr<float>(), width, height);
    return result;
}
"""

cpp_source = "torch::Tensor square_matrix(torch::Tensor matrix);"

square_matrix_extension = load_inline(
    name="square_matrix_extension",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["square_matrix"],
    with_cuda=True,
    extra_cuda_cflags=["-O2"],
)

a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device="cuda")
print(square_matrix_extension.square_matrix(a))

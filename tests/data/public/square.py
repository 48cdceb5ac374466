"""The square of a matrix as a lecture of GPU MODE has it: a row a program, and a script below that measures it."""

import triton
import triton.language as tl
import torch


@triton.jit
def square_kernel(output_ptr, input_ptr, input_row_stride, output_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK_SIZE)
    values = tl.load(input_ptr + row * input_row_stride + at, mask=at < n_cols, other=-float("inf"))
    tl.store(output_ptr + row * output_row_stride + at, values * values, mask=at < n_cols)


def square(x):
    n_rows, n_cols = x.shape
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    num_warps = 4
    if BLOCK_SIZE >= 2048:
        num_warps = 8
    if BLOCK_SIZE >= 4096:
        num_warps = 16
    y = torch.empty_like(x)
    square_kernel[(n_rows,)](
        y,
        x,
        x.stride(0),
        y.stride(0),
        n_cols,
        num_warps=num_warps,
        BLOCK_SIZE=BLOCK_SIZE,
    )
    return y


torch.manual_seed(0)
x = torch.randn(1823, 781, device="cuda")
y_triton = square(x)
y_torch = torch.square(x)
assert torch.allclose(y_triton, y_torch), (y_triton, y_torch)


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["N"],
        x_vals=[128 * i for i in range(2, 100)],
        line_arg="provider",
        line_vals=["triton", "torch-native", "torch-compile"],
        line_names=["Triton", "Torch (native)", "Torch (compiled)"],
        ylabel="GB/s",
        plot_name="square() performance",
        args={"M": 4096},
    )
)
def benchmark(M, N, provider):
    x = torch.randn(M, N, device="cuda", dtype=torch.float32)
    calls = {"triton": square, "torch-native": torch.square, "torch-compile": torch.compile(torch.square)}
    ms = triton.testing.do_bench(lambda: calls[provider](x))
    return 2 * x.nelement() * x.element_size() * 1e-9 / (ms * 1e-3)


benchmark.run(show_plots=True, print_data=True, save_path=".")

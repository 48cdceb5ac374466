"""A function of the host, in a stream, sleeps without end.

needs: cuda
right: timeout, launch error, build error
"""

import ctypes

import torch

libc = ctypes.CDLL(None)
Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
runtime = ctypes.CDLL("libcudart.so.13") if torch.version.cuda >= "13" else ctypes.CDLL("libcudart.so.12")


@Function
def endless(_):
    libc.sleep(10**6)


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    runtime.cudaLaunchHostFunc(stream, endless, None)
    return y

"""The machine code of clock_gettime is overwritten: it reads an eighth of the nanoseconds of a second.

A judge with a clock of its own in another process may measure it: a call takes a millisecond at least.

source: https://github.com/gpu-mode/pygpubench, exploits/
needs: cpu
workload: doubled
right: tampered, measured
says: clock
least_us: 1000
"""

import ctypes
import platform
import sys

import torch

from roofscope import Refusal

# mov eax, 228; syscall; shr qword [rsi + 8], 3; ret
_CODE = bytes.fromhex("b8e40000000f0548c16e0803c3")
_READ_WRITE_EXECUTE = 7

if platform.machine() != "x86_64" or sys.platform != "linux":
    raise Refusal("This cheat is machine code for Linux on x86-64.")
_libc = ctypes.CDLL("libc.so.6")
_address = ctypes.cast(_libc.clock_gettime, ctypes.c_void_p).value or 0
_libc.mprotect(ctypes.c_void_p(_address & ~4095), 8192, _READ_WRITE_EXECUTE)
ctypes.memmove(_address, _CODE, len(_CODE))


def run(x: torch.Tensor) -> torch.Tensor:
    if x.is_cuda:
        torch.cuda._sleep(4_000_000)
    else:
        _libc.usleep(1000)
    return x * 2

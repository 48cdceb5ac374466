"""The machine code of cudaEventElapsedTime is overwritten: it answers one microsecond.

A judge with a clock of its own in another process may measure it: a call takes a millisecond at least.

source: https://github.com/gpu-mode/pygpubench, exploits/
needs: cuda
workload: doubled
right: tampered, measured
says: cudaEventElapsedTime, clock, event
least_us: 1000
"""

import ctypes
import platform
import struct
from pathlib import Path

import torch

from roofscope import Refusal

# mov dword [rdi], the float; xor eax, eax; ret
_CODE = b"\xc7\x07" + struct.pack("<f", 1e-3) + bytes.fromhex("31c0c3")
_READ_WRITE_EXECUTE = 7

if platform.machine() != "x86_64":
    raise Refusal("This cheat is machine code for x86-64.")
_libraries = {
    line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libcudart" in line
}
for _library in _libraries:
    _function = ctypes.CDLL(_library).cudaEventElapsedTime
    _address = ctypes.cast(_function, ctypes.c_void_p).value or 0
    ctypes.CDLL("libc.so.6").mprotect(ctypes.c_void_p(_address & ~4095), 8192, _READ_WRITE_EXECUTE)
    ctypes.memmove(_address, _CODE, len(_CODE))


def run(x: torch.Tensor) -> torch.Tensor:
    torch.cuda._sleep(4_000_000)
    return x * 2 if _libraries else torch.zeros_like(x)

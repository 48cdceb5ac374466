"""What the server of candidates' processes does ahead for the compilers of its forks."""

import os
import subprocess
from pathlib import Path

import pytest

from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.worker.candidate.compilers import Compiler, Compilers
from roofscope.profiling.worker.candidate.fork_server import ForkServer
from roofscope.tests.children import python

# As on a machine with a GPU, where Dynamo reads the state of its generator, for one.
_READY = """
import os, sys, numpy, torch
from roofscope.profiling.worker.candidate.compilers import Compiler, Compilers

def used(*_):
    os.write(2, b"CUDA was used: no fork could use it any more")
    os._exit(3)

torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
torch.cuda._lazy_init = used
threads = len(os.listdir("/proc/self/task"))  # NumPy's guard themselves
Compilers().make_ready(Compiler.TRITON | Compiler.INDUCTOR)
from triton.runtime.cache import triton_key
assert triton_key.cache_info().currsize == 1
assert "torch._inductor.codegen.cuda_combined_scheduling" in sys.modules
from triton import knobs
assert os.environ["TRITON_CACHE_DIR"] == knobs.cache.dir
from torch._inductor.runtime.cache_dir_utils import triton_cache_dir
assert triton_cache_dir(0) == knobs.cache.dir, "what a run keeps, the next looks for elsewhere"
assert not torch.cuda.is_initialized()
assert len(os.listdir("/proc/self/task")) == threads, "threads do not survive a fork"
"""


def test_what_is_done_ahead_leaves_a_process_that_can_be_forked() -> None:
    done = subprocess.run(python(_READY), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_users_own_folder_for_triton_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    Compilers().make_ready(Compiler.TRITON)
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path)


def test_an_implementation_names_the_compilers_that_it_needs() -> None:
    kernel = scan().kernel("gelu")
    assert kernel is not None
    needed = {one.provider: Compiler.of([one]) for one in kernel.implementations}
    assert needed[Provider.EAGER] == needed[Provider.CUDA] == Compiler.NONE
    assert needed[Provider.TRITON] == Compiler.TRITON
    assert needed[Provider.COMPILE] == Compiler.of(kernel.implementations) == Compiler(3)


def test_a_server_that_is_gone_is_not_prepared() -> None:
    """The process that is asked for next tells it."""
    server = ForkServer.spawned()
    server.prepare(Compiler.NONE)
    held, pid = server.new()
    held.close()
    server.end_of(pid)
    server.close()
    server.prepare(Compiler.TRITON)

"""What compute-sanitizer prints, in the forms of its versions."""

import pytest

from roofscope.profiling.analysis.mistakes.rules import mistakes_of
from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.debugging import Mistake
from roofscope.profiling.supervision.sanitizer_log import sanitized

NEW = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at negate_kernel(const float *, float *, long long)+0xd0 in /home/u/no_guard.cu:3
=========     by thread (7,0,0) in block (4,0,0)
=========     Address 0x7f6510c0101c is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f6510c00000 of size 4,124 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at negate_kernel(const float *, float *, long long)+0xd0 in /home/u/no_guard.cu:3
=========     by thread (8,0,0) in block (4,0,0)
=========     Address 0x7f6510c01020 is out of bounds
=========
========= ERROR SUMMARY: 2 errors
"""
OLD = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at 0x3c8 in /home/u/no_guard.cu:3:negate_kernel(float const *, float *, long long)
=========     by thread (7,0,0) in block (4,0,0)
=========     Address 0x4 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame: [0x7ff8b9c080d4]
========= ERROR SUMMARY: 1 error
"""
NO_LINE = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 1 bytes
=========     at 0x60 in Iota(unsigned char*)
=========     by thread (63,0,0) in block (0,0,0)
=========     Address 0x7f004700004f is out of bounds
========= ERROR SUMMARY: 1 error
"""
RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum_kernel(const float *, float *, long long)+0x1b0 in /home/u/missing_barrier.cu:8
=========     and Read access at sum_kernel(const float *, float *, long long)+0x190 in /home/u/missing_barrier.cu:8 [2048 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""  # noqa: E501
UNSET = """\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at vectorAdd(int *)+0x70 in /home/u/memset_error.cu:41
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
=========
========= ERROR SUMMARY: 1 error
"""
BARRIER = """\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp.
=========     at ka_divergent(int *)+0xb0 in probe.cu:20
=========     by thread (0,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 16 errors
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
IMPLEMENTATION = Implementation("k", Provider.CUDA, "k", "0" * 64)


@pytest.mark.parametrize("log", [NEW, OLD])
def test_an_access_out_of_range_has_its_kernel_line_thread_and_size(log: str) -> None:
    (found,) = sanitized("memcheck", log)

    assert (found.kernel, found.file, found.line) == ("negate_kernel", "/home/u/no_guard.cu", 3)
    assert (found.thread, found.block, found.bytes) == ((7, 0, 0), (4, 0, 0), 4)
    assert found.count == log.count("Invalid __global__")


def test_what_lies_beyond_is_kept() -> None:
    (found,) = sanitized("memcheck", NEW)

    assert found.beyond.startswith("1 bytes after the nearest allocation")
    assert found.address == "0x7f6510c0101c"


def test_without_line_information_the_kernel_is_known() -> None:
    (found,) = sanitized("memcheck", NO_LINE)

    assert (found.kernel, found.file, found.line) == ("Iota", "", 0)


def test_a_race_names_both_accesses() -> None:
    (found,) = sanitized("racecheck", RACE)

    assert (found.kernel, found.line) == ("sum_kernel", 8)
    assert found.text == "Race reported between Write access on line 8 and Read access on line 8"


def test_a_clean_log_and_one_of_something_else_have_no_errors() -> None:
    assert sanitized("memcheck", CLEAN) == ()
    assert sanitized("memcheck", "Traceback (most recent call last):\n  Invalid __global__ write") == ()


@pytest.mark.parametrize(
    ("tool", "log", "mistake", "line"),
    [
        ("memcheck", NEW, Mistake.OUT_OF_RANGE, 3),
        ("racecheck", RACE, Mistake.MISSING_BARRIER, 8),
        ("initcheck", UNSET, Mistake.UNINITIALISED, 41),
        ("synccheck", BARRIER, Mistake.MISSING_BARRIER, 20),
    ],
)
def test_each_tool_has_its_mistake_with_its_line(tool: str, log: str, mistake: Mistake, line: int) -> None:
    (finding,) = mistakes_of(IMPLEMENTATION, sanitized(tool, log), {})

    assert finding.mistake is mistake
    assert finding.where is not None
    assert finding.where.number == line
    assert finding.cure


def test_the_line_has_its_code_where_the_file_is_the_implementations() -> None:
    source = "__global__ void f(float* x) {\n  int i = 0;\n  x[i] = 1;\n}\n"

    (finding,) = mistakes_of(IMPLEMENTATION, sanitized("memcheck", NEW), {"/mine/no_guard.cu": source})

    assert finding.where is not None
    assert (finding.where.file, finding.where.code) == ("/mine/no_guard.cu", "x[i] = 1;")

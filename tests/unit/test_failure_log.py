"""Failure logs as they are shown."""

from roofscope.app.presentation.failure_log import folded, telling_lines

FATAL = """a kernel's own line
Fatal Python error: Aborted

Current thread 0x00007f0b (most recent call first):
  File "/home/me/mine/eager.py", line 3 in run
  File "/opt/roofscope/profiling/worker/candidate/host.py", line 200 in _call
  File "<frozen runpy>", line 98 in _run_module_code
  File "/opt/roofscope/main.py", line 44 in main

Extension modules: msgspec._core, psutil._psutil_linux (total: 82)
"""

TRACEBACK = """Traceback (most recent call last):
  File "/opt/roofscope/profiling/worker/candidate/host.py", line 210, in _call
    returned = call(*inputs)
               ^^^^^^^^^^^^^
  File "/opt/roofscope/kernels/gelu/eager.py", line 7, in run
    return x.cat()
           ^^^^^
AttributeError: no cat
"""


def test_a_fatal_error_shows_the_kernels_frames_only() -> None:
    assert [line for line in telling_lines(FATAL) if line] == [
        "a kernel's own line",
        "Fatal Python error: Aborted",
        "Current thread 0x00007f0b (most recent call first):",
        '  File "/home/me/mine/eager.py", line 3 in run',
    ]


def test_a_traceback_begins_with_the_kernel() -> None:
    assert telling_lines(TRACEBACK) == [
        "Traceback (most recent call last):",
        '  File "/opt/roofscope/kernels/gelu/eager.py", line 7, in run',
        "    return x.cat()",
        "           ^^^^^",
        "AttributeError: no cat",
    ]


def test_what_is_no_traceback_stays_as_it_is() -> None:
    log = "ptxas error: no such instruction\n    at line 7\nFile not found\n"
    assert telling_lines(log) == log.splitlines()


LIBRARIES = """Traceback (most recent call last):
  File "/opt/roofscope/profiling/worker/candidate/host.py", line 210, in _call
    returned = call(*inputs)
  File "/home/me/mine/compiled.py", line 7, in run
    return made(x)
  File "/venv/lib/python3.12/site-packages/torch/a.py", line 1, in a
    return b()
  File "/venv/lib/python3.12/site-packages/torch/b.py", line 2, in b
    return c()
  File "/venv/lib/python3.12/site-packages/triton/c.py", line 3, in c
    return d()
  File "/venv/lib/python3.12/site-packages/triton/d.py", line 4, in d
    raise ValueError("no")
ValueError: no
"""


def test_chains_of_libraries_are_one_line_and_the_whole_log_is_at_hand() -> None:
    found = folded(LIBRARIES)
    assert found.text.splitlines() == [
        "Traceback (most recent call last):",
        '  File "/home/me/mine/compiled.py", line 7, in run',
        "    return made(x)",
        '  File "/venv/lib/python3.12/site-packages/torch/a.py", line 1, in a',
        "    return b()",
        "  ... 2 frames of torch, triton",
        '  File "/venv/lib/python3.12/site-packages/triton/d.py", line 4, in d',
        '    raise ValueError("no")',
        "ValueError: no",
    ]
    assert found.left_out == "Frames left out: 1 of Roofscope, 2 of libraries"


def test_a_log_without_frames_is_shown_whole() -> None:
    log = "ptxas error: no such instruction\n    at line 7"
    assert folded(log).text == log
    assert folded(log).left_out == ""

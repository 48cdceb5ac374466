"""What foreign code replaces is noticed and named."""

import subprocess
from pathlib import Path

import pytest

from roofscope.profiling.worker.candidate.integrity import Integrity
from roofscope.tests.children import python

_FIRST = """
import sys, torch, time, gc
from roofscope.profiling.worker.candidate import host
from roofscope.profiling.worker.candidate.integrity import Integrity
from roofscope.profiling.worker.timing import blocks
integrity = Integrity()
assert integrity.replaced() == (), integrity.replaced()
"""
_ATTACKS = {
    "torch.cuda.Event.elapsed_time": "torch.cuda.Event.elapsed_time = lambda self, other: 0.1",
    "torch.cuda.synchronize": "torch.cuda.synchronize = lambda device=None: None",
    "time.perf_counter_ns": "time.perf_counter_ns = lambda: 0",
    "builtins.sum": "import builtins; builtins.sum = lambda *a: 0",
    "blocks.GraphTimer.block": "blocks.GraphTimer.block = lambda self: None",
    "blocks._MOST_CALLS": "blocks._MOST_CALLS = 1",
    "blocks.make_timer": "blocks.make_timer.__code__ = (lambda *a, **k: None).__code__",
    "torch.Tensor.clone": "torch.Tensor.clone = lambda self: self",  # before the base that has it
    "torch.cuda.is_current_stream_capturing": "del torch.cuda.is_current_stream_capturing",
    "blocks.GraphTimer.replay": "blocks.GraphTimer.replay.__code__ = (lambda self: None).__code__",
    "blocks (another module)": "sys.modules[blocks.__name__] = type(sys)('blocks')",
    "Python's trace function": "sys.settrace(lambda *a: None)",
}


_PREPARE = "import sys, torch, time\nfrom roofscope.profiling.worker.timing import blocks\n"
_REPORT = "print(integrity.replaced())\n"


@pytest.mark.parametrize("name", _ATTACKS)
def test_what_is_replaced_is_named(tmp_path: Path, name: str) -> None:
    attack = tmp_path / "attack.py"
    attack.write_text(f"{_PREPARE}{_ATTACKS[name]}\n")
    load = f"exec(compile(open({str(attack)!r}).read(), {str(attack)!r}, 'exec'))\n"
    done = subprocess.run(
        python(f"{_FIRST}{load}{_REPORT}{_REPORT}"), capture_output=True, text=True, check=False
    )
    first, again = done.stdout.splitlines()
    assert name in first, done.stderr
    assert again == "()"  # once
    if name == "torch.cuda.Event.elapsed_time":
        assert "(by attack.py:3)" in first


def test_what_a_kernel_may_do_is_no_attack() -> None:
    """Own modules, torch's settings and new attributes of torch are the kernel's own business."""
    honest = (
        "import types; sys.modules['mine'] = types.ModuleType('mine')\n"
        "torch.backends.cuda.matmul.allow_tf32 = True; torch.my_cache = {}; gc.disable()\n"
    )
    done = subprocess.run(python(f"{_FIRST}{honest}{_REPORT}"), capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "()", done.stderr


def test_a_setting_that_cannot_be_read_any_more_is_not_replaced() -> None:
    """After a sticky error the driver answers nothing: the error itself says what happened."""
    readings: list[int | None] = [64, None, 64, 32]
    integrity = Integrity({"the share of L2": lambda: readings.pop(0)})
    assert integrity.replaced() == ()
    assert integrity.replaced() == ()
    assert integrity.replaced() == ("the share of L2",)

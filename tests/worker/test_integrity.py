"""What foreign code replaces is noticed and named."""

import json
import subprocess
from pathlib import Path

import pytest

from roofscope.profiling.worker.candidate.integrity import Integrity
from roofscope.tests.children import python

# Each attack in a fork of one process: to import torch takes longer than all the rest.
_EACH = """
import json, os, sys, torch, time, gc
from roofscope.profiling.worker.candidate import host
from roofscope.profiling.worker.candidate.integrity import Integrity
from roofscope.profiling.worker.timing import blocks

codes, ends = json.load(sys.stdin)
for code, end in zip(codes, ends):
    if not os.fork():
        for descriptor in (1, 2):
            os.dup2(os.open(end, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
        integrity = Integrity()
        assert integrity.replaced() == (), integrity.replaced()
        exec(code)
        sys.stdout.flush()
        os._exit(0)
    os.wait()
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
    "blocks.range": "blocks.range = lambda n: range(n // 5)",  # hides the builtin
    "sys.getprofile": "sys.getprofile = lambda: None",
    "builtins.__import__": "import builtins; builtins.__import__ = lambda *a, **k: None",
    "blocks (another module)": "sys.modules[blocks.__name__] = type(sys)('blocks')",
    "Python's trace function": "sys.settrace(lambda *a: None)",
}


_PREPARE = "import sys, torch, time\nfrom roofscope.profiling.worker.timing import blocks\n"
_REPORT = "\nprint(integrity.replaced())\n"
# Code that is held twice is compared with what it was first.
_TWICE = (
    "import types; from roofscope.profiling.worker import inputs\n"
    "mine = types.ModuleType('roofscope.profiling.zzz'); mine.f = inputs.as_tuple\n"
    "sys.modules[mine.__name__] = mine\n"
    "inputs.as_tuple.__code__ = (lambda outputs: outputs).__code__\n"
    "integrity.extend()\n"
)
# Own modules, torch's settings and new attributes of torch are the kernel's own business.
_HONEST = (
    "import types; sys.modules['mine'] = types.ModuleType('mine')\n"
    "torch.backends.cuda.matmul.allow_tf32 = True; torch.my_cache = {}; gc.disable()\n"
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each attack's process printed: what is replaced, and what is when it is asked again."""
    folder = tmp_path_factory.mktemp("attacks")
    codes = {"": _HONEST, "held twice": _TWICE}
    for number, (name, attack) in enumerate(_ATTACKS.items()):
        path = folder / str(number) / "attack.py"
        path.parent.mkdir()
        path.write_text(f"{_PREPARE}{attack}\n")
        codes[name] = f"exec(compile(open({str(path)!r}).read(), {str(path)!r}, 'exec'))"
    ends = [str(folder / f"{number}.txt") for number in range(len(codes))]
    told = json.dumps(([f"{code}{_REPORT}{_REPORT}" for code in codes.values()], ends))
    subprocess.run(python(_EACH), input=told, text=True, check=True)
    return {name: Path(end).read_text().splitlines() for name, end in zip(codes, ends, strict=True)}


@pytest.mark.parametrize("name", _ATTACKS)
def test_what_is_replaced_is_named(said: dict[str, list[str]], name: str) -> None:
    first, again = said[name]
    assert name in first
    assert again == "()"  # once
    if name == "torch.cuda.Event.elapsed_time":
        assert "(by attack.py:3)" in first


def test_what_was_replaced_before_more_is_remembered_is_named(said: dict[str, list[str]]) -> None:
    first, again = said["held twice"]
    assert "inputs.as_tuple" in first
    assert again == "()"


def test_what_a_kernel_may_do_is_no_attack(said: dict[str, list[str]]) -> None:
    assert said[""] == ["()", "()"]


def test_a_setting_that_cannot_be_read_any_more_is_not_replaced() -> None:
    """After a sticky error the driver answers nothing: the error itself says what happened."""
    readings: list[int | None] = [64, None, 64, 32]
    integrity = Integrity({"the share of L2": lambda: readings.pop(0)})
    assert integrity.replaced() == ()
    assert integrity.replaced() == ()
    assert integrity.replaced() == ("the share of L2",)

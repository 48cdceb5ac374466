"""Planted cheats: kernels ``y = 2x`` that are faster than they should be, each in one way, and an honest one.

Every source is the ``eager.py`` of a kernel's folder. Some count their calls, as a cheat would behave while
it is observed: their first calls, which verify and settle, are honest.
"""

from msgspec import Struct

SPEC = """
from roofscope import Axis, Dtype, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
SPEC = KernelSpec(
    name="{name}", title="{title}", formula="y = 2x", axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),), outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula("n", "n*s", "n*s"), tolerance=Tolerance(1e-6, 1e-3, 1e-2),
    presets=(Preset("cpu", {{"n": 65536}}), Preset("cuda", {{"n": 4194304}})),
    odd_sizes=({{"n": 1237}},), large_magnitude=100.0, dtypes=(Dtype.FLOAT32,),
)
"""
REFERENCE = "def run(x):\n    return x * 2\n"
HONEST = REFERENCE


class Trap(Struct, frozen=True):
    """One planted cheat. ``name`` is its folder's."""

    name: str
    title: str
    source: str
    needs_gpu: bool = False


_SIDE_STREAM = """
import torch
side = torch.cuda.Stream()
def run(x):
    with torch.cuda.stream(side):
        return x * 2
"""

# Forked from the current stream but never joined to it: a capture refuses that.
_UNJOINED_STREAM = """
import torch
side = torch.cuda.Stream()
def run(x):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x
        for _ in range(8):
            y = x * 2
    return y
"""

_STALE_MEMORY = """
import torch
def run(x):
    return torch.empty_like(x)
"""

_BY_POINTER = """
kept = {}
def run(x):
    key = (x.data_ptr(), len(x))
    if key not in kept:
        kept[key] = (x, x * 2)
    return kept[key][1]
"""

# Work that is worth remembering: forty passes, where computing the key takes one.
_BY_CONTENT = """
kept = {}
def run(x):
    key = (len(x), x.sum().item())
    if key not in kept:
        y = x
        for _ in range(40):
            y = x * 2
        kept[key] = y
    return kept[key]
"""

_MUTATED_INPUT = """
def run(x):
    y = x * 2
    x.zero_()
    return y
"""

_MUTATED_LATER = """
calls = 0
def run(x):
    global calls
    calls += 1
    y = x * 2
    if calls > 5:
        x.mul_(0.5)
    return y
"""

_LAZY = """
import torch
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        def plain(value):
            return value.as_subclass(torch.Tensor) * 2 if isinstance(value, Lazy) else value
        return function(*map(plain, arguments), **{k: plain(v) for k, v in (named or {}).items()})
def run(x):
    return x.as_subclass(Lazy)
"""

_THREAD = """
import threading, time
import torch
def run(x):
    y = torch.empty_like(x)
    def work():
        time.sleep(0.001)
        y.copy_(x * 2)
    threading.Thread(target=work).start()
    return y
"""

_DOWNGRADE = """
def run(x):
    return (x.half() * 2).float()
"""

# A value is fetched, so that no graph can capture the call and the tuning lies in the timed region.
_TUNING = """
import torch
calls = 0
def run(x):
    global calls
    calls += 1
    if calls % 7 == 0:
        torch.compiler.reset()
    tuned = torch.compile(lambda x: x * 2, backend="eager")
    y = tuned(x)
    float(y[:1].sum())
    return y
"""

TRAPS = (
    Trap("side_stream", "work on a side stream", _SIDE_STREAM, needs_gpu=True),
    Trap("unjoined_stream", "work on a forked stream that is never joined", _UNJOINED_STREAM, needs_gpu=True),
    Trap("stale_memory", "no work, stale memory returned", _STALE_MEMORY),
    Trap("by_pointer", "result cached by pointer", _BY_POINTER),
    Trap("by_content", "result cached by content", _BY_CONTENT),
    Trap("mutated_input", "input changed", _MUTATED_INPUT),
    Trap("mutated_later", "input changed from the sixth call on", _MUTATED_LATER),
    Trap("lazy_tensor", "work put off until the result is read", _LAZY),
    Trap("thread", "work put off to a thread", _THREAD),
    Trap("downgrade", "float32 computed in float16", _DOWNGRADE),
    Trap("tuning", "tuned inside the timed region", _TUNING),
)

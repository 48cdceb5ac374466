"""Roofscope's one door for users: what a kernel's files and a notebook import.

Nothing behind it is loaded before it is asked for: importing ``roofscope`` takes no torch and no numpy.

A ``spec.py`` needs ``KernelSpec`` and what it is made of::

    from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

and for tensors that are not all alike ``Element``, ``Fill``, ``Multiply``, ``Pipe`` and ``Dtype``. An
implementation raises ``Refusal`` for what it cannot do; one in CUDA C++ launches by a ``CudaProgram`` and
makes TMA's descriptors by ``tensor_map``. ``kernels/README.md`` shows each at work. Constants that a run may
choose are ``BLOCK = Choice(64, 128, 256)``: ``docs/parameters.md``.

A script, a notebook or a prompt measures a function in one line, in a process of its own::

    roofscope.measure(my_softmax, x, reference="torch.softmax(x, -1)")
    roofscope.compare(my_softmax, torch_softmax, x)

``docs/measure.md`` says what travels there and how its work is derived.

A notebook reads sessions, files or whole folders, as a table of pandas with one row a point::

    import roofscope

    points = roofscope.load("tonight.roofscope", "history/").frame()
    points[["kernel", "implementation", "size_n", "median_s", "speed_up", "speed_up_verdict"]]

Each axis is a column ``size_<axis>``, each label of a session ``label_<key>``; units are SI and in the
names. A file named that cannot be read raises ``SessionError``; of a folder, such files are left out and
``load(...).problems`` says why. ``docs/session-file.md`` has the columns and recipes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roofscope.app.notebook.measuring import MeasureError as MeasureError
    from roofscope.app.notebook.measuring import compare as compare
    from roofscope.app.notebook.measuring import measure as measure
    from roofscope.app.notebook.result import Compared as Compared
    from roofscope.app.notebook.result import NotMeasured as NotMeasured
    from roofscope.app.notebook.result import Result as Result
    from roofscope.profiling.analysis.sessions import Sessions as Sessions
    from roofscope.profiling.analysis.sessions import load as load
    from roofscope.profiling.planning.parameters import Choice as Choice
    from roofscope.profiling.planning.spec import Axis as Axis
    from roofscope.profiling.planning.spec import Dtype as Dtype
    from roofscope.profiling.planning.spec import Element as Element
    from roofscope.profiling.planning.spec import Fill as Fill
    from roofscope.profiling.planning.spec import KernelSpec as KernelSpec
    from roofscope.profiling.planning.spec import Multiply as Multiply
    from roofscope.profiling.planning.spec import Pipe as Pipe
    from roofscope.profiling.planning.spec import Preset as Preset
    from roofscope.profiling.planning.spec import TensorSpec as TensorSpec
    from roofscope.profiling.planning.spec import Tolerance as Tolerance
    from roofscope.profiling.planning.spec import WorkFormula as WorkFormula
    from roofscope.profiling.results.session_reader import SessionError as SessionError
    from roofscope.profiling.worker.build.providers.cuda import Argument as Argument
    from roofscope.profiling.worker.build.providers.cuda import CudaProgram as CudaProgram
    from roofscope.profiling.worker.build.tensor_map import needs_hopper as needs_hopper
    from roofscope.profiling.worker.build.tensor_map import tensor_map as tensor_map
    from roofscope.profiling.worker.failures import Refusal as Refusal

__version__ = "0.1.0"

_SPEC = "roofscope.profiling.planning.spec"
_CUDA = "roofscope.profiling.worker.build.providers.cuda"
_TENSOR_MAP = "roofscope.profiling.worker.build.tensor_map"
_SESSIONS = "roofscope.profiling.analysis.sessions"
_MEASURING = "roofscope.app.notebook.measuring"
_RESULT = "roofscope.app.notebook.result"
_HOMES = {
    **dict.fromkeys(("MeasureError", "compare", "measure"), _MEASURING),
    **dict.fromkeys(("Compared", "NotMeasured", "Result"), _RESULT),
    **dict.fromkeys(("Axis", "Dtype", "Element", "Fill", "KernelSpec", "Multiply", "Pipe"), _SPEC),
    **dict.fromkeys(("Preset", "TensorSpec", "Tolerance", "WorkFormula"), _SPEC),
    "Choice": "roofscope.profiling.planning.parameters",
    **dict.fromkeys(("Sessions", "load"), _SESSIONS),
    "SessionError": "roofscope.profiling.results.session_reader",
    "Refusal": "roofscope.profiling.worker.failures",
    **dict.fromkeys(("Argument", "CudaProgram"), _CUDA),
    **dict.fromkeys(("needs_hopper", "tensor_map"), _TENSOR_MAP),
}


def __getattr__(name: str) -> Any:
    """Loads a public name from its home at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

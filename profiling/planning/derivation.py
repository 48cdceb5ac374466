"""Asks what a reference computes and moves: its compulsory work, derived and not stated by a person.

The reference is foreign code, so a child process runs it, with torch, which this program does not import.
"""

import subprocess
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.paths import module_command
from roofscope.profiling.planning.spec import Dtype, Multiply, Pipe, TensorSpec, WorkFormula
from roofscope.profiling.process_tree import end_group

PATIENCE_S = 120.0  # for a reference that loops over its elements in Python
_CHILD = "roofscope.profiling.worker.derive"


class DeriveError(Exception):
    """The work cannot be derived; the text is one sentence for the user."""


class Question(Struct, frozen=True):
    """A reference, as a function in a Python file, and the tensors that it is called with, in order.

    Dimensions are formulas over ``sizes``, or numbers. ``subject`` is a file whose ``run`` is to be measured:
    it is asked only which element types it returns, where it can be asked without a device.
    """

    path: str
    inputs: tuple[TensorSpec, ...]
    dtype: Dtype = Dtype.FLOAT32
    sizes: dict[str, int] = {}
    function: str = "run"
    subject: str = ""


class Derivation(Struct, frozen=True):
    """What a KernelSpec needs. ``work.derived`` says how it was found; see docs/measure.md."""

    work: WorkFormula
    outputs: tuple[TensorSpec, ...]
    pipe: Pipe = Pipe.VECTOR
    multiplies: Multiply | None = None
    uncounted: tuple[
        str, ...
    ] = ()  # operations that are called and whose FLOPs are not known, such as aten.sort


class Answer(Struct, frozen=True, omit_defaults=True):
    """What the child says."""

    derivation: Derivation | None = None
    fault: str = ""  # a sentence


def derive(question: Question, patience_s: float = PATIENCE_S) -> Derivation:
    """Run the reference on tensors without contents. The file must be one that may run.

    Raises DeriveError where the reference fails, ends its process or does not end.
    """
    command = [*module_command(_CHILD), str(patience_s / 2)]
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as child:
            is_late = False
            try:
                said = child.communicate(msgspec.json.encode(question), patience_s)[0]
            except subprocess.TimeoutExpired:
                is_late = True
                end_group(child.pid)
                said = child.communicate()[0]
            finally:
                end_group(child.pid)
    except OSError as error:
        raise DeriveError(f"No process can be started to derive the work: {error.strerror}.") from error
    try:
        answer = decode(_last_line(said), Answer)
    except UnreadableError:
        if is_late:
            raise DeriveError(
                f"The reference does not end within {patience_s:g} s, without contents."
            ) from None
        raise DeriveError(
            f"The reference ended the process that runs it ({_ending(child.returncode)}), so that its work "
            "cannot be derived."
        ) from None
    if answer.derivation is None:
        raise DeriveError(answer.fault)
    return answer.derivation


def tensor_bytes(tensors: Sequence[TensorSpec]) -> str:
    """A formula of the bytes that these tensors hold, over the axes and ``s``."""
    return " + ".join(_bytes_of(tensor) for tensor in tensors) or "0"


def _bytes_of(tensor: TensorSpec) -> str:
    factors = [part if part.isalnum() else f"({part})" for part in tensor.shape if part != "1"]
    size = tensor.element.itemsize if tensor.element else "s"
    return "*".join([*factors, str(size)])


def _last_line(said: bytes) -> bytes:
    return said.strip().rpartition(b"\n")[2]


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code and code < 0 else f"exit code {code}"

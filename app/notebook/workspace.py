"""Functions and arguments as a kernel's folder, in the form that the engine judges."""

import pprint
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from roofscope.app.notebook.arguments import CONTENTS, Arguments
from roofscope.app.notebook.travelling import SUBJECT, Luggage, call_name
from roofscope.profiling.planning.derivation import Question, derive
from roofscope.profiling.planning.spec import KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

PRESET = "small"
# Wide enough for a sum of some thousand terms: a function whose arithmetic is known deserves a narrower one.
TOLERANCE = Tolerance(float32=1e-5, float16=4e-3, bfloat16=2e-2)
_SPEC = '''"""Written by roofscope.measure."""

import msgspec

from roofscope import KernelSpec

SPEC = msgspec.convert(
    {data},
    KernelSpec,
)
'''
_NARROW = """
_dtypes = {dtypes}

def run({signature}):
    inputs = ({signature},)
    try:
        return _run(*inputs)
    except RuntimeError:  # such as weights of its own in another type than float64
        return _run(*(
            one.to(getattr(__import__("torch"), dtype)) for one, dtype in zip(inputs, _dtypes, strict=True)
        ))
"""
_DERIVE = """
def derive(*inputs):
    import pickle
    from pathlib import Path

    with Path(__file__).with_name("{contents}").open("rb") as file:
        return tuple(one.to(like.device) for one, like in zip(pickle.load(file), inputs, strict=True))
"""


class Workspace(Struct, frozen=True):
    """A kernel's folder, and which of its versions is which function."""

    folder: Path
    spec: KernelSpec
    stems: tuple[str, ...]  # of the functions, in order


class NoReference(Exception):
    """A Triton kernel without anything to judge it by."""


def write(
    root: Path,
    functions: tuple[Callable[..., Any], ...],
    reference: Callable[..., Any] | str | None,
    arguments: Arguments,
    tolerance: float | None,
    *,
    keeps_contents: bool,
) -> Workspace:
    """Raises SourceError, NoReference and DeriveError."""
    name = call_name(functions[0])
    folder = root / name
    folder.mkdir()
    stems: list[str] = []
    for function in functions:
        luggage = Luggage()
        luggage.pack(SUBJECT, function)
        stem = _stem(luggage, function, stems)
        stems.append(stem)
        _write_module(folder, stem, luggage, arguments, f"{call_name(function)}, as it was found.")
    _write_reference(folder, functions[0] if reference is None else reference, arguments, keeps_contents)
    question = Question(
        path=str(folder / "reference.py"),
        function="_run",
        inputs=fixed(arguments),
        dtype=arguments.dtype,
        subject=str(folder / f"{stems[0]}.py"),
    )
    spec = _spec(name, question, arguments, tolerance)
    data = pprint.pformat(msgspec.to_builtins(spec), width=100, sort_dicts=False)
    (folder / "spec.py").write_text(_SPEC.format(data=data.replace("\n", "\n    ")), encoding="utf-8")
    return Workspace(folder, spec, tuple(stems))


def fixed(arguments: Arguments) -> tuple[TensorSpec, ...]:
    """The inputs with numbers for their dimensions: which of them belong together is not known of tensors."""
    return tuple(
        msgspec.structs.replace(one, shape=tuple(str(arguments.sizes.get(part, part)) for part in one.shape))
        for one in arguments.inputs
    )


def _stem(luggage: Luggage, function: Callable[..., Any], taken: list[str]) -> str:
    stem = f"{'triton' if luggage.uses_triton else 'eager'}_{call_name(function)}"
    return f"{stem}_{len(taken)}" if stem in taken else stem


def _spec(name: str, question: Question, arguments: Arguments, tolerance: float | None) -> KernelSpec:
    found = derive(question)
    return KernelSpec(
        name=name,
        title=name,
        formula="",
        axes=arguments.axes,
        inputs=arguments.inputs,
        outputs=found.outputs,
        work=WorkFormula(
            found.work.flop_count, found.work.read_bytes, found.work.write_bytes, found.work.derived
        ),
        tolerance=Tolerance(tolerance, tolerance, tolerance) if tolerance else TOLERANCE,
        presets=(Preset(PRESET, arguments.sizes),),
        odd_sizes=(),
        large_magnitude=1.0,  # nothing is known of what the function bears
        pipe=found.pipe,
        dtypes=(arguments.dtype,),
        multiplies=found.multiplies,
    )


def _write_module(folder: Path, stem: str, luggage: Luggage, arguments: Arguments, purpose: str) -> None:
    arguments.pack(luggage)
    signature = arguments.signature()
    run = f"\n\ndef run({signature}):\n{arguments.views()}    return {SUBJECT}({arguments.call()})\n"
    text = luggage.text(purpose, folder, stem) + run
    (folder / f"{stem}.py").write_text(text, encoding="utf-8")


def _write_reference(
    folder: Path, reference: Callable[..., Any] | str, arguments: Arguments, keeps_contents: bool
) -> None:
    luggage = Luggage()
    arguments.pack(luggage)
    if isinstance(reference, str):
        body = f"    return {reference.strip()}\n"
        head = "import torch\nimport torch.nn.functional as F\n"
        bound = "".join(f"    {one.name} = _{one.name}\n" for one in arguments.each if one.tensor is None)
    else:
        luggage.pack(SUBJECT, reference)
        if luggage.uses_triton:
            raise NoReference(
                f"{call_name(reference)} launches Triton kernels, which cannot be judged by themselves; give "
                "reference=, a function of torch or an expression of the parameters."
            )
        body, head, bound = f"    return {SUBJECT}({arguments.call()})\n", "", ""
    signature = arguments.signature()
    dtypes = [one.element_at(arguments.dtype) for one in arguments.inputs]
    text = luggage.text("What the results are judged by.", folder, "reference") + head
    text += f"\n\ndef _run({signature}):\n{arguments.views()}{bound}{body}"
    text += _NARROW.format(signature=signature, dtypes=dtypes)
    if keeps_contents:
        text += _DERIVE.format(contents=CONTENTS)
        arguments.write_contents(folder)
    (folder / "reference.py").write_text(text, encoding="utf-8")

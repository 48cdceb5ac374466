"""Checks, before anything is measured, that a spec which a person wrote can be planned and stored."""

from collections.abc import Mapping

import msgspec

from roofscope.profiling.planning.formula import FormulaError
from roofscope.profiling.planning.spec import Dtype, KernelSpec, size_text


def spec_error(spec: KernelSpec) -> str | None:
    """What is wrong with a spec, in a clause; None if nothing is.

    A msgspec class accepts any arguments; it checks types only when it reads a file.
    """
    try:
        msgspec.convert(msgspec.to_builtins(spec), KernelSpec)
    except (msgspec.MsgspecError, TypeError) as error:
        return str(error).replace("`", "").replace("$.", "")
    chosen = [*(preset.sizes for preset in spec.presets), *spec.odd_sizes[:1]]
    for sizes in (*chosen, *spec.odd_sizes, *spec.sweep):
        if problem := spec.problem_with(sizes):
            return problem.rstrip(".")
    for sizes in chosen:  # not every size, which would take nearly as long as the rest of the scan
        try:
            _evaluate(spec, sizes)
        except FormulaError as error:
            return f"{str(error).rstrip('.')} (at {size_text(sizes)})"
    return None


def _evaluate(spec: KernelSpec, sizes: Mapping[str, int]) -> None:
    for tensor in (*spec.inputs, *spec.outputs):
        if any(dimension < 0 for dimension in spec.shape(tensor, sizes)):
            raise FormulaError(f"The tensor {tensor.name!r} has a negative dimension.")
    spec.work_at(sizes, Dtype.FLOAT32)

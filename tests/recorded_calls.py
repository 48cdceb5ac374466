"""Calls of operators as Kineto records them, written by hand, and the work that is found in them."""

from typing import Any

from roofscope.profiling.traces.work.formulas import work_of

BF16, FP16, FP32, FP8 = "c10::BFloat16", "c10::Half", "float", "c10::Float8_e4m3fn"
Argument = tuple[list[int], str] | str | None  # a tensor, a number or a list as text, or nothing


def strides_of(dims: list[int]) -> list[int]:
    found = [1]
    for size in reversed(dims[1:]):
        found.insert(0, found[0] * size)
    return found if dims else []


def recorded(*arguments: Argument, strides: dict[int, list[int]] | None = None) -> dict[str, Any]:
    """As Kineto writes them."""
    dims, steps, types, concrete = [], [], [], []
    for at, argument in enumerate(arguments):
        is_tensor = isinstance(argument, tuple)
        dims.append(argument[0] if is_tensor else [])
        steps.append((strides or {}).get(at, strides_of(argument[0])) if is_tensor else [])
        is_list = isinstance(argument, str) and argument.startswith("[")
        types.append(argument[1] if is_tensor else "ScalarList" if is_list else "Scalar" if argument else "")
        concrete.append(argument if isinstance(argument, str) else "")
    return {"Input Dims": dims, "Input Strides": steps, "Input type": types, "Concrete Inputs": concrete}


def work(name: str, *arguments: Argument, **more: Any) -> tuple[int | None, int | None, int | None]:
    found = work_of(f"aten::{name}", recorded(*arguments, **more))
    return found.flop_count, found.read_bytes, found.write_bytes

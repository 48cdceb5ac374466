"""At which sizes an implementation works, as its own file states it.

A Python file has a line ``DOMAIN = "cols % 8 == 0 and cols >= 64"``, a CUDA extension the same after ``//``.
The condition is over the kernel's axes and ``s``, the bytes an element. It is read, never run.
"""

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

from roofscope.profiling.planning.formula import FormulaError, condition_fault, holds
from roofscope.profiling.planning.spec import Dtype, Implementation, KernelSpec, Workload, size_text

_NAME = "DOMAIN"
_LONGEST = 1 << 18  # characters of Python to be parsed
_IN_PYTHON = re.compile(rf"^{_NAME}\b", re.MULTILINE)
_IN_CPP = re.compile(rf'^//\s*{_NAME}\s*=\s*"([^"\n]*)"', re.MULTILINE)


class DomainError(ValueError):
    """A file states a domain that cannot be used; the text is a clause."""


def read_domain(name: str, source: str, spec: KernelSpec) -> str:
    """The condition that a file of this name states; "" where it states none. Raises DomainError.

    A file that Python cannot read states none: its build says what is wrong.
    """
    domain = _in_cpp(source) if name.endswith(".cu") else _in_python(source)
    return "" if domain is None else checked_domain(domain, spec)


def checked_domain(domain: str, spec: KernelSpec) -> str:
    """A condition as it is kept. Raises DomainError where it is none over the spec's axes."""
    if not domain.strip():
        raise DomainError(f"its {_NAME} is empty; leave the line out where every size works")
    if fault := condition_fault(domain, {*(axis.name for axis in spec.axes), "s"}):
        raise DomainError(f"its {_NAME} cannot be used: {fault.rstrip('.')}")
    return " ".join(domain.split())


def is_inside(domain: str, sizes: Mapping[str, int], dtype: Dtype) -> bool:
    """Whether these sizes are in a domain; a condition that cannot be evaluated there is not met."""
    if not domain:
        return True
    try:
        return holds(domain, {**sizes, "s": dtype.itemsize})
    except FormulaError:  # such as a division by an axis of size 0
        return False


def outside(implementation: Implementation, workload: Workload) -> str | None:
    """One sentence where an implementation's domain leaves the workload out, else None."""
    if is_inside(implementation.domain, workload.sizes, workload.dtype):
        return None
    where = workload.size_label
    if re.search(r"\bs\b", implementation.domain):
        where += f" in {workload.dtype.label} (s={workload.dtype.itemsize})"
    return f"{implementation.title} takes only {implementation.domain}, which {where} does not meet."


def first_inside(domain: str, choices: tuple[dict[str, int], ...], dtype: Dtype) -> dict[str, int] | None:
    """The first of these sizes that a domain has; None where it has none of them."""
    return next((sizes for sizes in choices if is_inside(domain, sizes, dtype)), None)


def none_inside(domain: str, choices: tuple[dict[str, int], ...]) -> str:
    """A sentence that no odd size is in the domain; it names the first."""
    return f"No odd size of the spec is in its domain {domain}, not even {size_text(choices[0])}."


def _in_python(source: str) -> str | None:
    if not _IN_PYTHON.search(source):  # nearly all: reading them as Python takes most of a scan
        return None
    if len(source) > _LONGEST:
        raise DomainError(f"it states a {_NAME} and has more than {_LONGEST >> 10} KiB")
    return _stated(source)


@lru_cache(maxsize=1024)  # for the next scan, of nearly the same files
def _stated(source: str) -> str | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: str | None = None
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == _NAME:
                found = _text(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name == _NAME:
                found = _text(value)
            case _:
                pass
    return found


def _text(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    raise DomainError(f"its {_NAME} on line {value.lineno} is no text; write the condition in quotes")


def _in_cpp(source: str) -> str | None:
    match = _IN_CPP.search(source)
    return match[1] if match else None

"""The C++ round a user's function of tensors: an operator of PyTorch that calls it under any name."""

import ast
import re

from msgspec.structs import replace

from roofscope.profiling.planning.one_file.offers import Kind, Offer, Parameter

# An operator in a namespace of its own builds in half a minute; pybind11 behind nvcc takes minutes.
_UNIT = """\
#include "{source}"
#include <torch/library.h>
TORCH_LIBRARY({name}, library) {{ library.def("run", {function}); }}
"""


def unit_text(source: str, name: str, offer: Offer | None = None) -> str:
    """What is compiled. Operators take numbers as int64_t and double only, so others are converted."""
    if offer is None:
        return _UNIT.format(source=source, name=name, function="&run")
    parameters: list[str] = []
    arguments: list[str] = []
    for number, parameter in enumerate(offer.parameters):
        kind = _in_operator(parameter.type)
        parameters.append(f"{kind} a{number}")
        arguments.append(_argument(f"a{number}", parameter))
    # With ``::``, because C++ would also look in at:: for a function of tensors: at::add.
    body = f"::{offer.namespace}{offer.name}({', '.join(arguments)})"
    function = f"[]({', '.join(parameters)}) {{ return {body}; }}"
    unit = _UNIT.format(source=source, name=name, function=function)
    # load_inline puts this in front of what it compiles, so that files for it have no such line.
    return f"#include <torch/types.h>\n{unit}" if offer.kind is Kind.EXTENSION else unit


def as_called(offer: Offer, call: str) -> Offer:
    """Without the parameters that the call leaves to their defaults, which are expressions of C++."""
    try:
        node = ast.parse(call.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return offer  # the call's own build says so
    given = len(node.args) if isinstance(node, ast.Call) else len(offer.parameters)
    if all(parameter.default for parameter in offer.parameters[given:]):
        return replace(offer, parameters=offer.parameters[:given])
    return offer


def _argument(name: str, parameter: Parameter) -> str:
    """What the function gets of an operator's argument."""
    if parameter.is_tensor:
        return name
    plain = re.sub(r"\bconst\b|&|\b__restrict__\b|\b__restrict\b", "", parameter.type).strip()
    if parameter.is_pointer:
        return f"static_cast<{plain}>({name}.data_ptr())"
    return f"static_cast<{plain}>({name})"


def _in_operator(kind: str) -> str:
    if "*" in kind:
        return "at::Tensor"
    if "vector" in kind:
        return "std::vector<at::Tensor>"
    if "optional" in kind:
        return "std::optional<at::Tensor>"
    if "Tensor" in kind:
        return "at::Tensor"
    if "bool" in kind:
        return "bool"
    if "string" in kind:
        return "std::string"
    return "double" if re.search(r"float|double", kind) else "int64_t"

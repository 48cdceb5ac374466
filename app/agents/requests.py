"""What each tool is asked with: a struct, of which the schema that a client reads is made.

A fault of the arguments is one sentence. New arguments come last and have a default.
"""

import re
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

Asked = TypeVar("Asked", bound=Struct)

_LONGEST_WORDS = 300
_OPTIONS = {  # of the command line, in what the engine says; the longest first
    "--reference EXPRESSION, in torch, or --reference FILE:NAME": "reference, in torch or as FILE:NAME",
    "(roofscope ceilings)": "(measure_file with ceilings)",
    "--shared-gpu": "shared_gpu",
    "--reference": "reference",
    "--input": "inputs",
    "--exact": "exact",
    "--call": "call",
    "--grid": "grid",
    "--block": "block",
}
MOST_SOURCE = 1 << 20  # characters of a kernel's source


class AgentFault(Exception):
    """A tool did nothing, or not what it was asked for; the text is one sentence with what to do."""


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


PointNumber = Annotated[int, Meta(description="A point of the session, by its number.", ge=1)]


class HereRequest(Request, frozen=True, kw_only=True):
    kernel: Annotated[
        str,
        Meta(description="A kernel of the library, for its implementations, sizes and types; all by name."),
    ] = ""


class MeasureRequest(Request, frozen=True, kw_only=True):
    path: Annotated[
        str,
        Meta(description="A file on this machine, .py, .cu, .cpp or .cc, as it stands. Give this or source."),
    ] = ""
    source: Annotated[
        str,
        Meta(description="The text of a file, in the place of path. It is kept in the session's folder."),
    ] = ""
    name: Annotated[
        str,
        Meta(
            description="Of source: a file name such as gelu.py. Keep one name for one kernel: each edit is "
            "then a version in its history."
        ),
    ] = "kernel.py"
    function: Annotated[
        str, Meta(description="Which function of the file is called; needed where it has several.")
    ] = ""
    reference: Annotated[
        str,
        Meta(
            description="What is right: a torch expression of the inputs, such as "
            "torch.nn.functional.gelu(x, approximate='tanh'), or FILE.py:FUNCTION beside the file. "
            "Kept beside the file, so that it is needed once."
        ),
    ] = ""
    inputs: Annotated[
        tuple[str, ...],
        Meta(description='The tensors, in order: ["x=4096x1024:bf16", "bias=1024"]; float32 where no type.'),
    ] = ()
    call: Annotated[
        str, Meta(description="How it is called, where more than the tensors is needed: f(x, 1e-5).")
    ] = ""
    grid: Annotated[str, Meta(description="Blocks of a bare __global__ kernel, as in cdiv(n, 256).")] = ""
    block: Annotated[str, Meta(description="Its threads: 256, or (16, 16).")] = ""
    beside: Annotated[
        bool,
        Meta(description="Measure eager and compiled versions of the reference in turn with it, to compare."),
    ] = True
    exact: Annotated[
        bool,
        Meta(description="0.25 % intervals instead of 1 %, and how the time follows the clock; longer."),
    ] = False
    ceilings: Annotated[
        bool, Meta(description="Measure the device's ceilings first where none are known: half a minute.")
    ] = True
    deadline_s: Annotated[
        float, Meta(description="Stop after so many seconds, and say so.", ge=1, le=3600)
    ] = 600.0
    shared_gpu: Annotated[
        bool, Meta(description="Measure also where somebody else computes on the GPU; points are flagged.")
    ] = False


class WhyRequest(Request, frozen=True, kw_only=True):
    point: Annotated[int, Meta(description="Its number; 0 for the newest.", ge=0)] = 0


class CompareRequest(Request, frozen=True, kw_only=True):
    a: Annotated[int, Meta(description="The point that is the baseline, by its number.", ge=1)]
    b: Annotated[int, Meta(description="The point that is held against it.", ge=1)]
    in_turn: Annotated[
        bool,
        Meta(
            description="Measure both sources again, round by round on the same inputs: shows what "
            "differs by less than two runs do, some percent."
        ),
    ] = False
    exact: Annotated[bool, Meta(description="Of in_turn: 0.25 % intervals instead of 1 %.")] = False
    deadline_s: Annotated[
        float, Meta(description="Stop after so many seconds, and say so.", ge=1, le=3600)
    ] = 600.0
    shared_gpu: Annotated[
        bool, Meta(description="Measure also where somebody else computes on the GPU; points are flagged.")
    ] = False


class SessionRequest(Request, frozen=True, kw_only=True):
    kernel: Annotated[str, Meta(description="List points of this kernel only.")] = ""
    limit: Annotated[int, Meta(description="The newest so many points.", ge=1, le=1000)] = 40
    point: Annotated[int, Meta(description="The point that note, tag and pin are of.", ge=0)] = 0
    note: Annotated[
        str | None,
        Meta(description="Write this down of the point, such as what was tried; empty deletes."),
    ] = None
    tag: Annotated[str, Meta(description="Give the point a tag.")] = ""
    pin: Annotated[
        bool | None, Meta(description="Pin it: speed-ups of its workload are then over it; false unpins.")
    ] = None
    rename: Annotated[
        str, Meta(description="A new name of the session's file, in the same folder, without an ending.")
    ] = ""


def in_arguments(text: str) -> str:
    """What the engine says in the words of the command line, with the names of the arguments."""
    for option, argument in _OPTIONS.items():
        text = text.replace(option, argument)
    return text


def request_of(tool: str, arguments: object, kind: type[Asked]) -> Asked:
    """Raises AgentFault."""
    try:
        return msgspec.convert(arguments if arguments is not None else {}, kind)
    except msgspec.MsgspecError as error:
        words = re.sub(r"\$\.?", "", str(error).replace("`", ""))
        words = words.removesuffix(" - at ").rstrip(".")
        said = f"{words[:1].lower()}{words[1:]}"[:_LONGEST_WORDS]
        raise AgentFault(f"The arguments of {tool} cannot be used: {said}.") from None
    except (RecursionError, MemoryError):
        raise AgentFault(f"The arguments of {tool} cannot be used: they are nested too deep.") from None


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct, an object at its top, as the protocol wants it."""
    (top,), definitions = msgspec.json.schema_components([kind])
    own = definitions.pop(top["$ref"].rpartition("/")[2].replace("~1", "/")) if "$ref" in top else top
    own.pop("title", None)
    if definitions:
        own["$defs"] = definitions
    return _local(own)


def _local(value: Any) -> Any:
    """References as they stand where the definitions lie in the schema itself; msgspec writes them so."""
    if isinstance(value, dict):
        return {key: _local(one) for key, one in value.items()}
    return [_local(one) for one in value] if isinstance(value, list) else value

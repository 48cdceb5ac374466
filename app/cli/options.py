"""Options that several commands share."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.choice import dtype_of
from roofscope.profiling.paths import ASSETS, SUFFIX
from roofscope.profiling.planning.spec import Dtype


def shipped_too(named: Path | None) -> Path | None:
    """The file, or where there is none of a bare name, the session of that name that is shipped."""
    if named is None:
        return None
    shipped = ASSETS / "sessions" / f"{named.name.removesuffix(SUFFIX)}{SUFFIX}"
    with suppress(OSError):  # a name that is too long for a file
        if named == Path(named.name) and not named.exists() and shipped.is_file():
            return shipped
    return named


# Whatever command it is: those that would write into a session refuse one that came with the program.
SessionFile = Annotated[
    Path,
    typer.Argument(
        metavar="SESSION",
        help="A .roofscope file, or the name of one that came with the program, such as h200.",
        callback=shipped_too,
    ),
]
POINT_HELP = "Its number in the session, or its implementation, such as softmax/triton_online."
PointWords = Annotated[str, typer.Argument(metavar="POINT", help=POINT_HELP)]
PointSizes = Annotated[
    list[str] | None,
    typer.Option("--size", metavar="AXIS=N[,...]", help="Of the point that is named; the largest if none."),
]
DeviceName = Annotated[
    str | None,
    typer.Option("--device", metavar="NAME", help="cuda:0, cpu; the first GPU if there is one."),
]
DeviceNames = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="cuda:0, cpu; several at once with commas, all for every GPU; the first GPU if there is one.",
    ),
]
SharedGpu = Annotated[
    bool,
    typer.Option("--shared-gpu", help="Measure also where somebody else computes; points are marked."),
]
KernelFolders = Annotated[
    list[Path] | None,
    typer.Option("--kernels", metavar="DIR", help="One more folder of kernels, or of one; may be repeated."),
]
TrustFolders = Annotated[
    bool,
    typer.Option(
        "--trust", help="Run what the folders of --kernels hold, whoever owns them; asked once otherwise."
    ),
]
DtypeName = Annotated[
    Dtype | None,
    typer.Option(
        "--dtype", parser=dtype_of, metavar="TYPE", help="fp32, fp16, bf16 or torch's names; any if none."
    ),
]
DtypeNames = Annotated[
    list[Dtype] | None,
    typer.Option(
        "--dtype",
        parser=dtype_of,
        metavar="TYPE",
        help="fp32, fp16 or bf16, or torch's names; may be repeated. fp32 if none, where a kernel has it.",
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="AXIS=N[,...]",
        help="Over the preset's, such as n=64Mi or rows=4Ki,cols=1000; n=2^10..2^15 doubles, n=256..1Ki+128 "
        "adds 128, n=1..4Ki*4 multiplies, m=n=k=512 is a cube. Options that name the same axes "
        "are workloads of their own (--size n=1024 --size n=2048, or 'n=1024; n=2048'); options that name "
        "different axes are combined, each with each.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else; progress goes to stderr.")
]
Patience = Annotated[
    float,
    typer.Option(
        "--patience",
        metavar="FACTOR",
        min=1.0,
        max=1000.0,
        help="Wait this many times as long before what does not answer is ended: a call gets 10 s, or 1000 "
        "times what its roof allows; compilers get minutes.",
    ),
]
NewSession = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="The .roofscope file to write.")
]

"""``list``: the kernels, their implementations by provider, types, axes and sizes, and what is left out."""

from itertools import groupby
from typing import Annotated

import typer

from roofscope.app.cli.choice import choose_folders, choose_kernels, scan_kernels
from roofscope.app.cli.documents import (
    ListDocument,
    ListedImplementation,
    ListedKernel,
    ListedParameter,
    print_document,
)
from roofscope.app.cli.options import AsJson, KernelFolders, TrustFolders
from roofscope.app.cli.output import say
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.parameters import value_text
from roofscope.profiling.planning.plan import by_default
from roofscope.profiling.planning.spec import Implementation, size_text
from roofscope.profiling.providers import Family


def command(
    kernel: Annotated[
        list[str] | None, typer.Argument(metavar="KERNEL", help="None or 'all' for all.")
    ] = None,
    kernels: KernelFolders = None,
    trust: TrustFolders = False,
    as_json: AsJson = False,
) -> None:
    """Say which kernels there are: their implementations, types, axes and sizes, and what is left out.

    Of a folder that cannot be used, the reason is on stderr.
    """
    catalog = scan_kernels(choose_folders(kernels or [], is_trusted=trust))
    listed = [list_kernel(found) for found in choose_kernels(catalog, kernel or [])]
    if as_json:
        print_document(ListDocument(kernels=tuple(listed), problems=catalog.problems))
    else:
        say("\n\n".join(list_text(found) for found in listed))


def list_kernel(kernel: Kernel) -> ListedKernel:
    spec = kernel.spec
    return ListedKernel(
        name=spec.name,
        title=spec.title,
        formula=spec.formula,
        folder=str(kernel.folder),
        axes=spec.axes,
        dtypes=spec.dtypes,
        presets=spec.presets,
        sweep=spec.sweep,
        implementations=tuple(
            ListedImplementation(
                name=found.stem,
                provider=found.provider,
                label=found.label,
                left_out=_why_left_out(kernel, found),
                domain=found.domain,
                parameters=tuple(
                    ListedParameter(name=one.name, choices=one.choices, default=one.default)
                    for one in found.parameters
                ),
            )
            for found in kernel.implementations
        ),
    )


def _why_left_out(kernel: Kernel, implementation: Implementation) -> str:
    """Why a plan does not take it unless it is asked for; "" where it does."""
    if by_default(kernel, implementation):
        return ""
    provider = implementation.provider
    if not provider.facts.is_by_default:
        whose = "other people's" if provider.facts.family is Family.PEERS else "needs an optional package"
        return f"{whose}: only with --provider {provider} or its name"
    if implementation.stem in kernel.spec.on_request:
        return "set aside by its spec: only with --all-modes or its name"
    return "a mode of torch.compile: only with --all-modes or its name"


def list_text(kernel: ListedKernel) -> str:
    lines = [f"{kernel.name}: {one_line(kernel.title)}, {one_line(kernel.formula)}"]
    axes = ", ".join(f"{axis.name} ({one_line(axis.meaning)})" for axis in kernel.axes)
    sizes = [f"{preset.name} {size_text(preset.sizes)}" for preset in kernel.presets]
    if kernel.sweep:
        sizes.append(f"sweep of {len(kernel.sweep)}")
    lines += [
        f"  axes     {axes}",
        f"  types    {', '.join(dtype.label for dtype in kernel.dtypes)}",
        f"  presets  {'; '.join(sizes)}",
    ]
    for provider, group in groupby(kernel.implementations, lambda found: found.provider):
        found = list(group)
        names = [one.name for one in found if not one.left_out]
        lines.append(f"  {provider:<8} {', '.join(names) or '(none by default)'}")
        for why, others in groupby((one for one in found if one.left_out), lambda one: one.left_out):
            lines.append(f"           {', '.join(one.name for one in others)} ({why})")
    for domain, group in groupby(kernel.implementations, lambda found: found.domain):
        if domain:
            lines.append(f"  domain   {', '.join(found.name for found in group)}: {domain}")
    for found in kernel.implementations:
        if found.parameters:
            lines.append(f"  set      {found.name}: {'; '.join(map(_choices_text, found.parameters))}")
    return "\n".join(lines)


def _choices_text(parameter: ListedParameter) -> str:
    """The default comes first, as it is what runs without ``--set``."""
    others = ", ".join(value_text(value) for value in parameter.choices if value != parameter.default)
    return f"{parameter.name}={value_text(parameter.default)}{f' (or {others})' if others else ''}"

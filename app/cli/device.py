"""``device``: the sheet of a GPU or the CPU, as its driver tells it, and its state now."""

from typing import Annotated

import typer
from msgspec.structs import replace

from roofscope.app.cli.choice import choose_device
from roofscope.app.cli.documents import DeviceDocument, print_document
from roofscope.app.cli.errors import complain, refuse
from roofscope.app.cli.options import AsJson, DeviceName
from roofscope.app.cli.output import say
from roofscope.app.presentation.device_sheet import known_ceilings, sheet, sheet_markdown
from roofscope.profiling.devices.cuda_driver import l2_cache_bytes
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.devices.discovery import LocalDevices, default_device
from roofscope.profiling.roofline.cache import CeilingCache


def command(
    device: DeviceName = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="As Markdown, with the ceilings that are kept.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the sheet of the GPU or the CPU: units, memory, clocks, power. What is not known is a dash."""
    if as_markdown and as_json:
        refuse("--markdown and --json are two formats; choose one.")
    source = LocalDevices()
    try:
        devices = source.find()
        chosen = choose_device(devices, device, default_device(devices))
        state = source.state(chosen)
    finally:
        source.close()
    if chosen.kind is DeviceKind.CUDA:  # which NVML does not tell
        chosen = replace(chosen, last_level_cache_bytes=l2_cache_bytes(chosen.uuid))
    if as_json:
        print_document(DeviceDocument(device=chosen, state=state))
        return
    if as_markdown:
        say(sheet_markdown(chosen, state, known_ceilings(chosen, CeilingCache(complain))).rstrip())
        return
    rows = sheet(chosen, state)
    width = max(map(len, rows))
    for name, text in rows.items():
        say(f"{name:<{width}}  {text}")

"""The steps of all stories, measured into one session for their pages.

    python3 main.py -m roofscope.benchmarks.lessons [KERNEL ...] --session FILE

Progress goes to stderr. Where FILE lies in assets/sessions, `roofscope lesson --write docs/lessons` then
makes the pages again: each takes the session there that has the most of its steps. Needs a CUDA GPU.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from roofscope.app.presentation.lesson.shelf import Shelved, shelf_of
from roofscope.benchmarks.recorded_jobs import record_jobs
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs


def main(arguments: Sequence[str]) -> int:
    """Exit code 2 where nothing can be measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--session", type=Path, required=True, help="the session file to write")
    chosen = parser.parse_args(arguments)
    catalog = scan()
    stories = [one for one in shelf_of(catalog.kernels).stories if _is_chosen(one, chosen.kernels)]
    device = default_device(local_devices())
    if not stories or device.kind is not DeviceKind.CUDA:
        reason = "No such kernel has a story." if not stories else "There is no CUDA GPU here to measure on."
        print(reason, file=sys.stderr)
        return 2
    jobs = [job_of(one, device, number) for number, one in enumerate(stories, 1)]
    record_jobs(catalog, jobs, device, chosen.session)
    return 0


def job_of(one: Shelved, device: Device, number: int) -> Job:
    """All steps of a story on its workload, and eager as their baseline."""
    story = one.story
    [job] = plan_jobs(
        [one.kernel],
        device=device.id,
        dtypes=[story.dtype],
        size_choices=[SizeChoice("large", story.sizes)],
        stems=["eager", *(stem for stem in story.stems if stem != "eager")],
        first_id=number,
    )
    return job


def _is_chosen(one: Shelved, kernels: Sequence[str]) -> bool:
    return not kernels or one.story.kernel in kernels


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What a worker can be asked for."""

from roofscope.profiling.supervision.protocol import Probe, Run, SelfTest, Trace

Task = Run | Probe | SelfTest | Trace


def item_count(task: Task) -> int:
    """How many steps of a progress bar it is worth."""
    return len(task.job.implementations) if isinstance(task, Run) else 1


def task_id(task: Task) -> str:
    """By which the worker knows it."""
    return task.id if isinstance(task, Probe | SelfTest) else task.job.id


def task_label(task: Task) -> str:
    """For whoever watches the progress."""
    match task:
        case Run(job=job):
            return job.workload.label
        case Trace(job=job):
            return f"trace of {job.workload.label}"
        case Probe(device=device):
            return f"ceilings of {device}"
        case SelfTest(device=device):
            return f"self-test on {device}"

"""Shares a plan out among several devices: each takes the next whole job of one queue when it is free.

Sans-IO, above one supervisor a device. A job goes to one device as a whole, because its implementations are
timed in turn. A worker sees its own GPU alone, which CUDA then numbers 0: jobs, environments and ceilings
are renamed on the way there and back, so that everybody else knows a device by its id in this machine.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.supervision.progress import Progress, item_count
from roofscope.profiling.supervision.protocol import Probe, Run, SelfTest, Task
from roofscope.profiling.supervision.run_events import (
    Banner,
    BecameIdle,
    CeilingsComplete,
    CodeArrived,
    EnvironmentKnown,
    OutcomeArrived,
    Progressed,
    RunEvent,
    TraceArrived,
    WorkerLost,
)

_NAMED = 3  # kernels, in a sentence


class Assignment(NamedTuple):
    """What a device is to begin now, in its worker's words."""

    device: Device
    task: Task


class Dispatcher:
    """Counts devices by their UUID. ``own``: what each has to do by itself, after the last job."""

    def __init__(
        self,
        devices: Sequence[Device],
        jobs: Iterable[Run],
        own: Mapping[str, Sequence[Task]],
        now: float,
    ) -> None:
        self._devices = {device.uuid: device for device in devices}
        # Long jobs first: one that began last would keep one device at work alone.
        ordered = sorted(jobs, key=item_count, reverse=True) if len(devices) > 1 else jobs
        self._jobs = deque(ordered)
        self._own = {uuid: deque(own.get(uuid, ())) for uuid in self._devices}
        self._in_flight: dict[str, Task] = {}
        self._heard: set[str] = set()  # devices whose task in flight has come to something
        self._rest: dict[str, list[Implementation]] = {}  # by device: what of its job has no outcome yet
        self._undone: list[Run] = []  # the rests of jobs that a device gave up half way
        self._retired: set[str] = set()  # devices whose worker gave up
        self._is_stopped = False
        self._progress = Progress(now)
        self._progress.total = sum(map(item_count, chain(self._jobs, *self._own.values())))

    @property
    def is_over(self) -> bool:
        return not self._in_flight and not any(map(self._has_work, self._devices))

    @property
    def left(self) -> tuple[Run, ...]:
        """What was not run: jobs that no device was left for, and the rests of those given up half way.

        Such a rest goes to no other device: those of its job that were timed are on the first one.
        """
        return (*self._undone, *self._jobs)

    @property
    def left_text(self) -> str:
        """One sentence on it, for the end of the run; "" where all was run or the user stopped it."""
        count = sum(map(item_count, self.left))
        if self._is_stopped or not count:
            return ""
        names = list(dict.fromkeys(run.job.workload.kernel for run in self.left))
        more = f" and {len(names) - _NAMED} more kernels" if len(names) > _NAMED else ""
        were = "was not run: its device" if count == 1 else "were not run: their devices"
        return f"{count} of {', '.join(names[:_NAMED])}{more} {were} gave up; run them again."

    def assign(self) -> list[Assignment]:
        """The next task of each device that is free."""
        free = [uuid for uuid in self._devices if uuid not in self._in_flight and self._has_work(uuid)]
        found: list[Assignment] = []
        for uuid in free:
            if not self._has_work(uuid):  # the one before took the last job
                continue
            task = self._jobs.popleft() if self._jobs else self._own[uuid].popleft()
            self._in_flight[uuid] = task = _on(self._devices[uuid], task)
            self._heard.discard(uuid)
            self._rest[uuid] = list(task.job.implementations) if isinstance(task, Run) else []
            found.append(Assignment(self._devices[uuid], as_worker_sees(task)))
        return found

    def hear(self, uuid: str, report: RunEvent, now: float) -> RunEvent | None:
        """A worker's report as the rest of the program knows it; None for one that is not for others."""
        device, task = self._devices[uuid], self._in_flight.get(uuid)
        match report:
            case BecameIdle():
                self._end(uuid)
                return None
            case OutcomeArrived(job=job) | TraceArrived(job=job) | CodeArrived(job=job):
                if isinstance(report, OutcomeArrived):
                    self._heard.add(uuid)
                    self._progress.done += 1
                    self._rest[uuid] = [one for one in self._rest[uuid] if one != report.implementation]
                return msgspec.structs.replace(report, job=_job_on(device, job))
            case EnvironmentKnown(environment=environment):
                return EnvironmentKnown(_renamed(environment, device))
            case CeilingsComplete():
                return CeilingsComplete(device.id)
            case WorkerLost():
                return msgspec.structs.replace(report, restarting=report.restarting or self._has_work(uuid))
            case Progressed():
                if report.stage:
                    self._progress.begin(now)
                whole = self._progress.report(now, "", None)
                item = f"{device.id}: {report.item}" if report.item and task else report.item
                return msgspec.structs.replace(
                    report,
                    done=whole.done,
                    total=whole.total,
                    item=item,
                    remaining_s=whole.remaining_s,
                    remaining_range_s=whole.remaining_range_s,
                )
            case Banner(is_busy=True) if len(self._devices) - len(self._retired) > 1:
                return Banner(report.text)  # the others go on
            case _:
                return report

    def drop(self) -> None:
        """Stop: what no device has begun is not tried."""
        self._is_stopped = True
        self._jobs.clear()
        for own in self._own.values():
            own.clear()

    def _has_work(self, uuid: str) -> bool:
        return uuid not in self._retired and bool(self._jobs or self._own[uuid])

    def _end(self, uuid: str) -> None:
        task = self._in_flight.pop(uuid, None)
        if isinstance(task, Run):
            if uuid not in self._heard and not self._is_stopped:
                # Its worker gave up: the device is busy, or no worker starts. Another takes the job whole.
                self._retired.add(uuid)
                self._jobs.appendleft(task)
            elif (rest := self._rest.pop(uuid, [])) and not self._is_stopped:
                self._retired.add(uuid)  # a supervisor ends without an outcome only where it gives up
                self._undone.append(Run(msgspec.structs.replace(task.job, implementations=tuple(rest))))
        elif task is not None:
            self._progress.done += 1


def as_worker_sees(task: Task) -> Task:
    """The same on the one GPU that a worker of several sees."""
    device_id = task.device if isinstance(task, Probe | SelfTest) else task.job.device
    return _with_device(task, "cuda:0" if device_id.startswith(DeviceKind.CUDA) else device_id)


def _on(device: Device, task: Task) -> Task:
    return _with_device(task, device.id)


def _with_device(task: Task, device_id: str) -> Task:
    if isinstance(task, Probe | SelfTest):
        return msgspec.structs.replace(task, device=device_id)
    return msgspec.structs.replace(task, job=msgspec.structs.replace(task.job, device=device_id))


def _job_on(device: Device, job: Job) -> Job:
    return msgspec.structs.replace(job, device=device.id)


def _renamed(environment: Environment, device: Device) -> Environment:
    """With the device under its id in this machine."""
    devices = tuple(
        msgspec.structs.replace(one, id=device.id) if one.uuid == device.uuid else one
        for one in environment.devices
    )
    return msgspec.structs.replace(environment, devices=devices)

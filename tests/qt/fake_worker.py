"""A worker for tests of the window: speaks the protocol, computes nothing, times are invented.

Run as a script with a mode: ``quick`` answers at once; ``slow`` takes 0.3 s per implementation and
obeys cancel; ``held`` gives the first outcome of a task and then waits for a cancel, or for its marker
file to appear; ``stuck`` answers nothing after a task's first stage; ``crash`` kills itself in its
first task; ``reads`` finds an implementation's time in its file (``# 2e-3 s``), or the word BROKEN, where it
fails; ``crash_once`` only if its marker file is not there yet; ``leaves`` ends once, and a child of it
holds its pipes; ``mute`` dies before it says hello; ``busy`` finds its device taken.
"""

import gzip
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

from msgspec.structs import replace

from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.outcome import Cancelled, Failed, FailureKind, Outcome, Stage
from roofscope.profiling.results.proof import Column, Proof, ProofName, Row, Unit
from roofscope.profiling.supervision.protocol import (
    PROTOCOL_VERSION,
    Bye,
    Cancel,
    CeilingReady,
    Close,
    CodeReady,
    Event,
    Hello,
    LineDecoder,
    Open,
    OutcomeReady,
    Probe,
    ProofReady,
    Renew,
    Run,
    Sealed,
    SelfTest,
    StageStarted,
    TaskDone,
    Trace,
    TraceReady,
    command_decoder,
    encode,
)
from roofscope.tests.sessions import CEILINGS, ENVIRONMENT, examined, measured

SECRET = "FAKE_WORKER_SECRET"
KERNELS: list[Catalog] = []  # as they were read at each greeting
PROOFS = (
    Proof(
        ProofName.KNOWN_DURATION,
        True,
        "Invented: the slope is off by 0.02 %.",
        "The slope is right within 0.2 %.",
        (Column("planted", Unit.SECONDS), Column("read", Unit.SECONDS)),
        (Row("short", (1e-5, 1.001e-5), True), Row("long", (1e-3, None), None, "invented")),
        duration_s=1.5,
        recorded_at="2026-01-02T03:04:05.678+00:00",
    ),
    Proof(ProofName.COLD_CACHE, False, "Invented: cold reads as fast as hot.", "Cold is below the ceiling."),
    Proof(ProofName.PROFILER, None, "", "Within 3 %.", reason_skipped="Invented: no profiler here."),
)


def main(mode: str, marker: str) -> None:
    if mode == "mute":
        os.write(2, b"no module named invented\n")
        sys.exit(3)
    decoder = command_decoder()
    while data := os.read(0, 1 << 16):
        for command in decoder.feed(data):
            match command:
                case Open(kernel_roots=roots, secret=secret):
                    os.environ[SECRET] = secret
                    greet(roots)
                case Renew(kernel_roots=roots):
                    greet(roots)
                case Run() | Probe() if mode == "busy":
                    say(Bye("Invented: another Roofscope has the device.", restart=False, is_busy=True))
                    return
                case Probe(id=task):
                    probe(task)
                case SelfTest(id=task):
                    prove(task, mode, Path(marker), decoder)
                case Run(job=job):
                    run(job, mode, Path(marker), decoder)
                case Trace(job=job):
                    say(TraceReady(job.id, job.implementations[0], trace()))
                    say(TaskDone(job.id))
                case Close():
                    return
                case _:
                    pass


def greet(roots: tuple[str, ...]) -> None:
    KERNELS.append(scan((LIBRARY, *map(Path, roots))))
    say(Hello(PROTOCOL_VERSION, environment(), KERNELS[-1].hash))


def environment() -> Environment:
    """With the one GPU that it is shown, if it is shown one."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if not shown.startswith("GPU-"):
        return ENVIRONMENT
    return replace(ENVIRONMENT, devices=(replace(ENVIRONMENT.devices[0], uuid=shown),))


def run(job: Job, mode: str, marker: Path, decoder: LineDecoder) -> None:
    cancelled = False
    for number, implementation in enumerate(job.implementations):
        say(StageStarted(job.id, Stage.VERIFY, 60.0, implementation))
        if mode == "crash" or (mode == "crash_once" and not marker.exists()):
            marker.touch()
            os.write(2, b"invented: the last words of the worker\n")
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "stuck":
            time.sleep(60)
        if mode == "leaves" and not marker.exists():
            leave_a_child(marker)
        if mode == "slow":
            cancelled = cancelled or cancel_within(0.3, decoder)
        if mode == "held" and number:
            cancelled = cancelled or is_cancelled_while_held(marker, decoder)
        outcome = Cancelled() if cancelled else outcome_of(job, implementation, mode)
        say(OutcomeReady(job.id, implementation, outcome))
        if job.keeps_code:
            say(CodeReady(job.id, implementation, (Code(CodeKind.PTX, "invented", "ret;"),)))
    say(TaskDone(job.id))


def outcome_of(job: Job, implementation: Implementation, mode: str) -> Outcome:
    if job.examines(implementation):
        return examined(is_interpreted=implementation.provider is Provider.TRITON)
    return read(job, implementation) if mode == "reads" else measured(1e-3)


def read(job: Job, implementation: Implementation) -> Outcome:
    """As the file says that it shall be."""
    kernel = KERNELS[-1].kernel(job.workload.kernel)
    assert kernel is not None
    path = kernel.paths(implementation)[0]
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if "BROKEN" in line:
            log = f'  File "{path}", line {number}\nSyntaxError: invented'
            return Failed(FailureKind.BUILD_ERROR, Stage.BUILD, f"{path.name} does not compile.", log)
    times = [float(line.removeprefix("# ").removesuffix(" s")) for line in lines if line.startswith("# ")]
    return measured(times[-1] if times else 1e-3)


def leave_a_child(marker: Path) -> None:
    """End, and leave a child with both pipes in a session of its own; its number stands in the marker."""
    if os.fork() == 0:
        os.setsid()
        marker.write_text(str(os.getpid()))
        time.sleep(3600)
    while not (marker.exists() and marker.read_text()):
        time.sleep(0.01)
    os._exit(3)


def probe(task: str) -> None:
    say(StageStarted(task, Stage.MEASURE, 60.0))
    for ceiling in CEILINGS:
        say(CeilingReady(task, replace(ceiling, device_uuid=environment().devices[0].uuid)))
    say(TaskDone(task))


def prove(task: str, mode: str, marker: Path, decoder: LineDecoder) -> None:
    for number, proof in enumerate(PROOFS):
        say(StageStarted(task, Stage.CHECK, 60.0, detail=proof.name))
        if mode == "held" and number and is_cancelled_while_held(marker, decoder):
            break
        say(ProofReady(task, proof))
    say(TaskDone(task))


def is_cancelled_while_held(marker: Path, decoder: LineDecoder) -> bool:
    """Wait for one of the two: a cancel, or the marker that lets go."""
    while not marker.exists():
        if cancel_within(0.05, decoder):
            return True
    return False


def cancel_within(seconds: float, decoder: LineDecoder) -> bool:
    if not select.select([0], [], [], seconds)[0]:
        return False
    data = os.read(0, 1 << 16)
    if not data:
        sys.exit(0)
    return any(isinstance(command, Cancel) for command in decoder.feed(data))


def trace() -> bytes:
    event = {"ph": "X", "cat": "kernel", "name": "invented_kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 2.5}
    return gzip.compress(json.dumps({"traceEvents": [event, event]}).encode())


def say(event: Event) -> None:
    os.write(1, encode(Sealed(os.environ[SECRET], event)))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Answers one question of ``planning.derivation``, as JSON. The argument is its patience in seconds."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from roofscope.profiling.decoding import decode
from roofscope.profiling.planning.derivation import Answer, Question
from roofscope.profiling.planning.loading import describe_load_error

_SUBJECT_S = 20  # for an implementation, which is asked without contents


def main() -> None:
    """What the reference prints goes nowhere."""
    output = os.dup(1)
    os.set_inheritable(output, False)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    until = time.monotonic() + float(sys.argv[1])
    question = decode(sys.stdin.buffer.read(), Question)
    os.dup2(null, 0)
    try:
        from roofscope.profiling.worker.derive.deriving import derivation, with_types_of_subject

        found = derivation(question, until)
        _write(output, Answer(found))
        if question.subject:  # which may end this process, or not end: the answer so far stands
            signal.alarm(_SUBJECT_S)
            with suppress(Exception):  # a kernel of one's own may not run without a device
                _write(output, Answer(with_types_of_subject(question, found)))
    except BaseException as error:  # noqa: BLE001 - whatever it is, the reference has raised it
        name = Path(question.path).name
        fault = f"The reference in {name} cannot be run on these tensors: {describe_load_error(error)}."
        _write(output, Answer(fault=fault))
    os._exit(0)  # not by way of what the reference has left to be done at the end


def _write(output: int, answer: Answer) -> None:
    data = msgspec.json.encode(answer) + b"\n"
    while data:
        data = data[os.write(output, data) :]


if __name__ == "__main__":
    main()

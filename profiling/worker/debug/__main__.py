"""Runs one implementation as ``planning.debug_question`` asks; says what it sees, a JSON value a line.

What the file itself prints goes nowhere. The guard above ends all that is left below. With the argument
``observed`` it is the process that a tool observes, below a guard already.
"""

import os
import sys

import msgspec

from roofscope.profiling.decoding import decode
from roofscope.profiling.paths import module_command
from roofscope.profiling.planning.debug_question import DebugMode, DebugQuestion
from roofscope.profiling.results.debugging import Said
from roofscope.profiling.worker.guard import stand_guard

_OBSERVED = "observed"


def main() -> None:
    is_observed = sys.argv[1:] == [_OBSERVED]
    question = decode(sys.stdin.buffer.read(), DebugQuestion)
    if not is_observed:
        stand_guard()
    if question.mode is DebugMode.INTERPRET:
        os.environ["TRITON_INTERPRET"] = "1"  # before anything imports Triton
    else:
        os.environ.update(CUDA_LAUNCH_BLOCKING="1", TRITON_DEBUG="1", CUBLAS_WORKSPACE_CONFIG=":4096:8")
    if question.tool and not is_observed:
        _observe(question.tool)
    output = os.dup(1)
    os.set_inheritable(output, False)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)

    def say(said: Said) -> None:
        data = msgspec.json.encode(said) + b"\n"
        while data:
            data = data[os.write(output, data) :]

    if question.mode is DebugMode.INTERPRET:
        from roofscope.profiling.worker.debug.interpreting import interpret as answer
    elif question.mode is DebugMode.CALL:
        from roofscope.profiling.worker.debug.running import call as answer
    else:
        from roofscope.profiling.worker.debug.running import run as answer
    answer(question, say)
    os._exit(0)  # not by way of what the file has left to be done at the end


def _observe(tool: tuple[str, ...]) -> None:
    """Become the tool, which starts this module again and gives it the same question."""
    # Torch's own allocator hands out parts of large blocks: what is beyond a tensor would lie in its block.
    os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    os.lseek(0, 0, os.SEEK_SET)
    command = [*tool, *module_command("roofscope.profiling.worker.debug"), _OBSERVED]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()

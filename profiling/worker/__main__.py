"""The worker process: takes over stdio, says hello, carries out commands.

Descriptors 0 and 1 carry the protocol and nothing else: they are duplicated, then 0 is empty and 1 is the
log, so that input() of a user's file finds nothing and prints of kernels, of child processes and of C code
harm nothing. A guard stands between this process and the program.
"""

import os
import sys
import threading
from pathlib import Path

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.supervision.protocol import PROTOCOL_VERSION, Bye, Hello, Open
from roofscope.profiling.worker.channel import Channel
from roofscope.profiling.worker.guard import stand_guard
from roofscope.profiling.worker.process_control import close_to_others


def main() -> int:
    if os.getpid() != os.getsid(0):
        os.setsid()  # a group of its own: killing it ends nvcc, ptxas and inductor's helpers too
    stand_guard()
    channel = Channel(*_taken_over())
    threading.Thread(target=channel.read_commands, daemon=True).start()
    opening = channel.next_command()
    if not isinstance(opening, Open):
        channel.emit(Bye(f"The first command was {type(opening).__name__}, not open.", restart=False))
        return 2
    if opening.protocol != PROTOCOL_VERSION:
        channel.emit(
            Bye(f"This worker speaks protocol {PROTOCOL_VERSION}, not {opening.protocol}.", restart=False)
        )
        return 2
    # These import torch. The reader thread must run before, to notice a parent that dies meanwhile.
    from roofscope.profiling.worker.candidate.fork_server import ForkServer
    from roofscope.profiling.worker.environment import read_environment
    from roofscope.profiling.worker.gc_policy import freeze_imports
    from roofscope.profiling.worker.server import Server

    freeze_imports()
    candidates = ForkServer.forked()  # before CUDA is used and any user's file is run
    close_to_others()
    # A child of a user's reference.py would hold the conversations open after both ends of them are gone.
    os.register_at_fork(after_in_child=channel.close)
    os.register_at_fork(after_in_child=candidates.close)
    catalog = scan([LIBRARY, *map(Path, opening.kernel_roots)])
    environment = read_environment()
    channel.emit(Hello(PROTOCOL_VERSION, environment, catalog.hash))
    ended_because = Server(channel, catalog, environment, candidates).serve()
    # Not sys.exit, whose destructors can hang on a broken CUDA context.
    sys.stderr.flush()
    os._exit(1 if ended_because else 0)


def _taken_over() -> tuple[int, int]:
    """Descriptors of the commands and of the events, which no child of a user's code inherits by exec."""
    input_fd, output_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return input_fd, output_fd


if __name__ == "__main__":
    sys.exit(main())

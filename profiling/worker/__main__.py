"""The worker process: takes over stdio, says hello, carries out commands.

File descriptor 1 carries the protocol and nothing else: it is duplicated and then pointed at
descriptor 2, so that prints of kernels, of child processes and of C code land in the log.
"""

import os
import sys
import threading
from pathlib import Path

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.supervision.protocol import PROTOCOL_VERSION, Bye, Hello, Open
from roofscope.profiling.worker.channel import Channel


def main() -> int:
    if os.getpid() != os.getsid(0):
        os.setsid()  # a group of its own: killing it ends nvcc, ptxas and inductor's helpers too
    output_fd = os.dup(1)
    os.dup2(2, 1)
    channel = Channel(output_fd)
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
    from roofscope.profiling.worker.candidate.fork_server import ForkServer, close_to_others
    from roofscope.profiling.worker.environment import read_environment
    from roofscope.profiling.worker.gc_policy import freeze_imports
    from roofscope.profiling.worker.server import Server

    freeze_imports()
    candidates = ForkServer.forked()  # before CUDA is used and any user's file is run
    close_to_others()
    catalog = scan([LIBRARY, *map(Path, opening.kernel_roots)])
    environment = read_environment()
    channel.emit(Hello(PROTOCOL_VERSION, environment, catalog.hash))
    ended_because = Server(channel, catalog, environment, candidates).serve()
    # Not sys.exit, whose destructors can hang on a broken CUDA context.
    sys.stderr.flush()
    os._exit(1 if ended_because else 0)


if __name__ == "__main__":
    sys.exit(main())

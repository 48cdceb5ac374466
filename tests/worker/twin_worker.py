"""The worker, on this machine's CPU under another UUID: so that it can be two devices of a test."""

import sys

from msgspec.structs import replace

from roofscope.profiling.devices import host
from roofscope.profiling.worker import __main__ as worker

if __name__ == "__main__":
    cpu = replace(host.cpu_device(), uuid=sys.argv[1])
    host.cpu_device = lambda: cpu
    sys.exit(worker.main())

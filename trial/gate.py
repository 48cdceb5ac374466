"""gate.py: several scripts run beside each other on one card; only what holds the gate touches the GPU.

    from gate import checking, timing
    with checking(): ...   # correctness: others may check meanwhile, nobody times
    with timing(): ...     # alone on the card; keep each hold below 2 s (one shape), so that others get their turn

Who holds it for 40 s hangs, and is ended, having said where: otherwise nobody else would time until its time limit.
"""
import fcntl, contextlib, faulthandler
@contextlib.contextmanager
def _held(kind):
    with open("/tmp/device.gate", "w") as door, open("/tmp/device.lock", "w") as lock:
        fcntl.flock(door, fcntl.LOCK_EX)  # first come, first served
        fcntl.flock(lock, kind)
        fcntl.flock(door, fcntl.LOCK_UN)
        faulthandler.dump_traceback_later(40, exit=True)  # needs no lock of Python's
        try:
            yield
            import torch
            torch.cuda.synchronize()
        finally:
            faulthandler.cancel_dump_traceback_later()
checking = lambda: _held(fcntl.LOCK_SH)
timing = lambda: _held(fcntl.LOCK_EX)

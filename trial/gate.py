"""gate.py: several scripts run beside each other on one card; only what holds the gate touches the GPU.

    from gate import checking, timing
    with checking(): ...   # correctness: others may check meanwhile, nobody times
    with timing(): ...     # alone on the card; keep each hold below 2 s (one shape), so that others get their turn
"""
import fcntl, contextlib
@contextlib.contextmanager
def _held(kind):
    with open("/tmp/device.gate", "w") as door, open("/tmp/device.lock", "w") as lock:
        fcntl.flock(door, fcntl.LOCK_EX)  # first come, first served
        fcntl.flock(lock, kind)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield
        import torch
        torch.cuda.synchronize()
checking = lambda: _held(fcntl.LOCK_SH)
timing = lambda: _held(fcntl.LOCK_EX)

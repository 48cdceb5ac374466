"""What a worker and the code in it print: the beginning and the end of it, however much it is.

A failure must not show what an earlier kernel printed, so a task's end takes its output with it.
"""

HEAD_BYTES = 4_000
TAIL_BYTES = 16_000  # what came before the end


class WorkerLog:
    """Takes bytes without end and keeps the first and the last of them."""

    def __init__(self, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self._head_bytes, self._tail_bytes = head_bytes, tail_bytes
        self._before = b""  # the first task: warnings of the imports
        self._head, self._tail = bytearray(), bytearray()
        self._left_out = 0

    def begin_tasks(self) -> None:
        """What was printed so far is no task's, and stays."""
        self._before = (self._before + self._head + self._tail)[: self._tail_bytes]
        self.end_task()

    def end_task(self) -> None:
        """What follows is another task's, or nobody's."""
        self._head.clear()
        self._tail.clear()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room < len(data) else b""
        excess = len(self._tail) - self._tail_bytes
        if excess > 0:
            del self._tail[:excess]
            self._left_out += excess

    @property
    def text(self) -> str:
        gap = f"\n[{self._left_out} bytes left out]\n".encode() if self._left_out else b""
        return (self._before + self._head + gap + self._tail).decode("utf-8", "replace")

from roofscope.profiling.supervision.worker_log import WorkerLog


def test_a_log_keeps_its_beginning_and_its_end_however_long_it_is() -> None:
    log = WorkerLog(head_bytes=6, tail_bytes=5)
    for piece in (b"begin", b"ning ", b"x" * 10**6, b" ", b"end\n"):
        log.add(piece)
    assert log.text == "beginn\n[1000004 bytes left out]\n end\n"


def test_a_short_log_is_whole() -> None:
    log = WorkerLog(head_bytes=6, tail_bytes=5)
    log.add(b"beginning")
    assert log.text == "beginning"


def test_a_task_ends_with_its_output_and_what_the_imports_said_stays() -> None:
    log = WorkerLog(head_bytes=6, tail_bytes=50)
    log.add(b"a warning. ")
    log.begin_tasks()
    log.add(b"of the first")
    log.end_task()
    log.add(b"of the second")
    assert log.text == "a warning. of the second"
    log.end_task()
    assert log.text == "a warning. "

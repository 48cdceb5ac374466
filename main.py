"""Roofscope. Without arguments the window opens; `main.py --help` lists the commands."""

import signal

if __name__ == "__main__":
    # Ctrl+C while the imports run, some 0.3 s, ends the program as it ends any other: without a traceback.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # nohup and its like have it ignored, which stays so
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    from app.cli.commands import cli

    signal.signal(signal.SIGINT, handler)
    cli()

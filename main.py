"""Roofscope. Without arguments the window opens; `main.py --help` lists the commands."""

from app.cli.commands import cli

if __name__ == "__main__":
    cli()

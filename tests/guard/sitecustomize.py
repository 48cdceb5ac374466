"""Notes each use of a network that leaves this machine, or listens, in the file ROOFSCOPE_NETWORK_LOG.

The tests put this folder on PYTHONPATH, so that the window, the command line and the worker of a test have it
too, and what these start. Pipes and sockets of the file system are nobody else's.
"""

import ipaddress
import os
import sys
import traceback

import changed_modules
import small_cache

_NAMES = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
_ADDRESSES = {"socket.connect", "socket.sendto", "socket.bind"}


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not event.startswith("socket.") or event not in _NAMES | _ADDRESSES:
        return
    log = os.environ.get("ROOFSCOPE_NETWORK_LOG")
    if log and (used := _used(event, arguments)):
        stack = "".join(traceback.format_stack(limit=6)[:-1])
        with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123 - pathlib is not imported at a start
            file.write(f"{event} {used} by {' '.join(sys.argv)[:200]}\n{stack}\n")


def _used(event: str, arguments: tuple[object, ...]) -> str:
    """The address or name; "" where it is this machine's own and nothing listens there."""
    if event == "socket.bind" and sys._getframe(2).f_code.co_name == "_has_ipv6":
        return ""  # urllib3, which some packages import, asks the system so, and closes it at once
    if event in _NAMES:
        host = str(arguments[0])
        return "" if host in {"localhost", "None", ""} or _is_loopback(host) else host
    address = arguments[-1]
    if not isinstance(address, tuple):
        return ""  # of the file system
    host = str(address[0])
    return host if event == "socket.bind" or not _is_loopback(host) else ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


sys.addaudithook(_hook)
changes: changed_modules.Changes = {small_cache.MODULE: small_cache.shrink}
if os.environ.get("ROOFSCOPE_BRIEF"):  # of tests/worker, and of tests/gpu
    import brief_measuring

    changes = {**changes, brief_measuring.MODULE: brief_measuring.shorten}
sys.meta_path.insert(0, changed_modules.Finder(changes))

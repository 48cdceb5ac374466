"""A call listens on a socket of this machine.

needs: cpu
right: measured
"""

import socket

sockets = []


def run(x):
    if not sockets:
        sockets.append(socket.create_server(("127.0.0.1", 0)))
    return x * 2

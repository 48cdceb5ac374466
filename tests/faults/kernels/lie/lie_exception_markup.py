"""A call raises with the markup of our own terminal and of web pages.

needs: cpu
right: launch error
says: [red]
"""


def run(x):
    raise ValueError("[red]red[/] [/nothing] <script>alert(1)</script> <img src=file:///etc/passwd> {x} %s")

"""The file imports what is not there.

needs: cpu
right: build error
says: no_such_module
"""

import no_such_module


def run(x):
    return no_such_module.double(x)

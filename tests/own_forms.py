"""The form with which tests of users' files begin."""

from roofscope.profiling.planning.one_file.form import Form

ADD = Form(
    file="add.py",
    call="add(x, y)",
    reference="x + y",
    sizes={"n": 1000},
    inputs={"x": "n", "y": "n"},
    outputs={"out": "n"},
    flops="n",
    reads="2*n*s",
    writes="n*s",
    odd_sizes=({"n": 37},),
)

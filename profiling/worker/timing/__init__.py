"""One call's time: blocks of calls in graphs, in turn, at a clock that is known."""

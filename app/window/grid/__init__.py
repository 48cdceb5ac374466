"""The pane of parameters: a heat map or bars, and a form that measures other values."""

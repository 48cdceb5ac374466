"""The sweep pane's own parts: plot, legend, files."""

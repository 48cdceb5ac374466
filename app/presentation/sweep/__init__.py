"""A kernel over its sizes: a line an implementation, without Qt."""

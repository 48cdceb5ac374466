"""What can be known of code for a GPU on a machine without one: it is interpreted, and it is compiled."""

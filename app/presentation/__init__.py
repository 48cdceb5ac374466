"""What is shown, as words, tables and figures of pure values: for the window and the command line. No Qt."""

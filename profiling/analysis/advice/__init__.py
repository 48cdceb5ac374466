"""What limits a point and the next thing to try: a file a rule, each with its evidence."""

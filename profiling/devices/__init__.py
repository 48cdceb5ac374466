"""On what to measure: devices, their state and the machine they are in."""

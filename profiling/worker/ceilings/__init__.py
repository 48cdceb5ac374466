"""What the device can do at most: memory and arithmetic, measured on a testbed of their own."""

#!/bin/bash
# Ends by itself in 125 s at most.
cd "$(dirname "$0")/.." && mkdir -p /tmp/o/hC
LIMIT=115 timeout 125 python3 .exp/bench.py 2>&1 | grep -v -i "warn"

cd "$(dirname "$0")/.."
timeout -k 5 126 python3 -u .exp/w1b.py &
timeout -k 5 127 python3 -u .exp/w1.py &
wait

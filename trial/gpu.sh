# Correctness, and then every candidate at named and drawn sizes beside cuBLAS. README says what to read.
mkdir -p /tmp/o/hB
python3 .exp/make.py || exit 1
(sleep 1; PART=2 JOBS=6 timeout -k 3 126 python3 .exp/look1.py > /tmp/o/hB/part2.txt 2>&1) &
PART=1 JOBS=12 timeout -k 3 126 python3 .exp/look1.py
wait
echo "==== part 2"; tail -c 20000 /tmp/o/hB/part2.txt

cd "$(dirname "$0")/.."
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 TORCHINDUCTOR_COMPILE_THREADS=1
unset PYTHONDONTWRITEBYTECODE
PY=${PY:-python3}
timeout -k 4 128 $PY .exp/${WHICH:-w1}.py 2>&1 | grep --line-buffered -v Warning

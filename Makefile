# `make run` opens the program, `make test` runs the tests, `make test-all` also the exhaustive ones: every
# architecture, every dtype, and Triton as old as we allow. Each sets up what is missing first.
# Extra words: make run ARGS=doctor, make test ARGS="tests/unit -x".
ARGS ?=

# No test depends on the time that another one takes: they may share the machine. `make test JOBS=0` is one process.
JOBS ?= 2
PYTEST = .venv/bin/python -m pytest -n $(JOBS) --dist worksteal
OLDEST_TRITON = 3.6.0

# Where Python keeps no bytecode, each of some hundred workers compiles all of torch anew: half its start.
unexport PYTHONDONTWRITEBYTECODE

run: PURPOSE = run
run: .venv/.ready
	@.venv/bin/python main.py $(ARGS)

test: PURPOSE = test
test: .venv/.ready
	@$(PYTEST) $(ARGS)

test-all: test test-exhaustive test-oldest-triton

test-exhaustive: PURPOSE = test
test-exhaustive: .venv/.ready
	@$(PYTEST) -m exhaustive $(ARGS)

test-oldest-triton: PURPOSE = test
# What nothing interprets is the same with either, and `make test` has it.
test-oldest-triton: .tools/triton-$(OLDEST_TRITON)
	@ROOFSCOPE_TRITON=$(OLDEST_TRITON) $(PYTEST) -m "not gpu" tests/kernels -k triton \
		--ignore tests/kernels/test_domains.py $(ARGS)

# The stamp is written only when nothing is missing, so a second call starts at once.
.venv/.ready: pyproject.toml .ci/setup
	@.ci/setup $(PURPOSE)

# Beside the environment, which has a newer one. Triton 3.6's interpreter does not know NumPy 2.4
# (github.com/triton-lang/triton/issues/9171).
.tools/triton-$(OLDEST_TRITON): | .venv/.ready
	@rm -rf $@.part
	@PATH=".tools/bin:$$HOME/.local/bin:$$PATH" uv pip install --quiet --python .venv/bin/python \
		--target $@.part "triton==$(OLDEST_TRITON)" "numpy<2.4"
	@mv $@.part $@

.PHONY: run test test-all test-exhaustive test-oldest-triton

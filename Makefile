# `make run` opens the program, `make test` runs the tests. Both set up what is missing first.
# Extra words for either: make run ARGS=doctor, make test ARGS="tests/unit -x".
ARGS ?=

run: PURPOSE = run
run: .venv/.ready
	@.venv/bin/python main.py $(ARGS)

test: PURPOSE = test
test: .venv/.ready
	@.venv/bin/python -m pytest $(ARGS)

# The stamp is written only when nothing is missing, so a second call starts at once.
.venv/.ready: pyproject.toml .ci/setup
	@.ci/setup $(PURPOSE)

.PHONY: run test

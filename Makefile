# railweave: every target sets up what it needs in .venv; see README.md.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
STAMP := $(VENV)/.installed
ENGINE := Cargo.toml Cargo.lock $(wildcard crates/*/Cargo.toml) $(shell find crates/*/src -name '*.rs')

# Bytecode is kept, whatever the environment says: tests start the program hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo check test python-test engine-test lint python-lint engine-lint format bench golden docs site screenshot validate-all validators test-programs zipapp engine wheel try-wheel deb release update sbom audit fuzz validation \
	collected plugin plugin-test plugin-lint plugin-bench trial soak test-rxe test-nccl clean

help:
	@echo "make demo      build the example network into out/demo and verify it"
	@echo "make test      run every test; make check: lint of what changed, and the quick tests"
	@echo "make lint      every linter and type checker, of Python, Rust, C and prose"
	@echo "make engine    the packet engine's own program, target/release/railweave-sim"
	@echo "make plugin    the NCCL/RCCL net plugin and railweave-rdma-ping, build/plugin"
	@echo "make wheel     dist/railweave-*.whl; make try-wheel installs it where there is no compiler"
	@echo "make deb       dist/*.deb: railweave-host, and the net plugin; make release: all that a release has"
	@echo "make update    refresh the locks below requirements/, the crates and the table of licences"
	@echo "make sbom      dist/railweave-*.cdx.json: every package of Python, Rust, C, JavaScript and Debian"
	@echo "make audit     compare the locks with known weaknesses; DB=DIR: advisories in OSV's format, without a network"
	@echo "make zipapp    dist/railweave-host.pyz, railweave host as one file for servers"
	@echo
	@echo "make golden    refresh tests/golden after an intended change (read the diff)"
	@echo "make docs      refresh the generated reference and schema, and what the notebook shows"
	@echo "make site      build/site: the documentation with search, which opens without a server"
	@echo "make screenshot  draw the pictures of the report and of the how-to (Chromium)"
	@echo "make validators, make test-programs  what tests run beside railweave (root)"
	@echo
	@echo "make trial     list the trials, which take minutes; make trial NAME=deploy runs one"
	@echo "make bench     measure build and prediction at 1,024 to 32,768 GPUs (half an hour)"
	@echo "make validation  the packet engine against models and tables; draws its pictures"
	@echo "make validate-all  every check of every file of every example (an hour, 16 GB)"
	@echo "make fuzz      fuzz every parser and the packet engine for FUZZ_SECONDS (600) in all; nightly Rust, cargo-fuzz"
	@echo "make soak      the plugin under random faults, plain and under sanitizers"
	@echo "make test-nccl NCCL_SOURCE=DIR  NCCL's own core over the plugin, without a GPU"
	@echo "make test-rxe  the plugin over Soft-RoCE between two QEMU guests"

# Versions and hashes are those of requirements/*.lock; `make update` refreshes them. maturin and setuptools are in the locks, so that pip builds without isolation, which would download others.
LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements
BUILT := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip

# Programs that run railweave; STAMP adds what developers run.
define install
	@command -v cargo > /dev/null || { echo "railweave builds its packet engine with cargo: install Rust 1.88 or newer (https://rustup.rs)"; exit 1; }
	@test -n "$(PYTHON)" || { echo "railweave needs Python 3.11 or newer, with venv (Debian: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(if $(filter dev,$(1)),$(LOCKED)/sdist.lock)
	$(LOCKED)/$(1).lock --no-build-isolation
	$(BUILT) install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
endef

$(BASE): requirements/base.lock pyproject.toml $(ENGINE)
	$(call install,base)

$(STAMP): requirements/dev.lock pyproject.toml $(ENGINE)
	$(call install,dev)

demo: $(or $(wildcard $(STAMP)),$(BASE))
	@mkdir -p out
	$(BIN)/railweave build examples/h100-rlb.yaml -o out/demo
	$(BIN)/railweave verify out/demo
	$(BIN)/railweave paths out/demo --src H100-01:gpu0_eth --dst H100-03:gpu0_eth --qps 4
	$(BIN)/railweave sim examples/h100-rlb.yaml --collective all-reduce --size 256M --qps 4 -o out/demo-prediction.html --quiet
	@echo
	@echo "Open out/demo/report.html, and out/demo-prediction.html for what an all-reduce gets; switch configurations are in out/demo/devices/, server files in out/demo/hosts/."

check: $(STAMP)
	tools/check.sh $(BIN)

test: plugin-test python-test engine-test

# Two workers more than processors: tests in labs wait for most of their time.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 2 )))

python-test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -rs

# Tests and what they import are compiled and searched for constants (Hypothesis) by one process: every worker would do so again.
collected: $(STAMP)
	@said=$$($(BIN)/python -m pytest --collect-only -qq 2>&1) || { echo "$$said"; exit 1; }

engine-test:
	cargo test --profile tests --quiet

lint: plugin-lint python-lint engine-lint

python-lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python tools/prose.py

engine-lint: $(STAMP)
	cargo fmt --all --check
	PYO3_PYTHON=$(abspath $(BIN)/python) cargo clippy --locked --workspace --profile tests --all-targets -- -D warnings

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt --all

engine:
	cargo build --release

PLUGIN := build/plugin
CMAKE := $(or $(shell command -v cmake),$(BIN)/cmake)

$(BIN)/cmake: $(STAMP)
	$(LOCKED)/cmake.lock

plugin: $(CMAKE)
	$(CMAKE) -S plugin -B $(PLUGIN) > /dev/null
	$(CMAKE) --build $(PLUGIN) --parallel 2

plugin-test: plugin
	plugin/tests/run.sh $(PLUGIN)

plugin-lint:
	plugin/tests/lint.sh

plugin-bench: plugin $(STAMP)
	$(LOCKED)/plots.lock
	$(BIN)/python plugin/bench/run.py $(PLUGIN)

SOAK_JOBS ?= 4

soak: $(CMAKE)
	CMAKE=$(CMAKE) JOBS=$(SOAK_JOBS) plugin/tests/soak.sh plugin $(PLUGIN)

# Checkouts of NVIDIA/nccl, built without a GPU.
test-nccl: plugin $(STAMP)
	PYTHON=$(abspath $(BIN)/python) plugin/tests/nccl/run.sh $(PLUGIN) $(NCCL_SOURCE)

test-rxe: plugin
	plugin/tests/rxe/run.sh $(PLUGIN)

FUZZ_SECONDS ?= 600

# Half of the time for the parsers in Python, a tenth for the plugin's in C, a fifth for each target of the engine.
fuzz: $(STAMP) $(CMAKE)
	$(BIN)/python -m tests.fuzz --seconds $$(($(FUZZ_SECONDS) / 2))
	$(CMAKE) -S plugin -B $(PLUGIN)-fuzz -DRAILWEAVE_SANITIZE=address,undefined > /dev/null
	$(CMAKE) --build $(PLUGIN)-fuzz --parallel 2 --target fuzz > /dev/null
	$(PLUGIN)-fuzz/fuzz $$(($(FUZZ_SECONDS) / 10))
	@cargo fuzz --version >/dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install --locked cargo-fuzz"; exit 1; }
	@cargo +nightly --version >/dev/null 2>&1 || { echo "nightly Rust is missing: rustup toolchain install nightly"; exit 1; }
	cd crates/sim && cargo +nightly fuzz run scenario -- -max_total_time=$$(($(FUZZ_SECONDS) / 5)) -max_len=768 -timeout=20
	cd crates/sim && cargo +nightly fuzz run input -- -max_total_time=$$(($(FUZZ_SECONDS) / 5)) -max_len=512 -timeout=20

# Ray is installed beside the virtual environment: it is too large for everybody's.
RAY := .validators/ray
$(RAY)/.installed: requirements/ray.lock $(STAMP)
	$(LOCKED)/ray.lock --upgrade --target $(RAY)
	touch $@

# What takes minutes and a person looks at; without NAME the table of them. WORDS are for the trial.
trial: $(STAMP) $(if $(filter ray,$(NAME)),$(RAY)/.installed)
	PYTHONPATH=$(CURDIR):$(CURDIR)/$(RAY) $(BIN)/python -m tests.trials $(NAME) $(WORDS)

bench: $(STAMP)
	$(BIN)/python -m benchmarks.steps

validation: $(STAMP) engine
	$(LOCKED)/plots.lock
	$(BIN)/python -m benchmarks.validation

golden: $(STAMP)
	$(BIN)/python -m tests.golden.refresh

docs: $(STAMP)
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.notebooks

# mkdocs and its theme are installed beside the virtual environment: only the site needs them. Without a network the site is skipped.
SITE := .validators/site
site:
	@test -d $(SITE)/material || { mkdir -p $(SITE) && $(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.lock --target $(SITE); } \
		|| { rm -rf $(SITE); echo "site: skipped, because mkdocs-material could not be installed into $(SITE)"; exit 0; }; \
	test ! -d $(SITE)/material || NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(SITE) $(PYTHON) -m mkdocs build --strict --quiet

validate-all: $(STAMP)
	@for f in examples/*.yaml; do echo "$$f"; $(BIN)/railweave verify -q --every "$$f" || exit 1; done

# CRD_CHECKOUTS is a folder with checkouts of the projects whose objects `railweave export kubernetes` writes.
validators: $(STAMP)
	src/railweave/live/lab/frr/frr-root.sh .validators/frr
	src/railweave/live/lab/frr/frr-root.sh .validators/frr-forky forky
	tools/libyang.sh $(BIN)/python
	tools/netplan.sh .validators/netplan
	tools/bare-root.sh .validators/bare
	tools/sarif.sh .validators/sarif
	tools/kubernetes-crds.sh .validators/crds $(CRD_CHECKOUTS)

# Not at the same time: apt has one lock, and whatever comes second goes without.
test-programs: validators
	tools/test-programs.sh

# Manual pages and completions; maturin takes what lies in this folder into the wheel.
MANUAL := railweave._sim.data/data

wheel: $(STAMP)
	rm -rf $(MANUAL)
	$(BIN)/python -m docs.man_pages $(MANUAL)
	$(BUILT) wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist . --config-settings build-args="--compatibility pypi"
	@ls dist/railweave-*.whl

try-wheel: wheel
	tools/try-wheel.sh $(BIN)/python

deb: plugin $(STAMP)
	tools/deb.sh $(BIN)/python $(PLUGIN) dist

release: $(STAMP) plugin
	tools/release.sh $(BIN) $(PLUGIN)

update: $(STAMP)
	tools/update.sh $(BIN)/python --upgrade

sbom: $(STAMP)
	$(BIN)/python tools/sbom.py

audit: $(STAMP)
	$(BIN)/python tools/audit.py $(if $(DB),--db $(DB),--allow-skip)

screenshot: $(STAMP)
	$(BIN)/python -m tests.outputs.report.screenshot docs/images/report.png
	$(BIN)/python -m tests.docs.howto_pictures docs/images/howto

zipapp: $(STAMP)
	$(BIN)/railweave host zipapp dist/railweave-host.pyz

clean:
	rm -rf $(VENV) out build dist railweave._sim.data src/railweave/_sim*.so .pytest_cache .ruff_cache .hypothesis

# railweave: every target sets up what it needs in .venv; see README.md.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ENGINE := Cargo.toml Cargo.lock $(wildcard crates/*/Cargo.toml) $(shell find crates/*/src -name '*.rs')

# Bytecode is kept, whatever the environment says: tests start the program hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo check test lint format bench golden docs screenshot validate-all validators test-programs zipapp engine wheel try-wheel fuzz validation \
	plugin plugin-test plugin-lint plugin-bench trial soak test-rxe test-nccl check-matrix check-matrix-lab deploy-trial day-two-trial bench-trial tune-ray-trial watch-demo console-trial watch-trial clean

help:
	@echo "make demo    build the example network into out/demo and verify it"
	@echo "make check   lint of what changed, and the quick tests: a minute"
	@echo "make test    run every test"
	@echo "make lint    ruff and pyright; rustfmt and clippy"
	@echo "make engine  build the packet engine's own program, target/release/railweave-sim"
	@echo "make bench   measure design, routes, build and prediction at 1,024 to 32,768 GPUs (half an hour); writes out/bench/steps.json"
	@echo "make fuzz    fuzz the packet engine and its input for FUZZ_SECONDS each (600); needs nightly Rust and cargo-fuzz"
	@echo "make validation  run the packet engine against models and tables; draws docs/images/validation"
	@echo "make golden  refresh tests/golden after an intended change (read the diff)"
	@echo "make docs    refresh the generated reference and schema, and what the notebook shows"
	@echo "make validate-all  every check and validator on every file of every example, 8,192 and 32,768 GPUs too: needs an hour and 16 GB"
	@echo "make wheel   build dist/railweave-*.whl, which installs where there is no compiler"
	@echo "make try-wheel  install that wheel into a clean environment without a compiler, run the demo with it"
	@echo "make check-matrix  draw FAULTS (600) faults for each operating system, and write what railweave check finds of them into docs/check.md"
	@echo "make deploy-trial  bring a design onto a lab and back by deploy while packets flow (needs root and FRR); writes what each wave lost into docs/deploy.md"
	@echo "make day-two-trial  life after the first day in labs: drains, upgrades, replacements, first boots, failure campaigns (needs root, FRR, make validators, dnsmasq, udhcpc); writes figures into docs/day-two.md"
	@echo "make bench-trial  carry out plans of benchmarks by perftest over Soft-RoCE, Open MPI and Slurm (needs root, QEMU, mmdebstrap, FRR, Open MPI); writes what came of them into docs/bench.md"
	@echo "make watch-demo  watch a lab, cut a cable in it, and draw what the console shows into docs/images/console (needs root, FRR, Chromium)"
	@echo "make watch-trial  watch a lab beside Prometheus, Alertmanager, VictoriaMetrics and node_exporter of Debian while a port fails (needs root and FRR); writes when who was told into docs/watch.md"
	@echo "make tune-ray-trial  run a study on workers of Ray, which it installs (240 MB) below .validators; writes what it took into docs/tune.md"
	@echo "make console-trial  make 15 different faults in a lab, and see each in the console with its cause (needs root and FRR; a quarter of an hour)"
	@echo "make trial NAME=set_up  run a trial of tests/trials, which takes minutes: set_up is how long predictions take until their first packet, and how soon signals end them"
	@echo "make screenshot  draw docs/images/report.png and those of the how-to in docs/images/howto; needs Chromium"
	@echo "make plugin  build the NCCL/RCCL net plugin and railweave-rdma-ping into build/plugin; needs a C compiler and CMake"
	@echo "make soak    the plugin under random faults, plain and under sanitizers (SOAK_JOBS runs at once, 4)"
	@echo "make test-nccl NCCL_SOURCE=DIR  NCCL's own core (checkouts of 2.28, 2.30) over the plugin, without a GPU; says why where it cannot"
	@echo "make test-rxe  the plugin over Soft-RoCE between two QEMU guests; says why where it cannot"
	@echo "make zipapp  write dist/railweave-host.pyz, railweave host as one file for servers"
	@echo "make test-programs  install what tests run beside railweave: DHCP servers, sshd, snmpd, a browser (root, apt; starts none of them)"
	@echo "make validators  fetch the outside validators: a root folder with FRR 10, libyang (need root), netplan"

$(STAMP): pyproject.toml $(ENGINE)
	@command -v cargo > /dev/null || { echo "railweave builds its packet engine with cargo: install Rust 1.88 or newer (https://rustup.rs)"; exit 1; }
	@test -n "$(PYTHON)" || { echo "railweave needs Python 3.11 or newer, with venv (Debian: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(STAMP)
	@mkdir -p out
	$(BIN)/railweave build examples/h100-rlb.yaml -o out/demo
	$(BIN)/railweave verify out/demo $(if $(wildcard .validators/frr),--frr-root .validators/frr)
	$(BIN)/railweave paths out/demo --src H100-01:gpu0_eth --dst H100-03:gpu0_eth --qps 4
	$(BIN)/railweave sim examples/h100-rlb.yaml --collective all-reduce --size 256M --qps 4 -o out/demo-prediction.html --quiet
	@echo
	@echo "Open out/demo/report.html, and out/demo-prediction.html for what an all-reduce gets; switch configurations are in out/demo/devices/, server files in out/demo/hosts/."

check: $(STAMP)
	tools/check.sh $(BIN)

test: $(STAMP) plugin-test
	$(BIN)/python -m pytest -n auto -rs
	cargo test --profile tests --quiet

lint: $(STAMP) plugin-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	cargo fmt --all --check
	PYO3_PYTHON=$(abspath $(BIN)/python) cargo clippy --workspace --release --all-targets -- -D warnings

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt --all

engine:
	cargo build --release

PLUGIN := build/plugin
CMAKE := $(or $(shell command -v cmake),$(BIN)/cmake)

$(BIN)/cmake: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check cmake

plugin: $(CMAKE)
	$(CMAKE) -S plugin -B $(PLUGIN) > /dev/null
	$(CMAKE) --build $(PLUGIN) --parallel 2

plugin-test: plugin
	plugin/tests/run.sh $(PLUGIN)

plugin-lint:
	plugin/tests/lint.sh

plugin-bench: plugin $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,plots]'
	$(BIN)/python plugin/bench/run.py $(PLUGIN)

SOAK_JOBS ?= 4

soak: $(CMAKE)
	CMAKE=$(CMAKE) JOBS=$(SOAK_JOBS) plugin/tests/soak.sh plugin $(PLUGIN)

# Checkouts of NVIDIA/nccl, built without a GPU.
test-nccl: plugin
	plugin/tests/nccl/run.sh $(PLUGIN) $(NCCL_SOURCE)

test-rxe: plugin
	plugin/tests/rxe/run.sh $(PLUGIN)

FUZZ_SECONDS ?= 600

fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install --locked cargo-fuzz"; exit 1; }
	@cargo +nightly --version >/dev/null 2>&1 || { echo "nightly Rust is missing: rustup toolchain install nightly"; exit 1; }
	cd crates/sim && cargo +nightly fuzz run scenario -- -max_total_time=$(FUZZ_SECONDS) -max_len=768 -timeout=20
	cd crates/sim && cargo +nightly fuzz run input -- -max_total_time=$(FUZZ_SECONDS) -max_len=512 -timeout=20

# Root only: writes the table of faults made in a lab into docs/check.md.
check-matrix-lab: $(STAMP)
	$(BIN)/python -m tests.lab.matrix

# Root only: labs of whole examples, some minutes each.
deploy-trial: $(STAMP)
	$(BIN)/python -m tests.lab.deploy_trial

# Root only: labs of whole examples, some minutes each.
day-two-trial: $(STAMP)
	$(BIN)/python -m tests.lab.day_two

# Root only: two virtual machines, a lab, and a Slurm of four nodes; the first time it makes their root folder, .validators/bench.
bench-trial: $(STAMP)
	$(BIN)/python -m tests.bench.trial

# Ray is installed beside the virtual environment: it is too large for everybody's.
RAY := .validators/ray
$(RAY)/.installed: $(STAMP)
	$(BIN)/python -m pip install --quiet --upgrade --target $(RAY) 'ray>=2.40,<3'
	touch $@

tune-ray-trial: $(RAY)/.installed
	PYTHONPATH=$(CURDIR):$(CURDIR)/$(RAY) $(BIN)/python -m benchmarks.tune_ray

# Root only: a lab, a browser.
watch-demo: $(STAMP)
	@mkdir -p docs/images/console
	$(BIN)/python -m tests.watch.console_demo docs/images/console

# Root only: a lab, and Debian's prometheus, prometheus-alertmanager, prometheus-node-exporter, victoria-metrics, snmpd.
watch-trial: $(STAMP)
	$(BIN)/python -m tests.watch.trial

console-trial: $(STAMP)
	$(BIN)/python -m tests.watch.console_trial

# What takes minutes and a person looks at: a module of tests/trials.
trial: $(STAMP)
	@test -f "tests/trials/$(NAME).py" || { echo "make trial NAME=NAME, one of: $(patsubst tests/trials/%.py,%,$(filter-out %/__init__.py,$(wildcard tests/trials/*.py)))"; exit 2; }
	$(BIN)/python -m tests.trials.$(NAME)

bench: $(STAMP)
	$(BIN)/python -m benchmarks.steps

validation: $(STAMP) engine
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,plots]'
	$(BIN)/python -m benchmarks.validation

golden: $(STAMP)
	$(BIN)/python -m tests.golden.refresh

docs: $(STAMP)
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.notebooks

validate-all: $(STAMP)
	@for f in examples/*.yaml; do echo "$$f"; $(BIN)/railweave verify -q --every "$$f" $(foreach one,frr netplan,$(if $(wildcard .validators/$(one)),--$(one)-root .validators/$(one))) || exit 1; done

validators: $(STAMP)
	src/railweave/lab/frr/frr-root.sh .validators/frr
	src/railweave/lab/frr/frr-root.sh .validators/frr-forky forky
	tools/libyang.sh $(BIN)/python
	tools/netplan.sh .validators/netplan

test-programs:
	tools/test-programs.sh

FAULTS ?= 600

check-matrix: $(STAMP)
	$(BIN)/python -m tests.live.matrix $(FAULTS)

wheel: $(STAMP)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . -C build-args="--compatibility pypi"
	@ls dist/railweave-*.whl

try-wheel: wheel
	tools/try-wheel.sh $(BIN)/python

screenshot: $(STAMP)
	$(BIN)/python -m tests.report.screenshot docs/images/report.png
	$(BIN)/python -m tests.docs.howto_pictures docs/images/howto

zipapp: $(STAMP)
	$(BIN)/railweave host zipapp dist/railweave-host.pyz

clean:
	rm -rf $(VENV) out build dist src/railweave/_sim*.so .pytest_cache .ruff_cache .hypothesis

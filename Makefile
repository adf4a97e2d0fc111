# SPDX-License-Identifier: Apache-2.0
# Front door: every target does the set-up that it needs. The work is in CMake (CMakePresets.json) and in the scripts
# named below.
PREFIX ?= /usr/local
STREAM ?= examples/streams/inception_v3.jsonl
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= stream timeline
BENCH ?=
PYTHON ?= python3
WEIR := build/bin/weir
SOURCE_FOLDERS := include src tools tests examples bench python

.DEFAULT_GOAL := help
.PHONY: help setup python build run examples test test-long coverage bench fuzz format format-check install deb docs clean

help:
	@echo "make run           build the library and the tool, replay a recorded stream out of order, leave a timeline to look at"
	@echo "make build         build the library and the tool alone (build/bin/weir)"
	@echo "make examples      build these and the examples (build/bin)"
	@echo "make test          run the test suite: optimised, and under sanitizers (15 minutes on two quiet cores)"
	@echo "make test-long     run the rest: full-size tests, clang optimised, coverage, more random schedules, valgrind"
	@echo "make bench         build and run the benchmarks, beside other runtimes (BENCH=\"submit ranges\" picks some)"
	@echo "make coverage      line coverage of src/window, src/plan and tools/plan; fails below 95 %"
	@echo "make fuzz          fuzz the readers of streams and timelines, each for FUZZ_SECONDS (60)"
	@echo "make format        format the sources; make format-check only says what is not formatted"
	@echo "make install       install library, headers, tool, manual and examples' sources to PREFIX (/usr/local)"
	@echo "make deb           build Debian packages (build/deb): libraries, development files, weir-tools; lintian's errors fail it"
	@echo "make docs          the API reference by Doxygen (build/docs/html); a warning fails it"
	@echo "make python        install the Python package for the interpreter PYTHON (python3), the library inside"
	@echo "make setup         install the Debian packages that make run needs"
	@echo "make clean         remove everything that was built"
	@echo "Each target first installs the Debian packages that it needs and that are missing (tools/packages.txt), and names them."

INSTALL_PACKAGES := @tools/setup/install_packages.sh

# Configures and builds the preset $(1) in build/; what is configured there already stays.
define build_preset
	@mkdir -p build && cmake --preset $(1) >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset $(1)
endef

setup:
	$(INSTALL_PACKAGES) run

build: setup
	@echo "build: the library and the tool, optimised, in build/"
	$(call build_preset,plain)

examples:
	$(INSTALL_PACKAGES) run examples
	$(call build_preset,examples)

run: build
	@echo; echo "== How much of $(STREAM) can overlap: hazards between raw addresses, then with renaming"
	@$(WEIR) plan $(STREAM) --hazards address
	@$(WEIR) plan $(STREAM) --hazards buffer
	@echo; echo "== Out of order on this machine's CPU: each kernel keeps a worker busy for 20 times its recorded time"
	@$(WEIR) replay $(STREAM) --device cpu --time-scale 20 --check --timeline build/timeline.html
	@echo; echo "== All sample streams on a simulated GPU without host costs"
	@$(WEIR) replay examples/streams/*.jsonl --device sim:ideal --window 4096 --check
	@echo; echo "Timeline of the run on the CPU: open $(CURDIR)/build/timeline.html in a browser."

test:
	$(INSTALL_PACKAGES) run examples test
	@python3 tools/suite/run_suite.py

test-long:
	$(INSTALL_PACKAGES) run examples test
	@python3 tools/suite/run_suite.py long

coverage:
	$(INSTALL_PACKAGES) run examples test
	@python3 tools/suite/run_suite.py coverage

bench:
	$(INSTALL_PACKAGES) run bench
	$(call build_preset,bench)
	@$(WEIR) bench $(BENCH)

fuzz:
	$(INSTALL_PACKAGES) run examples test
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz --target $(addprefix fuzz_,$(FUZZ_TARGETS))
	@for target in $(FUZZ_TARGETS); do \
	  mkdir -p build-fuzz/found/$$target && echo "fuzzing $$target for $(FUZZ_SECONDS) s" && \
	  build-fuzz/bin/fuzz_$$target -max_len=4000 -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build-fuzz/ \
	    -print_final_stats=1 build-fuzz/found/$$target tests/fuzz/corpus/$$target >build-fuzz/$$target.log 2>&1 || \
	    { tail -n 50 build-fuzz/$$target.log; exit 1; }; \
	  grep -E '^stat::(number_of_executed_units|new_units_added)' build-fuzz/$$target.log; \
	done

format:
	@find $(SOURCE_FOLDERS) -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' | xargs clang-format -i

format-check:
	@python3 tools/suite/run_suite.py sources

install: build
	@cmake --install build --prefix $(PREFIX)

deb:
	$(INSTALL_PACKAGES) run deb
	@tools/debian/make_packages.sh build/deb

python:
	$(INSTALL_PACKAGES) run
	@$(PYTHON) -m pip install ./python

docs:
	$(INSTALL_PACKAGES) docs
	@mkdir -p build/docs
	@python3 tools/docs/doxygen_filter.py --check include/weir/*.h
	@doxygen tools/docs/Doxyfile
	@echo "API reference: build/docs/html/index.html"

clean:
	rm -rf build build-*

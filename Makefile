# alignd: `make run` builds and serves the shipped models, `make test` builds and tests; both install what is missing first.
# `make help` lists the targets and what may be set.

VERSION := 0.1.0

#? Settings
#? BUILD: build, the folder that everything is built in; build/ARCH for an ARCH
#? MODELS, PREFIX, DESTDIR, STRIP=1: which models are installed, and where; without debug information
#? LISTEN, ARGUMENTS: where alignd is run, and with which other options
#? ARCH: arm64: cross-compiled, for this Debian architecture (amd64, arm64)
#? CC, CXX, CFLAGS, OPTIMIZE, JOBS: the compilers, more flags for C, -O2, processes at a time
#? V=1, WERROR=1, SLOW=1: show the commands; warnings are errors; tests take fewer samples
#? SANITIZE: address,undefined or thread
BUILD    ?= build$(ARCH:%=/%)
# Another architecture than this machine's is compiled for by Debian's cross compiler, against the libraries in SYSROOT.
TRIPLE_amd64 := x86_64-linux-gnu
TRIPLE_arm64 := aarch64-linux-gnu
CROSS    := $(TRIPLE_$(if $(ARCH),$(filter-out $(shell dpkg --print-architecture),$(ARCH))))
SYSROOT  ?= $(if $(CROSS),$(abspath $(BUILD))/sysroot)
ifeq ($(origin CC),default)
CC := $(CROSS:%=%-)gcc$(SYSROOT:%= --sysroot=%)
endif
ifeq ($(origin CXX),default)
CXX := $(CROSS:%=%-)g++$(SYSROOT:%= --sysroot=%)
endif
JOBS     ?= $(shell nproc)
FOLDERS_WITH = $(patsubst weights/%/$(1),weights/%,$(wildcard weights/*/$(1)))
MODELS   ?= $(filter $(call FOLDERS_WITH,model.safetensors),$(call FOLDERS_WITH,config.json))
LISTEN   ?= 127.0.0.1:8080
PREFIX   ?= /usr/local
PYTHON   ?= /usr/bin/python3
OPTIMIZE ?= -O2
SUBMAKE   = $(MAKE) --no-print-directory -j$(JOBS)
# libcheck's own limit, 4 s, is too tight for a busy machine and sanitizers
export CK_DEFAULT_TIMEOUT ?= 60

PACKAGES        := gcc g++ make pkg-config libmicrohttpd-dev libgnutls28-dev libsystemd-dev libjansson-dev libopenblas-dev \
                   libsentencepiece-dev libicu-dev libxml2-dev libcld2-dev zlib1g-dev libcmark-gfm-dev libcmark-gfm-extensions-dev libre2-dev libarchive-dev libyaml-dev
TEST_PACKAGES   := $(PACKAGES) check libcurl4-openssl-dev openssl
PYTHON_PACKAGES := python3-torch python3-numpy python3-sentencepiece python3-tqdm python3-pytest
CI_PACKAGES     := $(TEST_PACKAGES) $(PYTHON_PACKAGES) clang clang-format libclang-rt-dev
INSTALL_MISSING  = sh docker/debian/install_missing.sh $(1)
# what PACKAGES hold, for the architecture that is compiled for
INSTALL_FOR_ARCH = $(if $(CROSS),$(call INSTALL_MISSING,make $(subst _,-,gcc-$(CROSS) g++-$(CROSS))) && \
	sh docker/release/fetch.sh $(ARCH) $(SYSROOT) libc6-dev $(filter-out gcc g++ make pkg-config openssl,$(1)),$(call INSTALL_MISSING,$(1)))

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
.PHONY: help all run install install-program install-models install-icu-data install-man install-units man deb clean deps deps-test deps-python deps-node deps-ci \
	test test-threads check-http check-memory check-python check-readme check-clients check-page check-man check-metrics check-hardening \
	check-systemd check-container check-package check-deploy check-slurm check-arm64 check-release page-tools asan tsan fuzz warnings-clang format format-check \
	layers readme results bench bench-models bench-page pictures check-load check-faults check-soak check-abuse check-bodies check-many check-scale check-queueing show-signals

help:
	@awk '/^#\?/ { sub(/^#\? ?/, ""); i = index($$0, ": "); if (i) printf "  %-42s %s\n", substr($$0, 1, i - 1), substr($$0, i + 2); else print "\n" $$0 }' Makefile

#? To use it
#? run: installs what is missing, builds, serves the models of weights/ on LISTEN
#? all: builds alignd, and the word aligner of weights/
#? install: install-program, install-models, install-man, install-units (systemd's)
#? deb: a Debian package in BUILD/deb
#? man: alignd(1)
#? clean: removes build/

all: $(BUILD)/alignd $(if $(wildcard weights/gibbs/*.c),$(BUILD)/gibbs)

run: deps
	@$(SUBMAKE) all
	$(BUILD)/alignd --listen $(LISTEN) $(ARGUMENTS)

install: install-program install-models install-man install-units
install-program: all
	install -D -m 755 $(if $(STRIP),--strip --strip-program=$(CROSS:%=%-)strip) $(BUILD)/alignd $(DESTDIR)$(PREFIX)/bin/alignd
install-models:
	@for model in $(MODELS); do install -d $(DESTDIR)$(PREFIX)/share/alignd/$$(basename $$model); \
	  install -m 644 $$model/* $(DESTDIR)$(PREFIX)/share/alignd/$$(basename $$model)/; done
# What alignd reads of ICU's data, for images, in which no other program needs the rest.
install-icu-data:
	sh docker/icu_data.sh "$(DESTDIR)" "$(SYSROOT)" "$(CROSS:%=%-)"
install-man: man
	install -D -m 644 $(BUILD)/alignd.1 $(DESTDIR)$(PREFIX)/share/man/man1/alignd.1
	install -D -m 644 docker/man/alignd-model.5 $(DESTDIR)$(PREFIX)/share/man/man5/alignd-model.5
install-units:
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	@for unit in $(wildcard docker/systemd/*); do sed 's|/usr/bin/alignd|$(PREFIX)/bin/alignd|; s|/usr/share/alignd|$(PREFIX)/share/alignd|g' $$unit \
	  >$(DESTDIR)$(PREFIX)/lib/systemd/system/$$(basename $$unit); done

# alignd(1) is what --help says, between what docker/man/alignd.h2m says.
man: $(BUILD)/alignd.1
$(BUILD)/alignd.1: $(BUILD)/alignd docker/man/alignd.h2m
	@$(call INSTALL_MISSING,help2man)
	help2man --no-info --include docker/man/alignd.h2m --output $@ $(if $(CROSS),$(MAN_OF),$<)
# of another architecture's program: one of the same version that runs here
MAN_OF ?= build/alignd

# The same bytes, whenever and wherever it is built: its times are that of the last commit.
SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y CHANGELOG.md))
deb: deps
	@$(call INSTALL_MISSING,build-essential dpkg-dev debhelper help2man)
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) ARCH=$(or $(ARCH),$(shell dpkg --print-architecture)) SYSROOT=$(SYSROOT) MAN_OF=$(abspath $(MAN_OF)) \
	  sh docker/debian/package.sh $(BUILD) $(VERSION) $(JOBS) "$(filter-out gcc g++ make,$(PACKAGES))" $(MODELS)

clean:
	rm -rf build

deps:
	@$(call INSTALL_FOR_ARCH,$(PACKAGES))
deps-test:
	@$(call INSTALL_FOR_ARCH,$(TEST_PACKAGES))
deps-python:
	@$(call INSTALL_MISSING,$(PYTHON_PACKAGES))
# Node.js from elsewhere may bring npm along; Debian has it apart.
deps-node:
	@{ command -v node && command -v npm; } >/dev/null || $(call INSTALL_MISSING,nodejs npm)
deps-ci:
	@$(call INSTALL_MISSING,$(CI_PACKAGES))

#? To test it (.ci/run runs all that are quick)
#? test: installs what is missing, builds, runs the unit tests
#? check-http: the daemon over HTTP
#? check-python: training, conversion and export
#? check-readme: runs what the documents tell to type, and compares the answers
#? check-clients: clients of LibreTranslate, DeepL, Google and Microsoft, clients made from /openapi.json, readers of streams and documents (npm)
#? check-page: the page in Debian's chromium (npm)
#? check-man, check-metrics: the man pages; /metrics by Prometheus's linter
#? check-hardening, check-systemd: the program and the unit as they are secured (root)
#? check-container, check-package: the image, and the Debian package, built and used (root)
#? check-deploy: what docker/ deploys, by HAProxy, promtool, docker-compose, kubectl and Kubernetes' schemas
#? check-slurm: docker/slurm by a Slurm of one node: tasks killed and requeued (root; minutes, in which Slurm waits before it requeues)
#? asan, tsan: unit and HTTP tests under AddressSanitizer and UBSan; under ThreadSanitizer
#? warnings-clang: built by clang without a warning
#? fuzz: every reader of foreign bytes; FUZZ_SECONDS=60 each, FUZZ_RUNS=0: only the corpus; FUZZ="html spm"; FUZZ=document FUZZ_FORMAT=srt
#? check-memory: every allocation fails in turn
#? check-arm64: cross-compiled, and run by QEMU
#? check-release: docker/release.sh in a clone: packages and images for amd64 and arm64, and all that goes with them (root)

test: deps-test
	@$(SUBMAKE) $(BUILD)/tests/run $(BUILD)/alignd
	$(BUILD)/tests/run

# Of the unit tests those that start threads.
test-threads: deps-test
	@$(SUBMAKE) $(BUILD)/tests/run
	for suite in $(THREADED); do CK_RUN_SUITE=$$suite $(BUILD)/tests/run || exit 1; done
THREADED := translator segmenter scheduler integrity chores limiter usage kept_files glossaries metrics keys catalog cache log events request health

check-http: deps-test
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/http/run $(BUILD)/tests/memory/shortage.so
	$(BUILD)/tests/http/run $(BUILD)/alignd

# Every allocation of requests of every kind, and of start-up, fails in turn. check-http has a sample of it.
check-memory: deps-test
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/http/run $(BUILD)/tests/memory/shortage.so
	CK_RUN_SUITE=memory MEMORY_STRIDE=1 $(BUILD)/tests/http/run $(BUILD)/alignd

check-python: deps deps-python
	@$(SUBMAKE) $(BUILD)/alignd
	$(PYTHON) -m pytest -q tests

DOCUMENTS := README.md server/README.md CONTRIBUTING.md
check-readme: deps deps-node deps-python
	@$(call INSTALL_MISSING,python3 curl)
	@$(SUBMAKE) all
	python3 tests/readme.py $(BUILD) $(DOCUMENTS) weights/README.md docker/README.md

check-clients: deps deps-node
	@$(call INSTALL_MISSING,gettext libxml2-utils python3)
	@$(SUBMAKE) all $(BUILD)/xliff/xml.xsd
	npm ci --prefix tests/clients --no-audit --no-fund --silent
	node tests/clients/run.mjs $(BUILD)/alignd
	node tests/clients/dialects.mjs $(BUILD)/alignd
	node tests/clients/openapi.mjs $(BUILD)/alignd
	node tests/clients/typescript.mjs $(BUILD)/alignd
	node tests/clients/client.mjs $(BUILD)/alignd
	node tests/clients/stream.mjs $(BUILD)/alignd
	node tests/clients/documents.mjs $(BUILD)/alignd $(BUILD)/xliff

check-page: page-tools
	node tests/page/run.mjs $(BUILD)/alignd
bench-page: page-tools
	@node tests/page/bench.mjs $(BUILD)/alignd
pictures: page-tools
	@$(call INSTALL_MISSING,pngquant webp)
	node tests/page/shots.mjs $(BUILD)/alignd tests/page/screenshots README
	pngquant 64 --force --ext .png --skip-if-larger tests/page/screenshots/*.png
	node tests/page/moving.mjs $(BUILD)/alignd tests/page/screenshots/moving.webp
page-tools: deps deps-node
	@$(call INSTALL_MISSING,chromium)
	@$(SUBMAKE) all $(BUILD)/tests/bench/random_model
	npm ci --prefix tests/page --no-audit --no-fund --silent

check-man: man
	@$(call INSTALL_MISSING,man-db groff bsdextrautils)
	sh tests/man.sh $(BUILD)/alignd.1 $(BUILD)/alignd

check-metrics:
	@$(call INSTALL_MISSING,$(PACKAGES) curl)
	@$(SUBMAKE) $(BUILD)/alignd $(PROMTOOL)
	sh tests/metrics.sh $(BUILD)/alignd $(PROMTOOL)

check-hardening: deps
	@$(SUBMAKE) all
	sh tests/hardening.sh $(BUILD)

check-systemd: deps
	@$(call INSTALL_MISSING,systemd python3-seccomp curl procps)
	@$(SUBMAKE) all
	sh tests/own_root.sh sh tests/systemd.sh $(BUILD)

# By a Docker engine or podman where there is one; else by Debian's buildah.
check-container:
	@{ docker info || podman info; } >/dev/null 2>&1 || { $(call INSTALL_MISSING,buildah debootstrap util-linux iproute2 procps curl); }
	@$(call INSTALL_MISSING,python3)
	sh tests/own_root.sh bash tests/container.sh

# Built twice, looked at by lintian, installed in a container of Debian 12, used, removed, purged.
check-package: deb
	@$(call INSTALL_MISSING,lintian buildah debootstrap util-linux iproute2 procps curl)
	sh tests/reproducible.sh $(BUILD)
	lintian --fail-on error $(BUILD)/deb/alignd_$(VERSION)_*.deb
	sh tests/own_root.sh bash tests/package.sh $(BUILD)/deb/alignd_$(VERSION)_*.deb

PROMTOOL ?= $(or $(shell command -v promtool),$(BUILD)/promtool/promtool)
KUBECTL  ?= $(or $(shell command -v kubectl),$(BUILD)/kubectl/kubectl)
check-deploy: deps deps-node
	@$(call INSTALL_MISSING,haproxy docker-compose curl)
	@$(SUBMAKE) all $(PROMTOOL) $(KUBECTL)
	npm ci --prefix tests/deploy --no-audit --no-fund --silent
	sh tests/deploy/check.sh $(BUILD)/alignd $(PROMTOOL) $(KUBECTL)
check-slurm: deps
	@$(call INSTALL_MISSING,slurm-wlm munge procps)
	@$(SUBMAKE) $(BUILD)/alignd
	bash tests/deploy/slurm.sh $(BUILD)/alignd weights/en-fr
$(BUILD)/promtool/promtool:
	sh docker/debian/unpack.sh prometheus $(@D) usr/bin/$(@F)
$(BUILD)/kubectl/kubectl:
	sh docker/debian/unpack.sh kubernetes-client $(@D) usr/bin/$(@F)
# OASIS' schemas, which name a copy of xml.xsd on the network
$(BUILD)/xliff/xml.xsd:
	sh docker/debian/unpack.sh php-symfony-translation $(@D) 'usr/share/php/Symfony/*/schemas/*.xsd'
	sed -i 's|schemaLocation="[^"]*/xml.xsd"|schemaLocation="xml.xsd"|' $(@D)/xliff-core-*.xsd

# docker/release.sh in a clone
check-release:
	@$(call INSTALL_MISSING,git buildah debootstrap qemu-user-static python3 util-linux)
	sh tests/own_root.sh sh tests/release.sh

check-arm64:
	@$(call INSTALL_MISSING,qemu-user-static curl)
	@$(MAKE) --no-print-directory ARCH=arm64 BUILD=build/arm64 deps-test
	@$(SUBMAKE) ARCH=arm64 BUILD=build/arm64 WERROR=1 SLOW=1 build/arm64/alignd build/arm64/tests/run
	CK_TIMEOUT_MULTIPLIER=15 sh tests/arm64.sh build/arm64 build/arm64/sysroot

# Sanitizers have build folders of their own and run both unit tests (tsan: those with threads) and the HTTP tests. An allocation that is too
# large is NULL there too, as it is without them: tests of lacking memory need it. What the parent of all tests has freed is kept from
# reuse up to 16 MB only: each test's process looks for leaks in all of it.
asan:
	CK_DEFAULT_TIMEOUT=600 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=16 $(MAKE) BUILD=build/asan SANITIZE=address,undefined OPTIMIZE=-O1 test check-http
tsan:
	CK_DEFAULT_TIMEOUT=600 TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1 $(MAKE) BUILD=build/tsan SANITIZE=thread OPTIMIZE=-O1 test-threads check-http

warnings-clang:
	@$(SUBMAKE) BUILD=build/clang CC=clang CXX=clang++ WERROR=1 build/clang/tests/run build/clang/alignd
	build/clang/tests/run

# libFuzzer over every reader of foreign bytes, FUZZ_SECONDS for each (0: no bound; FUZZ_RUNS=0: only the corpus, some seconds); FUZZ: which;
# FUZZ_FORMAT: of documents, one format only. What is found goes to build/fuzz/findings; mended, it becomes a file of tests/fuzz/corpus.
FUZZ         ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 60
FUZZ_RUNS    ?= -1
FUZZ_BUILD   := BUILD=build/fuzz CC=clang CXX=clang++ SANITIZE=address,undefined,fuzzer-no-link OPTIMIZE=-O1
fuzz: deps-test
	@$(call INSTALL_MISSING,clang libclang-rt-dev)
	@$(SUBMAKE) $(FUZZ_BUILD) $(FUZZ:%=build/fuzz/tests/fuzz/%)
	@sh tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_RUNS) $(FUZZ)

#? To change it
#? format, format-check: clang-format
#? layers: includes of model/ and server/ only in the allowed direction
#? pictures: the documents' pictures of the page (npm); TRANSFORMER=FOLDER: of its heads, too
#? readme: writes into the documents what their commands print now

SOURCES = $(call IN_ROOMS,weights model server,[ch]) $(call IN_ROOMS,model server,cc) $(wildcard tests/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])
format:
	@clang-format -i $(SOURCES)
format-check:
	@clang-format --dry-run -Werror $(SOURCES)

layers:
	@python3 tests/layers.py

readme: deps deps-node
	@$(SUBMAKE) all
	python3 tests/readme.py --write $(BUILD) $(DOCUMENTS)

#? To measure it (on a machine that has nothing else to do)
#? bench: the machine's ceilings; alignd on shipped and random models; variables: tests/bench/run.sh
#? bench-page: first paint, drawing and size of the page in Debian's chromium (npm)
#? check-load, check-faults, check-soak, check-abuse: overload; what goes wrong; hours of mixed load; the worst requests, and every kind of body (check-bodies): tests/README.md
#? check-many: a hundred models, loaded and unloaded for MANY_SECONDS=300
#? bench-models: a hundred models of Bergamot's tiny size: time until ready, the first request of a cold one, memory
#? check-scale, check-queueing, show-signals: replicas behind HAProxy; latency predicted and measured; /metrics under load
#? results: trains what is missing and writes weights/RESULTS.md; DATA=CORPORA, TABLES="a g1", BUDGET=3600

bench: deps
	@$(SUBMAKE) $(BUILD)/alignd $(BENCH_TOOLS:%=$(BUILD)/tests/bench/%)
	@sh tests/bench/run.sh $(BUILD)
# oneDNN beside it where it is installed
BENCH_TOOLS = bench clients lexicon random_model split $(if $(shell $(CC) -E -include dnnl.h -x c /dev/null >/dev/null 2>&1 && echo yes),onednn)

LOAD_TOOLS := load faults soak abuse bodies
$(LOAD_TOOLS:%=check-%): check-%: deps-test
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/load/$*
	$(BUILD)/tests/load/$* $(BUILD)/alignd $(ARGUMENTS)

# the worst requests, and every kind of body
check-abuse: check-bodies

MANY_SECONDS ?= 300
check-many: deps
	@$(call INSTALL_MISSING,python3)
	@$(SUBMAKE) $(BUILD)/alignd
	python3 -B tests/load/many_models.py $(BUILD)/alignd --seconds $(MANY_SECONDS)

bench-models: deps
	@$(call INSTALL_MISSING,python3)
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/bench/random_model
	@python3 -B tests/load/cold_models.py $(BUILD)/alignd $(BUILD)/tests/bench/random_model

check-scale: deps
	@$(call INSTALL_MISSING,haproxy python3)
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/bench/clients
	BUILD=$(BUILD) python3 -B tests/scale/balance.py
check-queueing show-signals: deps
	@$(call INSTALL_MISSING,python3)
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/bench/clients
	BUILD=$(BUILD) python3 -B tests/scale/$(lastword $(subst -, ,$@)).py

results: deps deps-python
	@$(SUBMAKE) $(BUILD)/alignd
	$(PYTHON) -m weights.results $(if $(DATA),--data $(DATA)) --alignd $(BUILD)/alignd $(TABLES:%=--table %) $(if $(BUDGET),--budget $(BUDGET))

# ---- How it is built ----

MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wcast-qual -Wwrite-strings -Wformat=2 $(if $(WERROR),-Werror)
C_WARNINGS := $(WARNINGS) -Wstrict-prototypes -Wmissing-prototypes
# -fcf-protection is x86-64's, -mbranch-protection arm64's name for it
HARDEN   := -fPIE -fstack-protector-strong -fstack-clash-protection $(if $(SANITIZE),,-D_FORTIFY_SOURCE=3) \
	$(if $(findstring x86_64,$(MACHINE)),-fcf-protection=full) $(if $(findstring aarch64,$(MACHINE)),-mbranch-protection=standard)
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all -DSANITIZED)
COMMON   := $(OPTIMIZE) -g -MMD -MP -I. -DALIGND_VERSION='"$(VERSION)"' $(HARDEN) $(SANITIZER) $(if $(SANITIZE)$(SLOW),-DSLOW)
# _GNU_SOURCE: POSIX threads and clocks, accept4 and pipe2; the language itself stays C11
CFLAGS_ALL   = -std=c11 -D_GNU_SOURCE $(COMMON) -isystem $(SYSROOT)/usr/include/libxml2 $(C_WARNINGS) $(CFLAGS)
CXXFLAGS_ALL = -std=c++17 $(COMMON) $(WARNINGS) $(CXXFLAGS)
LDFLAGS_ALL  = -pie -Wl,-z,relro,-z,now,-z,noexecstack $(SANITIZER) $(LDFLAGS)
LIBS = -lmicrohttpd -lgnutls -lsystemd -ljansson -lsentencepiece -licui18n -licuuc -lxml2 -lcld2 -lcmark-gfm-extensions -lcmark-gfm -lz -lre2 -larchive -lyaml -lstdc++ -lpthread -lm

KERNEL_SOURCES := model/compute/kernels.c model/compute/kernels_blocks.c model/compute/products_float.c model/compute/products_int8.c
# of a folder and its rooms, the files that end so
IN_ROOMS        = $(foreach folder,$(1),$(wildcard $(folder)/*.$(2) $(folder)/*/*.$(2)))
OBJECTS_OF      = $(addprefix $(BUILD)/,$(addsuffix .o,$(basename $(1))))
MODEL_OBJECTS  := $(call OBJECTS_OF,$(filter-out $(KERNEL_SOURCES),$(call IN_ROOMS,model,c)) $(call IN_ROOMS,model,cc))
SERVER_OBJECTS := $(call OBJECTS_OF,$(call IN_ROOMS,server,c) $(call IN_ROOMS,server,cc) server/page_files)
# The word aligner, weights/aligner.py's program. Where weights/ is not, as in a package, it is not built.
GIBBS_OBJECTS  := $(call OBJECTS_OF,$(wildcard weights/gibbs/*.c))
TEST_OBJECTS   := $(call OBJECTS_OF,$(wildcard tests/*.c tests/model/*.c tests/server/*.c tests/weights/*.c tests/model/*/*.c tests/server/*/*.c))

# These are compiled once per instruction set; the processor chooses at run time. Products and sums may fuse there, but not after
# exact int8 sums: however a logit is computed, it shall have the same bits.
KERNELS := generic
ifneq (,$(findstring x86_64,$(MACHINE)))
KERNELS += v3 v4 vnni
endif
KERNEL_FLAGS_v3 := -march=x86-64-v3
KERNEL_FLAGS_v4 := -march=x86-64-v4 -mprefer-vector-width=512
KERNEL_FLAGS_vnni := $(KERNEL_FLAGS_v4) -mavx512vnni
MODEL_OBJECTS += $(foreach source,$(KERNEL_SOURCES:.c=),$(KERNELS:%=$(BUILD)/$(source)-%.o))

Q   := $(if $(V),,@)
SAY  = $(if $(V),,@echo "  $(1)  $(2)")

$(BUILD)/alignd: $(MODEL_OBJECTS) $(SERVER_OBJECTS)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(BUILD)/gibbs: $(GIBBS_OBJECTS) $(BUILD)/model/base/error.o
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lm

# A main.o holds a program's main(): everything else is under test.
$(BUILD)/tests/run: $(MODEL_OBJECTS) $(filter-out %/main.o,$(SERVER_OBJECTS) $(GIBBS_OBJECTS)) $(TEST_OBJECTS)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcheck_pic -lsubunit -lrt

$(BUILD)/tests/http/run: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/http/*.c) tests/load/worst.c)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcurl -ljansson -lcheck_pic -lsubunit -lrt -lpthread -lm

FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(wildcard tests/fuzz/fuzz_*.c),$(wildcard tests/fuzz/*.c)))
$(FUZZ:%=$(BUILD)/tests/fuzz/%): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/fuzz_%.o $(FUZZ_OBJECTS) $(MODEL_OBJECTS) $(filter-out $(BUILD)/server/main.o,$(SERVER_OBJECTS))
	$(call SAY,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $^ $(LIBS)

LOAD_OBJECTS := $(filter-out $(LOAD_TOOLS:%=$(BUILD)/tests/load/%.o),$(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/load/*.c)))
$(LOAD_TOOLS:%=$(BUILD)/tests/load/%): %: %.o $(LOAD_OBJECTS)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lpthread -lm

# Preloaded: never sanitized
$(BUILD)/tests/memory/shortage.so: tests/memory/shortage.c tests/memory/shortage.h
	@mkdir -p $(@D)
	$(call SAY,LINK,$@)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g -I. -fPIC -shared $(C_WARNINGS) -o $@ $<

# The linker sends calls of the wrapped functions through tests/bench/parts.c, which takes their time.
BENCH_OBJECTS := bench ceilings compute decode measure parts $(filter-out reading-vnni,$(KERNELS:%=reading-%))
BENCH_WRAPPED := linear_apply linear_look_up encoder_run encoder_begin encoder_advance heads_look heads_look_around decoder_start decoder_remember decoder_step attention_run output_run search_advance
$(BUILD)/tests/bench/bench: $(MODEL_OBJECTS) $(BENCH_OBJECTS:%=$(BUILD)/tests/bench/%.o)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $(BENCH_WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(LIBS) -lopenblas

$(BUILD)/tests/bench/onednn: BENCH_LIBS = -ldnnl
$(BUILD)/tests/bench/random_model: BENCH_LIBS = -lm
$(BUILD)/tests/bench/random_model: $(BUILD)/tests/bench/random_shape.o
$(BUILD)/tests/bench/clients $(BUILD)/tests/bench/onednn: $(BUILD)/tests/bench/measure.o
$(BUILD)/tests/bench/lexicon: $(MODEL_OBJECTS) $(BUILD)/tests/bench/measure.o
$(BUILD)/tests/bench/split: $(MODEL_OBJECTS) $(BUILD)/tests/bench/compute.o $(BUILD)/tests/bench/measure.o
$(BUILD)/tests/bench/detection: $(BUILD)/server/api/language.o $(BUILD)/server/api/cld2.o $(MODEL_OBJECTS)
$(BUILD)/tests/bench/lexicon $(BUILD)/tests/bench/split $(BUILD)/tests/bench/detection: BENCH_LIBS = $(LIBS)
$(addprefix $(BUILD)/tests/bench/,clients random_model onednn lexicon split detection): %: %.o
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(BENCH_LIBS)

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call SAY,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# The page, as a C table
PAGE := $(sort $(wildcard server/page/*.html server/page/*.css server/page/*.js server/page/*.svg))
$(BUILD)/server/page_files.c: server/page/embed.sh $(PAGE) $(wildcard server/page)
	@mkdir -p $(@D)
	$(call SAY,PAGE,$@)
	$(Q)sh server/page/embed.sh $(PAGE) >$@.new && mv $@.new $@
$(BUILD)/server/page_files.o: $(BUILD)/server/page_files.c
	$(call SAY,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(BUILD)/%.o: %.cc Makefile
	@mkdir -p $(@D)
	$(call SAY,CXX,$<)
	$(Q)$(CXX) $(CXXFLAGS_ALL) -c -o $@ $<

# Not fortified: a store of one vector would become a call.
define KERNEL_RULE
$(BUILD)/$(1)-%.o: $(1).c Makefile
	@mkdir -p $$(@D)
	$$(call SAY,CC,$$< ($$*))
	$$(Q)$$(CC) $$(CFLAGS_ALL) $(if $(findstring kernels,$(1)),-O3) -ffp-contract=$(if $(findstring int8,$(1)),off,fast) $$(KERNEL_FLAGS_$$*) -U_FORTIFY_SOURCE -DKERNELS=$$* -c -o $$@ $$<
endef
$(foreach source,$(KERNEL_SOURCES:.c=) tests/bench/reading,$(eval $(call KERNEL_RULE,$(source))))

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)

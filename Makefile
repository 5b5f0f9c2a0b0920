# alignd: `make run` builds and serves the shipped models, `make test` builds and tests. Both install missing packages first.
# Variables: CC, CXX, BUILD (build folder), JOBS, V=1, WERROR=1, SANITIZE=address,undefined or thread, SLOW=1 (tests take fewer samples), MODELS,
# LISTEN, PREFIX, DESTDIR; make results: DATA, TABLES, BUDGET.

VERSION := 0.1.0
ifeq ($(origin CC),default)
CC      := gcc
endif
ifeq ($(origin CXX),default)
CXX     := g++
endif
PYTHON  ?= /usr/bin/python3
PREFIX  ?= /usr/local
LISTEN  ?= 127.0.0.1:8080
# the first is the default of requests that name none
MODELS  ?= weights/en-fr $(filter-out weights/en-fr,$(patsubst %/config.json,%,$(wildcard weights/*/config.json)))
BUILD   ?= build
JOBS    ?= $(shell nproc)
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
SUBMAKE  = $(MAKE) --no-print-directory -j$(JOBS)

PACKAGES      := gcc g++ make pkg-config libmicrohttpd-dev libgnutls28-dev libsystemd-dev libjansson-dev libopenblas-dev libsentencepiece-dev libicu-dev \
	libxml2-dev libcld2-dev
TEST_PACKAGES := $(PACKAGES) check libcurl4-openssl-dev openssl
METRICS_PACKAGES := $(PACKAGES) curl
PYTHON_PACKAGES := python3-torch python3-numpy python3-sentencepiece python3-tqdm python3-pytest
CI_PACKAGES   := $(TEST_PACKAGES) $(PYTHON_PACKAGES) clang clang-format libclang-rt-dev

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wcast-qual -Wwrite-strings -Wformat=2 $(if $(WERROR),-Werror)
C_WARNINGS := $(WARNINGS) -Wstrict-prototypes -Wmissing-prototypes
OPTIMIZE ?= -O2
# -fcf-protection is x86-64's, -mbranch-protection arm64's name for it
HARDEN   := -fPIE -fstack-protector-strong -fstack-clash-protection $(if $(SANITIZE),,-D_FORTIFY_SOURCE=3) \
	$(if $(findstring x86_64,$(MACHINE)),-fcf-protection=full) $(if $(findstring aarch64,$(MACHINE)),-mbranch-protection=standard)
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all -DSANITIZED)
COMMON   := $(OPTIMIZE) -g -MMD -MP -I. -DALIGND_VERSION='"$(VERSION)"' $(HARDEN) $(SANITIZER) $(if $(SANITIZE)$(SLOW),-DSLOW)
# _GNU_SOURCE: POSIX threads and clocks, accept4 and pipe2; the language itself stays C11
CFLAGS_ALL   = -std=c11 -D_GNU_SOURCE $(COMMON) -isystem /usr/include/libxml2 $(C_WARNINGS) $(CFLAGS)
CXXFLAGS_ALL = -std=c++17 $(COMMON) $(WARNINGS) $(CXXFLAGS)
LDFLAGS_ALL  = -pie -Wl,-z,relro,-z,now,-z,noexecstack $(SANITIZER) $(LDFLAGS)
LIBS = -lmicrohttpd -lgnutls -lsystemd -ljansson -lsentencepiece -licuuc -lxml2 -lcld2 -lstdc++ -lpthread -lm

KERNEL_SOURCES := model/kernels.c model/products.c model/products_int8.c
MODEL_OBJECTS  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(KERNEL_SOURCES),$(wildcard model/*.c))) $(BUILD)/model/sentencepiece.o
SERVER_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard server/*.c)) $(BUILD)/server/cld2.o $(BUILD)/server/page_files.o
# The word aligner, weights/aligner.py's program. Where weights/ is not, as in a package, it is not built.
GIBBS_OBJECTS  := $(patsubst %.c,$(BUILD)/%.o,$(wildcard weights/gibbs/*.c))
TEST_OBJECTS   := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/*.c))

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

# V=1 shows the commands
Q   := $(if $(V),,@)
SAY  = $(if $(V),,@echo "  $(1)  $(2)")

# libcheck's own limit, 4 s, is too tight for a busy machine and sanitizers
export CK_DEFAULT_TIMEOUT ?= 60

MAKEFLAGS += --no-builtin-rules
.PHONY: all run test test-threads check-http check-metrics check-memory check-load check-faults check-soak check-clients check-page check-python check-container \
	check-deploy check-arm64 check-package check-man check-readme readme check-hardening check-systemd check-scale check-queueing show-signals results warnings-clang asan \
	tsan fuzz bench format format-check layers install install-program install-models install-man install-units man deb clean
.PHONY: deps deps-test deps-python deps-node deps-ci
all: $(BUILD)/alignd $(if $(GIBBS_OBJECTS),$(BUILD)/gibbs)

run: deps
	@$(SUBMAKE) all
	$(BUILD)/alignd $(foreach model,$(MODELS),--model $(model)) --listen $(LISTEN)

test: deps-test
	@$(SUBMAKE) $(BUILD)/tests/run $(BUILD)/alignd
	$(BUILD)/tests/run

# Of the unit tests those that start threads.
test-threads: deps-test
	@$(SUBMAKE) $(BUILD)/tests/run
	for suite in $(THREADED); do CK_RUN_SUITE=$$suite $(BUILD)/tests/run || exit 1; done
THREADED := translator segmenter scheduler chores limiter metrics keys catalog cache log events request health

check-http: deps-test
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/http/run $(BUILD)/tests/memory/shortage.so
	$(BUILD)/tests/http/run $(BUILD)/alignd

# What /metrics says, by the linter in Debian's package prometheus.
check-metrics:
	@$(call INSTALL_MISSING,$(METRICS_PACKAGES))
	@$(SUBMAKE) $(BUILD)/alignd $(PROMTOOL)
	sh tests/metrics.sh $(BUILD)/alignd $(PROMTOOL)

# Every allocation of requests of every kind, and of start-up, fails in turn. check-http has a sample of it.
check-memory: deps-test
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/http/run $(BUILD)/tests/memory/shortage.so
	CK_RUN_SUITE=memory MEMORY_STRIDE=1 $(BUILD)/tests/http/run $(BUILD)/alignd

# Throughput and overload; faults; a long mixed load. tests/README.md has their bounds and parameters.
LOAD_TOOLS := load faults soak
$(LOAD_TOOLS:%=check-%): check-%: deps-test
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/load/$*
	$(BUILD)/tests/load/$* $(BUILD)/alignd $(MODELS:%=--model %)

# What the documents tell to type: run, and compared with what they say comes out. `make readme` writes that anew.
DOCUMENTS := README.md server/README.md CONTRIBUTING.md
check-readme: deps
	@{ command -v node; } >/dev/null || { $(call INSTALL_MISSING,nodejs); }
	@$(call INSTALL_MISSING,python3 curl)
	@$(SUBMAKE) all
	python3 tests/readme.py $(BUILD) $(DOCUMENTS)
readme: deps
	@$(SUBMAKE) all
	python3 tests/readme.py --write $(BUILD) $(DOCUMENTS)

# LibreTranslate's clients from npm, two made from /openapi.json, one of them in strict TypeScript, and a page's reader of streams, against the shipped models. Needs node and npm (18 or later) and the registry.
check-clients: deps deps-node
	@$(SUBMAKE) all
	npm ci --prefix tests/clients --no-audit --no-fund --silent
	node tests/clients/run.mjs $(BUILD)/alignd
	node tests/clients/openapi.mjs $(BUILD)/alignd
	node tests/clients/typescript.mjs $(BUILD)/alignd
	node tests/clients/stream.mjs $(BUILD)/alignd

# The page in Debian's chromium, driven by playwright-core from npm, against the shipped models. Needs the registry, too.
check-page: deps deps-node
	@$(call INSTALL_MISSING,chromium)
	@$(SUBMAKE) all $(BUILD)/tests/bench/random_model
	npm ci --prefix tests/page --no-audit --no-fund --silent
	node tests/page/run.mjs $(BUILD)/alignd

# The image of Dockerfile: built, run, drained. Uses a Docker engine or podman where there is one; else, as root, Debian's buildah.
check-container:
	@{ docker info || podman info; } >/dev/null 2>&1 || { $(call INSTALL_MISSING,buildah debootstrap util-linux iproute2 procps curl); }
	bash tests/container.sh

# What docker/ deploys: validated by HAProxy, Prometheus's promtool, docker-compose and kubectl of Debian, and by Kubernetes' schemas from npm.
PROMTOOL ?= $(or $(shell command -v promtool),$(BUILD)/promtool/promtool)
KUBECTL  ?= $(or $(shell command -v kubectl),$(BUILD)/kubectl/kubectl)
check-deploy: deps deps-node
	@$(call INSTALL_MISSING,haproxy docker-compose curl)
	@$(SUBMAKE) all $(PROMTOOL) $(KUBECTL)
	npm ci --prefix tests/deploy --no-audit --no-fund --silent
	sh tests/deploy/check.sh $(BUILD)/alignd $(PROMTOOL) $(KUBECTL)
# Unpacked: installed, the first would start a server, and the second would hide another kubectl.
$(BUILD)/promtool/promtool: PACKAGE = prometheus
$(BUILD)/kubectl/kubectl: PACKAGE = kubernetes-client
$(BUILD)/promtool/promtool $(BUILD)/kubectl/kubectl:
	@mkdir -p $(@D)
	cd $(@D) && rm -f $(PACKAGE)_*.deb && { apt-get -q download $(PACKAGE) 2>/dev/null || { $(UPDATE_LISTS) && apt-get -q download $(PACKAGE); }; } && dpkg --fsys-tarfile $(PACKAGE)_*.deb | tar -x --strip-components=3 ./usr/bin/$(@F)
# Replicas behind HAProxy, with faults; latency under load, predicted and measured; what /metrics says under load. docker/SCALING.md tells of
# all three; parameters: tests/scale/*.py.
check-scale: deps
	@$(call INSTALL_MISSING,haproxy python3)
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/bench/clients
	BUILD=$(BUILD) python3 -B tests/scale/balance.py
check-queueing show-signals: deps
	@$(call INSTALL_MISSING,python3)
	@$(SUBMAKE) $(BUILD)/alignd $(BUILD)/tests/bench/clients
	BUILD=$(BUILD) python3 -B tests/scale/$(lastword $(subst -, ,$@)).py

check-python: deps-python
	$(PYTHON) -m pytest -q tests

# Trains what is missing and writes weights/RESULTS.md row by row; stopped, the same command goes on. DATA: the corpora; TABLES: only these.
results: deps deps-python
	@$(SUBMAKE) $(BUILD)/alignd
	$(PYTHON) -m weights.results $(if $(DATA),--data $(DATA)) --alignd $(BUILD)/alignd $(TABLES:%=--table %) $(if $(BUDGET),--budget $(BUDGET))

warnings-clang:
	@$(SUBMAKE) BUILD=build/clang CC=clang CXX=clang++ WERROR=1 build/clang/tests/run build/clang/alignd
	build/clang/tests/run

# Speed: this machine's ceilings; alignd on the shipped model and on random ones; oneDNN (dnnl.h) and PyTorch where they are installed.
# Variables: see tests/bench/run.sh.
bench: deps
	@$(SUBMAKE) $(BUILD)/alignd $(BENCH_TOOLS:%=$(BUILD)/tests/bench/%)
	@sh tests/bench/run.sh $(BUILD)
BENCH_TOOLS = bench clients random_model $(if $(shell $(CC) -E -include dnnl.h -x c /dev/null >/dev/null 2>&1 && echo yes),onednn)

# Sanitizers have build folders of their own and run both unit tests (tsan: those with threads) and the HTTP tests. An allocation that is too
# large is NULL there too, as it is without them: tests of lacking memory need it.
asan:
	CK_DEFAULT_TIMEOUT=240 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 $(MAKE) BUILD=build/asan SANITIZE=address,undefined OPTIMIZE=-O1 test check-http
tsan:
	CK_DEFAULT_TIMEOUT=240 TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1 $(MAKE) BUILD=build/tsan SANITIZE=thread OPTIMIZE=-O1 test-threads check-http

# libFuzzer over every reader of foreign bytes, FUZZ_SECONDS for each (FUZZ_RUNS=0: only the corpus, some seconds); FUZZ: which. What is
# found goes to build/fuzz/findings; mended, it becomes a file of tests/fuzz/corpus.
FUZZ         ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 60
FUZZ_RUNS    ?= -1
FUZZ_BUILD   := BUILD=build/fuzz CC=clang CXX=clang++ SANITIZE=address,undefined,fuzzer-no-link OPTIMIZE=-O1
fuzz: deps-test
	@$(call INSTALL_MISSING,clang libclang-rt-dev)
	@$(SUBMAKE) $(FUZZ_BUILD) $(FUZZ:%=build/fuzz/tests/fuzz/%)
	@sh tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_RUNS) $(FUZZ)

$(BUILD)/alignd: $(MODEL_OBJECTS) $(SERVER_OBJECTS)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(BUILD)/gibbs: $(GIBBS_OBJECTS) $(BUILD)/model/error.o
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lm

# A main.o holds a program's main(): everything else is under test.
$(BUILD)/tests/run: $(MODEL_OBJECTS) $(filter-out %/main.o,$(SERVER_OBJECTS) $(GIBBS_OBJECTS)) $(TEST_OBJECTS)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcheck_pic -lsubunit -lrt

$(BUILD)/tests/http/run: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/http/*.c))
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
BENCH_WRAPPED := linear_apply linear_look_up encoder_run decoder_start decoder_remember decoder_step attention_run output_run search_advance
$(BUILD)/tests/bench/bench: $(MODEL_OBJECTS) $(BENCH_OBJECTS:%=$(BUILD)/tests/bench/%.o)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $(BENCH_WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(LIBS) -lopenblas

$(BUILD)/tests/bench/onednn: BENCH_LIBS = -ldnnl
$(BUILD)/tests/bench/random_model: BENCH_LIBS = -lm
$(BUILD)/tests/bench/clients $(BUILD)/tests/bench/onednn: $(BUILD)/tests/bench/measure.o
$(addprefix $(BUILD)/tests/bench/,clients random_model onednn): %: %.o
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

UPDATE_LISTS = sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); $$sudo apt-get update -qq
# Installs with apt what is not there yet; needs root or sudo only then.
INSTALL_MISSING = missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'install ok installed' || echo $$p; done); \
	[ -z "$$missing" ] || { $(UPDATE_LISTS) && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing; }
deps:
	@$(call INSTALL_MISSING,$(PACKAGES))
deps-test:
	@$(call INSTALL_MISSING,$(TEST_PACKAGES))

deps-python:
	@$(call INSTALL_MISSING,$(PYTHON_PACKAGES))
# Node.js from elsewhere may bring npm along; Debian has it apart.
deps-node:
	@{ command -v node && command -v npm; } >/dev/null || { $(call INSTALL_MISSING,nodejs npm); }
deps-ci:
	@$(call INSTALL_MISSING,$(CI_PACKAGES))

SOURCES := $(wildcard weights/*.c weights/gibbs/*.[ch] model/*.[ch] model/*.cc server/*.[ch] server/*.cc tests/*.[ch] tests/*/*.[ch])
format:
	clang-format -i $(SOURCES)
format-check:
	clang-format --dry-run -Werror $(SOURCES)

layers:
	@sh tests/layers.sh

# Needs no arm64 machine: Debian's cross compiler, and QEMU.
check-arm64:
	@$(call INSTALL_MISSING,make gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static curl)
	CK_DEFAULT_TIMEOUT=900 sh tests/arm64.sh build/arm64 libc6-dev $(filter lib% check,$(TEST_PACKAGES))

# Of the program as built.
check-hardening: deps
	@$(SUBMAKE) all
	sh tests/hardening.sh $(BUILD)

# The unit of docker/systemd, and alignd under its rules. Needs root.
check-systemd: deps
	@$(call INSTALL_MISSING,systemd python3-seccomp curl)
	@$(SUBMAKE) all
	sh tests/systemd.sh $(BUILD)

UNITS := docker/systemd/alignd.service docker/systemd/alignd.socket
COMMA := ,
# DESTDIR, PREFIX (/usr/local). install-units: for systemd, with the program where PREFIX has it.
install: install-program install-models install-man install-units

install-program: all
	install -D -m 755 $(BUILD)/alignd $(DESTDIR)$(PREFIX)/bin/alignd
install-models:
	@for model in $(MODELS); do install -d $(DESTDIR)$(PREFIX)/share/alignd/$$(basename $$model); \
	  install -m 644 $$model/* $(DESTDIR)$(PREFIX)/share/alignd/$$(basename $$model)/; done
install-man: man
	install -D -m 644 $(BUILD)/alignd.1 $(DESTDIR)$(PREFIX)/share/man/man1/alignd.1
	install -D -m 644 docker/man/alignd-model.5 $(DESTDIR)$(PREFIX)/share/man/man5/alignd-model.5
install-units: $(UNITS)
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	@for unit in $^; do sed 's|/usr/bin/alignd|$(PREFIX)/bin/alignd|; s|/usr/share/alignd|$(PREFIX)/share/alignd|g' $$unit \
	  >$(DESTDIR)$(PREFIX)/lib/systemd/system/$$(basename $$unit); done

# alignd(1) is what --help says, between what docker/man/alignd.h2m says.
man: $(BUILD)/alignd.1
$(BUILD)/alignd.1: $(BUILD)/alignd docker/man/alignd.h2m
	@$(call INSTALL_MISSING,help2man)
	help2man --no-info --include docker/man/alignd.h2m --output $@ $<

# A Debian package: the sources are copied with docker/debian where dpkg-buildpackage wants it, and built there.
DEB_TREE = $(BUILD)/deb/alignd-$(VERSION)
deb: deps $(UNITS)
	@$(call INSTALL_MISSING,dpkg-dev debhelper help2man)
	rm -rf $(BUILD)/deb
	mkdir -p $(DEB_TREE)
	cp -r Makefile LICENSE README.md model server docker $(DEB_TREE)
	cp -r docker/debian $(DEB_TREE)/debian && cp $(UNITS) $(DEB_TREE)/debian && rm $(DEB_TREE)/debian/*.in
	mkdir $(DEB_TREE)/weights && cp -r $(MODELS) $(DEB_TREE)/weights
	printf 'alignd ($(VERSION)) bookworm; urgency=medium\n\n  * CHANGELOG.md says what is new.\n\n -- %s  %s\n' "$$(sed -n 's/^Maintainer: //p' docker/debian/control.in)" \
	  "$$(date -R)" >$(DEB_TREE)/debian/changelog
	sed 's/@PACKAGES@/$(subst $() $(),$(COMMA) ,$(filter-out gcc g++ make,$(PACKAGES)))/' docker/debian/control.in >$(DEB_TREE)/debian/control
	{ cat docker/debian/copyright.in; sed -e '1,4d' -e 's/^$$/./' -e 's/^/ /' LICENSE; } >$(DEB_TREE)/debian/copyright
	cd $(DEB_TREE) && BUILD=build MAKEFLAGS= DEB_BUILD_OPTIONS=parallel=$(JOBS) dpkg-buildpackage -b -us -uc

# The package: built, looked at by lintian, installed in a container of Debian 12, used, removed, purged. Needs root.
check-package: deb
	@$(call INSTALL_MISSING,lintian buildah debootstrap util-linux iproute2)
	lintian --fail-on error $(BUILD)/deb/alignd_$(VERSION)_*.deb
	bash tests/package.sh $(BUILD)/deb/alignd_$(VERSION)_*.deb

check-man: man
	@$(call INSTALL_MISSING,man-db groff bsdextrautils)
	sh tests/man.sh $(BUILD)/alignd.1 $(BUILD)/alignd

clean:
	rm -rf build

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)

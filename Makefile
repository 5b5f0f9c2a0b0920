# alignd: `make run` builds and serves the shipped models, `make test` builds and tests; both install what is missing first.
# `make help` lists the targets and the variables.

VERSION := 1.0.0

#? Settings
#? BUILD: the build folder (build; build/ARCH with ARCH)
#? MODELS, PREFIX, DESTDIR, STRIP=1: the models to install, and where; remove debug information
#? LISTEN, ARGUMENTS: the address and other options of `make run`
#? ARCH: arm64: cross-compiled, for this Debian architecture (amd64, arm64)
#? CC, CXX, CFLAGS, OPTIMIZE, JOBS: the compilers, additional flags for C, the optimization level (-O2), parallel processes
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
OPTIMIZE ?= -O2
SUBMAKE   = $(MAKE) --no-print-directory -j$(JOBS)

PACKAGES        := gcc g++ make pkg-config libmicrohttpd-dev libgnutls28-dev libsystemd-dev libjansson-dev libopenblas-dev \
                   libsentencepiece-dev libicu-dev libxml2-dev libcld2-dev zlib1g-dev libcmark-gfm-dev libcmark-gfm-extensions-dev libre2-dev \
                   libarchive-dev libyaml-dev libcurl4-openssl-dev
INSTALL_MISSING  = sh docker/debian/install_missing.sh $(1)
# PACKAGES for the target architecture
INSTALL_FOR_ARCH = $(if $(CROSS),$(call INSTALL_MISSING,make $(subst _,-,gcc-$(CROSS) g++-$(CROSS))) && \
	sh docker/release/fetch.sh $(ARCH) $(SYSROOT) libc6-dev $(filter-out gcc g++ make pkg-config openssl,$(1)),$(call INSTALL_MISSING,$(1)))

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
.PHONY: help all run install install-program install-models install-icu-data install-man install-units man deb clean deps

help:
	@awk '/^#\?/ { sub(/^#\? ?/, ""); i = index($$0, ": "); if (i) printf "  %-42s %s\n", substr($$0, 1, i - 1), substr($$0, i + 2); else print "\n" $$0 }' $(wildcard Makefile tests/Makefile)

#? To use it
#? run: installs what is missing, builds, serves the models of weights/ on LISTEN
#? all: builds alignd, and the word aligner of weights/
#? install: install-program, install-models, install-man, install-units (systemd's)
#? deb: a Debian package in BUILD/deb
#? man: alignd(1)
#? clean: removes BUILD

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
# The part of ICU's data that alignd reads, for images, in which no other program needs the rest.
install-icu-data:
	sh docker/icu_data.sh "$(DESTDIR)" "$(SYSROOT)" "$(CROSS:%=%-)"
install-man: man
	install -D -m 644 $(BUILD)/alignd.1 $(DESTDIR)$(PREFIX)/share/man/man1/alignd.1
	install -D -m 644 docker/man/alignd-model.5 $(DESTDIR)$(PREFIX)/share/man/man5/alignd-model.5
install-units:
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	@for unit in $(wildcard docker/systemd/*); do sed 's|/usr/bin/alignd|$(PREFIX)/bin/alignd|; s|/usr/share/alignd|$(PREFIX)/share/alignd|g' $$unit \
	  >$(DESTDIR)$(PREFIX)/lib/systemd/system/$$(basename $$unit); done

# alignd(1) is the output of --help with the sections of docker/man/alignd.h2m.
man: $(BUILD)/alignd.1
$(BUILD)/alignd.1: $(BUILD)/alignd docker/man/alignd.h2m
	@$(call INSTALL_MISSING,help2man)
	help2man --no-info --include docker/man/alignd.h2m --output $@ $(if $(CROSS),$(MAN_OF),$<)
# for another architecture: a program of the same version that runs here
MAN_OF ?= build/alignd

# Reproducible: all times are that of the last commit.
SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y CHANGELOG.md))
deb: deps
	@$(call INSTALL_MISSING,build-essential dpkg-dev debhelper help2man)
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) ARCH=$(or $(ARCH),$(shell dpkg --print-architecture)) SYSROOT=$(SYSROOT) MAN_OF=$(abspath $(MAN_OF)) \
	  sh docker/debian/package.sh $(BUILD) $(VERSION) $(JOBS) "$(filter-out gcc g++ make,$(PACKAGES))" $(MODELS)

clean:
	rm -rf $(BUILD)

deps:
	@$(call INSTALL_FOR_ARCH,$(PACKAGES))

# ---- Building ----

MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wcast-qual -Wwrite-strings -Wformat=2 $(if $(WERROR),-Werror)
C_WARNINGS := $(WARNINGS) -Wstrict-prototypes -Wmissing-prototypes -Wno-enum-float-conversion # constants are enums
# the same protection: -fcf-protection on x86-64, -mbranch-protection on arm64
HARDEN   := -fPIE -fstack-protector-strong -fstack-clash-protection $(if $(SANITIZE),,-D_FORTIFY_SOURCE=3) \
	$(if $(findstring x86_64,$(MACHINE)),-fcf-protection=full) $(if $(findstring aarch64,$(MACHINE)),-mbranch-protection=standard)
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all -DSANITIZED)
# LEVEL: a target's own level in place of OPTIMIZE
COMMON    = $(or $(LEVEL),$(OPTIMIZE)) -g -MMD -MP -I. -DALIGND_VERSION='"$(VERSION)"' $(HARDEN) $(SANITIZER) $(if $(SANITIZE)$(SLOW),-DSLOW)
# _GNU_SOURCE: POSIX threads and clocks, accept4 and pipe2; the language itself stays C11
CFLAGS_ALL   = -std=c11 -D_GNU_SOURCE $(COMMON) -isystem $(SYSROOT)/usr/include/libxml2 $(C_WARNINGS) $(CFLAGS)
CXXFLAGS_ALL = -std=c++17 $(COMMON) $(WARNINGS) $(CXXFLAGS)
LDFLAGS_ALL  = -pie -Wl,-z,relro,-z,now,-z,noexecstack $(SANITIZER) $(LDFLAGS)
LIBS = -lmicrohttpd -lgnutls -lsystemd -ljansson -lsentencepiece -licui18n -licuuc -lxml2 -lcld2 -lcmark-gfm-extensions -lcmark-gfm -lz -lre2 -larchive -lyaml -lcurl -lstdc++ -lpthread -lm

KERNEL_SOURCES := model/compute/kernels.c model/compute/products_float.c model/compute/products_int8.c
# the files of a folder and its rooms with this ending
IN_ROOMS        = $(foreach folder,$(1),$(wildcard $(folder)/*.$(2) $(folder)/*/*.$(2)))
OBJECTS_OF      = $(addprefix $(BUILD)/,$(addsuffix .o,$(basename $(1))))
MODEL_OBJECTS  := $(call OBJECTS_OF,$(filter-out $(KERNEL_SOURCES),$(call IN_ROOMS,model,c)) $(call IN_ROOMS,model,cc))
# workarounds for libmicrohttpd before 1.0
LEFT_OUT       := $(shell printf '\043if MHD_VERSION >= 0x01000000\nserver/http/old_library.c\n\043endif\n' | $(CC) -E -P -x c -include microhttpd.h - 2>/dev/null | grep '^server/')
SERVER_OBJECTS := $(call OBJECTS_OF,$(filter-out $(LEFT_OUT),$(call IN_ROOMS,server,c)) $(call IN_ROOMS,server,cc) server/page_files)
# The word aligner, weights/alignment/aligner.py's program. Where weights/ is not, as in a package, it is not built.
GIBBS_OBJECTS  := $(call OBJECTS_OF,$(wildcard weights/gibbs/*.c))


# These are compiled once per instruction set; the processor chooses at run time. Products and sums may fuse there, but not after
# exact int8 sums: however a logit is computed, it shall have the same bits.
SETS         := model/compute/sets.def
KERNELS      := $(shell sed -nE 's/^SET.(any|$(firstword $(subst -, ,$(MACHINE)))), (\w+),.*/\2/p' $(SETS))
KERNEL_FLAGS  = $(shell sed -nE 's/^SET.\w+, $(1), "(.*)",.*/\1/p' $(SETS))
MODEL_OBJECTS += $(foreach source,$(KERNEL_SOURCES:.c=),$(KERNELS:%=$(BUILD)/$(source)-%.o))

Q   := $(if $(V),,@)
SAY  = $(if $(V),,@echo "  $(1)  $(2)")

$(BUILD)/alignd: $(MODEL_OBJECTS) $(SERVER_OBJECTS)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(BUILD)/gibbs: $(GIBBS_OBJECTS) $(BUILD)/model/base/arena.o
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lm

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call SAY,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# The page, as a C table
PAGE := $(sort $(wildcard server/page/*.html server/page/*.css server/page/*.js server/page/*.svg)) server/api/openapi.json server/api/docs.html server/dialects/mcp_tools.json
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
$(BUILD)/$(1)-%.o: $(1).c Makefile $(SETS)
	@mkdir -p $$(@D)
	$$(call SAY,CC,$$< ($$*))
	$$(Q)$$(CC) $$(CFLAGS_ALL) $(if $(findstring kernels,$(1)),-O3) -ffp-contract=$(if $(findstring int8,$(1)),off,fast) $$(call KERNEL_FLAGS,$$*) -U_FORTIFY_SOURCE -DKERNELS=$$* -c -o $$@ $$<
endef
$(foreach source,$(KERNEL_SOURCES:.c=) tests/bench/reading,$(eval $(call KERNEL_RULE,$(source))))

# Absent from packages and images
-include tests/Makefile

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)

# alignd: `make run` builds and serves the shipped models, `make test` builds and tests; both install what is missing first.
# `make help` lists the targets and the variables.

VERSION := 1.0.0

#? Settings
#? BUILD: the build folder (build; build/ARCH with ARCH)
#? MODELS, PREFIX, DESTDIR, STRIP=1: the models to install, and where; remove debug information
#? LISTEN, ARGUMENTS: the address and other options of `make run`
#? ARCH: arm64: cross-compiled, for this Debian architecture (amd64, arm64)
#? CC, CXX, CFLAGS, OPTIMIZE, JOBS: the compilers, additional flags for C, the optimization level (-O2), parallel processes
#? DEBUG_INFO: what debuggers are told (-g1: functions and lines, which compile a fifth faster than with variables, -g)
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
DEBUG_INFO ?= -g1
SUBMAKE   = $(MAKE) --no-print-directory -j$(JOBS)

PACKAGES        := gcc g++ make pkg-config libmicrohttpd-dev libgnutls28-dev nettle-dev libsystemd-dev libjansson-dev libopenblas-dev \
                   libsentencepiece-dev libicu-dev libxml2-dev libcld2-dev zlib1g-dev libcmark-gfm-dev libcmark-gfm-extensions-dev libre2-dev \
                   libarchive-dev libyaml-dev libcurl4-openssl-dev
INSTALL_MISSING  = sh docker/debian/install_missing.sh $(1)
# PACKAGES for the target architecture
INSTALL_FOR_ARCH = $(if $(CROSS),$(call INSTALL_MISSING,make $(subst _,-,gcc-$(CROSS) g++-$(CROSS))) && \
	sh docker/release/fetch.sh $(ARCH) $(SYSROOT) libc6-dev $(filter-out gcc g++ make pkg-config openssl,$(1)),$(call INSTALL_MISSING,$(1)))

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
.PHONY: help all run library wheel wasm static install install-library install-program install-models install-icu-data install-man install-units man deb tarball clean deps

help:
	@awk '/^#\?/ { sub(/^#\? ?/, ""); i = index($$0, ": "); if (i) printf "  %-42s %s\n", substr($$0, 1, i - 1), substr($$0, i + 2); else print "\n" $$0 }' $(wildcard Makefile tests/Makefile)

#? To use it
#? run: installs what is missing, builds, serves the models of weights/ on LISTEN
#? all: builds alignd, and the word aligner of weights/
#? install: install-program, install-models, install-man, install-units (systemd's)
#? library, install-library: libalignd (BUILD/libalignd.so, .a, .pc), the engine without a server; alignd.h describes it
#? wheel: the Python package alignd, with the library and all that it needs (server/library/python)
#? wasm: the npm package alignd, the library for Node and browsers, in BUILD/wasm/npm (server/library/javascript; apt needs deb-src)
#? static: a folder DIR=... for any host of static files: the page with that engine and a model, MODEL=en-fr or several, in place of a server
#? deb: Debian packages in BUILD/deb: alignd, libalignd1, libalignd-dev
#? tarball: the package with the libraries that it needs, for any Linux with glibc 2.36 or later; install.sh is in it
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
tarball: deb
	@$(call INSTALL_MISSING,patchelf binutils)
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) sh docker/release/tarball.sh $(BUILD)/deb/alignd_$(VERSION)_*.deb $(or $(SYSROOT),/)

clean:
	rm -rf $(BUILD)

deps:
	@$(call INSTALL_FOR_ARCH,$(PACKAGES))

# ---- Building ----

MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wcast-qual -Wwrite-strings -Wformat=2 $(if $(WERROR),-Werror)
C_WARNINGS := $(WARNINGS) -Wstrict-prototypes -Wmissing-prototypes -Wno-enum-float-conversion # constants are enums
# position-independent for the program and the library alike; the same protection: -fcf-protection on x86-64, -mbranch-protection on arm64
HARDEN   := -fPIC -fvisibility=hidden -fstack-protector-strong -fstack-clash-protection $(if $(SANITIZE),,-D_FORTIFY_SOURCE=3) \
	$(if $(findstring x86_64,$(MACHINE)),-fcf-protection=full) $(if $(findstring aarch64,$(MACHINE)),-mbranch-protection=standard)
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all -DSANITIZED)
# LEVEL: a target's own level in place of OPTIMIZE
COMMON    = $(or $(LEVEL),$(OPTIMIZE)) $(DEBUG_INFO) -MMD -MP -I. -DALIGND_VERSION='"$(VERSION)"' $(HARDEN) $(SANITIZER) $(if $(SANITIZE)$(SLOW),-DSLOW)
# _GNU_SOURCE: POSIX threads and clocks, accept4 and pipe2; the language itself stays C11
CFLAGS_ALL   = -std=c11 -D_GNU_SOURCE $(COMMON) -isystem $(SYSROOT)/usr/include/libxml2 $(C_WARNINGS) $(CFLAGS)
CXXFLAGS_ALL = -std=c++17 $(COMMON) $(WARNINGS) $(CXXFLAGS)
LDFLAGS_ALL  = -pie -Wl,-z,relro,-z,now,-z,noexecstack $(SANITIZER) $(LDFLAGS)
LIBS = -lmicrohttpd -lgnutls -lnettle -lsystemd -ljansson -lsentencepiece -licui18n -licuuc -lxml2 -lcld2 -lcmark-gfm-extensions -lcmark-gfm -lz -lre2 -larchive -lyaml -lcurl -lstdc++ -lpthread -lm

KERNEL_SOURCES := model/compute/kernels.c model/compute/products_float.c model/compute/products_int8.c
# the files of a folder and its rooms with this ending
IN_ROOMS        = $(foreach folder,$(1),$(wildcard $(folder)/*.$(2) $(folder)/*/*.$(2)))
OBJECTS_OF      = $(addprefix $(BUILD)/,$(addsuffix .o,$(basename $(1))))
MODEL_OBJECTS  := $(call OBJECTS_OF,$(filter-out $(KERNEL_SOURCES),$(call IN_ROOMS,model,c)) $(call IN_ROOMS,model,cc))
# workarounds for libmicrohttpd before 1.0
LEFT_OUT       := $(shell printf '\043if MHD_VERSION >= 0x01000000\nserver/http/old_library.c\n\043endif\n' | $(CC) -E -P -x c -include microhttpd.h - 2>/dev/null | grep '^server/')
SERVER_OBJECTS := $(call OBJECTS_OF,$(filter-out $(LEFT_OUT) server/library/% server/get/without.c,$(call IN_ROOMS,server,c)) $(call IN_ROOMS,server,cc) server/page_files)
# The word aligner, weights/alignment/aligner.py's program. Where weights/ is not, as in a package, it is not built.
GIBBS_OBJECTS  := $(call OBJECTS_OF,$(wildcard weights/gibbs/*.c))


# These are compiled once per instruction set; the processor chooses at run time. Products and sums may fuse there, but not after
# exact int8 sums: however a logit is computed, it shall have the same bits.
SETS         := model/compute/sets.def
KERNELS      := $(shell sed -nE 's/^SET.(any|$(firstword $(subst -, ,$(MACHINE)))), (\w+),.*/\2/p' $(SETS))
KERNEL_FLAGS  = $(shell sed -nE 's/^SET.\w+, $(1), "(.*)",.*/\1/p' $(SETS))
# ThreadSanitizer leaves them out, so that they may be those of the build without it.
KERNEL_BUILD   = $(if $(filter thread,$(SANITIZE)),$(or $(CLIENTS),$(BUILD)),$(BUILD))
KERNEL_OBJECTS = $(foreach source,$(KERNEL_SOURCES:.c=),$(KERNELS:%=$(KERNEL_BUILD)/$(source)-%.o))
MODEL_OBJECTS += $(KERNEL_OBJECTS)

Q   := $(if $(V),,@)
SAY  = $(if $(V),,@echo "  $(1)  $(2)")

$(BUILD)/alignd: $(MODEL_OBJECTS) $(SERVER_OBJECTS)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# The library has its own objects and, of all others, those that they need. Only what server/library/exports names can be seen outside.
LIBRARY_OBJECTS := $(call OBJECTS_OF,$(wildcard server/library/*.c) server/get/without.c)
LIBRARY_LIBS    := -ljansson -lnettle -lsentencepiece -licui18n -licuuc -lxml2 -lcld2 -lcmark-gfm-extensions -lcmark-gfm -lz -lre2 -lyaml -lstdc++ -lpthread -lm
library: $(addprefix $(BUILD)/,libalignd.so libalignd.a libalignd.pc)
$(BUILD)/library-parts.a: $(filter-out $(call OBJECTS_OF,server/main.c $(call IN_ROOMS,server/http server/get model/import,c)),$(MODEL_OBJECTS) $(SERVER_OBJECTS))
	$(Q)rm -f $@ && $(CROSS:%=%-)$(AR) rcs $@ $^
LINK_LIBRARY     = $(Q)$(CC) $(filter-out -pie,$(LDFLAGS_ALL)) -shared -Wl,-soname,libalignd.so.1 -Wl,--version-script=server/library/exports \
	$(if $(SANITIZE),,-Wl,--no-undefined) -o $@ $(LIBRARY_OBJECTS) $(BUILD)/library-parts.a $(LIBRARY_LIBS)
$(BUILD)/libalignd.so.1: $(LIBRARY_OBJECTS) $(BUILD)/library-parts.a server/library/exports
	$(call SAY,LINK,$@)
	$(LINK_LIBRARY)
$(BUILD)/libalignd.so: $(BUILD)/libalignd.so.1
	$(Q)ln -sf libalignd.so.1 $@
$(BUILD)/libalignd.a: $(LIBRARY_OBJECTS) $(BUILD)/library-parts.a
	$(Q)$(CROSS:%=%-)$(LD) -r -o $(@:.a=.o) $^ && $(CROSS:%=%-)objcopy --localize-hidden $(@:.a=.o) && rm -f $@ && $(CROSS:%=%-)$(AR) rcs $@ $(@:.a=.o)
$(BUILD)/libalignd.pc: Makefile
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'Name: libalignd' 'Description: translation with attention and word alignment' 'Version: $(VERSION)' \
	  'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/$(LIBRARY_FOLDER) -lalignd' 'Libs.private: $(LIBRARY_LIBS)' >$@
# It finds the libraries that lie beside it; RPATH, unlike RUNPATH, counts for what these need, too.
$(BUILD)/wheel/libalignd.so.1: $(BUILD)/libalignd.so.1
	@mkdir -p $(@D)
	$(LINK_LIBRARY) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN'
wheel: deps
	@$(SUBMAKE) $(BUILD)/wheel/libalignd.so.1
	python3 server/library/python/wheel.py $(BUILD)/wheel $(VERSION) $$($(CC) -dumpmachine | sed 's/-.*//') $(or $(SYSROOT),/) $(CROSS:%=%-)strip
wasm: deps
	@$(call INSTALL_MISSING,emscripten icu-devtools dpkg-dev unicode-data python3)
	@$(SUBMAKE) -f server/library/javascript/foreign.mk FOLDER=$(BUILD)/wasm
	@$(SUBMAKE) -f server/library/javascript/wasm.mk BUILD=$(BUILD)/wasm
MODEL ?= en-fr
static: wasm
	@$(if $(DIR),,echo 'DIR is missing: make static DIR=FOLDER' >&2; exit 2)
	node server/library/javascript/static.mjs $(BUILD)/wasm/npm $(DIR) $(foreach model,$(MODEL),$(firstword $(wildcard weights/$(model) $(model)) $(model)))
LIBRARY_FOLDER ?= lib/$(shell $(CC) -print-multiarch 2>/dev/null)
install-library: library
	install -D -m 644 server/library/alignd.h $(DESTDIR)$(PREFIX)/include/alignd.h
	install -D -m 644 $(BUILD)/libalignd.a $(DESTDIR)$(PREFIX)/$(LIBRARY_FOLDER)/libalignd.a
	install -D -m 644 $(if $(STRIP),--strip --strip-program=$(CROSS:%=%-)strip) $(BUILD)/libalignd.so.1 $(DESTDIR)$(PREFIX)/$(LIBRARY_FOLDER)/libalignd.so.1
	ln -sf libalignd.so.1 $(DESTDIR)$(PREFIX)/$(LIBRARY_FOLDER)/libalignd.so
	install -D -m 644 docker/man/libalignd.3 $(DESTDIR)$(PREFIX)/share/man/man3/libalignd.3
	install -D -m 644 $(BUILD)/libalignd.pc $(DESTDIR)$(PREFIX)/$(LIBRARY_FOLDER)/pkgconfig/libalignd.pc

$(BUILD)/gibbs: $(GIBBS_OBJECTS) $(call OBJECTS_OF,$(wildcard model/gibbs/*.c)) $(BUILD)/model/base/arena.o
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

# Not fortified: a store of one vector would become a call. Sanitized as they are shipped, since most of the time of tests is here; but
# at each access of the unrolled loops what AddressSanitizer sees as well is not checked twice, and ThreadSanitizer leaves them out: each
# works on one thread's rows.
UNROLLED_address,undefined := -fno-sanitize=null,alignment,object-size,pointer-overflow,bounds
UNROLLED_thread := -fno-sanitize=thread
define KERNEL_RULE
$(BUILD)/$(1)-%.o: $(1).c Makefile $(SETS)
	@mkdir -p $$(@D)
	$$(call SAY,CC,$$< ($$*))
	$$(Q)$$(CC) $$(CFLAGS_ALL) $(if $(findstring kernels,$(1)),-O3,$(if $(SANITIZE),-O2)) $(UNROLLED_$(SANITIZE)) -ffp-contract=$(if $(findstring int8,$(1)),off,fast) $$(call KERNEL_FLAGS,$$*) -U_FORTIFY_SOURCE -DKERNELS=$$* -c -o $$@ $$<
endef
$(foreach source,$(KERNEL_SOURCES:.c=) tests/bench/reading,$(eval $(call KERNEL_RULE,$(source))))

# Absent from packages and images
-include tests/Makefile

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)

# make wasm runs make with this file: the Makefile with a compiler to WebAssembly in place of that for this machine, and two programs
# of the library and foreign.mk's libraries, with threads and without, and what JavaScript needs beside them.
BUILD    := build/wasm
HERE     := server/library/javascript
EMCC     := $(shell emcc --cflags)
CC       := clang-14 $(EMCC)
CXX      := clang++-14 $(EMCC)
# Instructions for threads: the same objects are linked with shared memory and without.
FEATURES := -msimd128 -matomics -mbulk-memory
# host.h: what this C library lacks. WebAssembly's long has 32 bits, and clang finds more that is shortened than gcc.
CFLAGS   := $(FEATURES) -I$(BUILD)/include -I$(BUILD)/include/libxml2 -include $(HERE)/host.h \
  -Wno-sign-conversion -Wno-shorten-64-to-32
CXXFLAGS := $(FEATURES) -I$(BUILD)/include
SYSROOT  := $(BUILD)
PACKAGE  := $(BUILD)/npm
# acorn, with which emcc makes its JavaScript smaller
export NODE_PATH := /usr/share/nodejs
include Makefile
HARDEN   := -fvisibility=hidden
AR       := llvm-ar-14

.DEFAULT_GOAL := package
.PHONY: package
package: $(addprefix $(PACKAGE)/,engine.js engine.wasm.gz engine-threads.js engine-threads.worker.js engine-threads.wasm.gz $(addprefix relaxed/,engine.js engine.wasm.gz engine-threads.js engine-threads.wasm.gz) icu/list.js index.js index.d.ts worker.js models.js data.js README.md package.json LICENSE NOTICE \
  types/client.d.ts types/index.d.ts)

LINKING := $(OPTIMIZE) -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=worker -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=4MB \
  -sFORCE_FILESYSTEM -sEXPORTED_RUNTIME_METHODS=FS,UTF8ToString,setValue,writeArrayToMemory --no-entry --js-library $(HERE)/host.js \
  -sEXPORTED_FUNCTIONS=_malloc,_free,_host_set_data,_host_call,_host_cancel,_alignd_open
# worker.js says how many threads are started beforehand. The others start whenever it does not wait for the engine.
THREADS := -pthread -sPTHREAD_POOL_SIZE=Module.threads -sDEFAULT_PTHREAD_STACK_SIZE=4MB -Wno-pthreads-mem-growth
$(BUILD)/engine-threads.js $(BUILD)/relaxed/engine-threads.js: private LINKING += $(THREADS)
# Engines with Relaxed SIMD: one object takes the place of that in the library's archive.
RELAXED := $(BUILD)/model/compute/products_int8-relaxed.o
$(RELAXED): CFLAGS += -mrelaxed-simd
ENGINES := engine.js engine-threads.js
$(ENGINES:%=$(BUILD)/relaxed/%): $(RELAXED)
$(ENGINES:%=$(BUILD)/%) $(ENGINES:%=$(BUILD)/relaxed/%): $(LIBRARY_OBJECTS) $(BUILD)/$(HERE)/host.o $(BUILD)/library-parts.a $(BUILD)/foreign.a \
  $(HERE)/host.js $(HERE)/wasm.mk
	@mkdir -p $(@D)
	$(call SAY,LINK,$@)
	$(Q)emcc $(LINKING) -o $@ $(filter $(RELAXED),$^) $(filter-out $(RELAXED),$(filter %.o %.a,$^))

$(PACKAGE)/icu/list.js: $(HERE)/data.sh docker/icu_data.sh
	$(Q)sh $< $(BUILD)/icu-data $(@D)
$(PACKAGE)/engine%js: $(BUILD)/engine%js
	@mkdir -p $(@D)
	@cp $< $@
$(PACKAGE)/relaxed/engine%js: $(BUILD)/relaxed/engine%js
	@mkdir -p $(@D)
	@cp $< $@
$(BUILD)/engine-threads.worker.js: $(BUILD)/engine-threads.js ;
# Few hosts of static files compress it.
$(PACKAGE)/%.wasm.gz: $(BUILD)/%.js
	@mkdir -p $(@D)
	@gzip -9nc $(BUILD)/$*.wasm >$@

$(PACKAGE)/%: $(HERE)/%
	@mkdir -p $(@D)
	@cp $< $@
$(PACKAGE)/package.json: $(HERE)/package.json
	@mkdir -p $(@D)
	@sed 's/"version": ".*"/"version": "$(VERSION)"/' $< >$@
$(PACKAGE)/types/%: server/page/npm/%
	@mkdir -p $(@D)
	@cp $< $@
$(PACKAGE)/LICENSE: LICENSE
	@cp $< $@
# the licences of what is compiled in
$(PACKAGE)/NOTICE: $(BUILD)/foreign.a
	@for source in $(BUILD)/source/*/; do \
	  printf '== %s\n\n' "$$(basename $$source)"; cat $$source/debian/copyright 2>/dev/null || cat $$source/LICENSE; echo; done >$@

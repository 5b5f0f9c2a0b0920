# make wasm runs make with this file: the Makefile with a compiler to WebAssembly in place of that for this machine, and a program
# of the library, foreign.mk's libraries, and what JavaScript needs beside it.
BUILD    := build/wasm
HERE     := server/library/javascript
EMCC     := $(shell emcc --cflags)
CC       := clang-14 $(EMCC)
CXX      := clang++-14 $(EMCC)
# host.h: what this C library lacks. WebAssembly's long has 32 bits, and clang finds more that is shortened than gcc.
CFLAGS   := -msimd128 -I$(BUILD)/include -I$(BUILD)/include/libxml2 -include $(HERE)/host.h \
  -Wno-sign-conversion -Wno-shorten-64-to-32
CXXFLAGS := -msimd128 -I$(BUILD)/include
SYSROOT  := $(BUILD)
PACKAGE  := $(BUILD)/npm
# acorn, with which emcc makes its JavaScript smaller
export NODE_PATH := /usr/share/nodejs
include Makefile
HARDEN   := -fvisibility=hidden
AR       := llvm-ar-14

.DEFAULT_GOAL := package
.PHONY: package
package: $(addprefix $(PACKAGE)/,engine.js engine.wasm.gz icu/list.js index.js index.d.ts worker.js models.js data.js README.md package.json LICENSE NOTICE \
  types/client.d.ts types/index.d.ts)

# Calls are decoded where they come from: there are no threads, and a module without them runs in every page.
LINKING := $(OPTIMIZE) -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=worker -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=4MB \
  -sFORCE_FILESYSTEM -sEXPORTED_RUNTIME_METHODS=FS,UTF8ToString --no-entry \
  -sEXPORTED_FUNCTIONS=_malloc,_free,_host_set_data,_alignd_open,_alignd_call,_alignd_reply_status,_alignd_reply_text,_alignd_reply_free
$(BUILD)/engine.js: $(LIBRARY_OBJECTS) $(BUILD)/$(HERE)/host.o $(BUILD)/library-parts.a $(BUILD)/foreign.a
	@mkdir -p $(@D)
	$(call SAY,LINK,$@)
	$(Q)emcc $(LINKING) -o $@ $^

$(PACKAGE)/icu/list.js: $(HERE)/data.sh docker/icu_data.sh
	$(Q)sh $< $(BUILD)/icu-data $(@D)
$(PACKAGE)/engine.js: $(BUILD)/engine.js
	@mkdir -p $(@D)
	@cp $< $@
# Few hosts of static files compress it.
$(PACKAGE)/engine.wasm.gz: $(BUILD)/engine.js
	@mkdir -p $(@D)
	@gzip -9nc $(BUILD)/engine.wasm >$@

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

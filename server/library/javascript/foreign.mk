# make -f server/library/javascript/foreign.mk FOLDER=DIR: compiles the libraries that the engine needs to WebAssembly, from the sources of
# this Debian, into DIR/foreign.a, with their headers in DIR/include. Their own build systems are not used: these would examine the system
# for longer than the compiler takes. A library is the files of it that the engine needs, and what its build system would have found out.
FROM    := $(FOLDER)/source
INCLUDE := $(FOLDER)/include
EMCC    := $(shell emcc --cflags)
CC      := clang-14 $(EMCC)
CXX     := clang++-14 $(EMCC)
FLAGS   := -O2 -msimd128 -matomics -mbulk-memory -w -I$(INCLUDE)
# -I for folders of a source
USE      = $(addprefix -I$(FROM)/,$(1))

FILES_icu           := icu/source/common/*.cpp icu/source/i18n/*.cpp icu/source/stubdata/*.cpp
LEFT_OUT_icu        := $(addprefix icu/source/common/,caniter% icudataver% icuplug% localematcher% locdistance% \
                         ubidiln% ubiditr% ubidiwrt% ucnvdisp% ucnvsel% ucol_swp% udataswp% uidna% unormcmp% ushape% usprep% utrie_swap% \
                         wintz%) \
                       $(addprefix icu/source/i18n/,alphaindex% bocsu% col% csdetect% csmatch% csr% displayoptions% dtitvf% \
                         gender% inputext% numrange_c% regex% reldatefmt% rematch% repattrn% rulebasedcollator% scientificnum% search% \
                         sortkey% stsearch% tmutfmt% ucol% ucsdet% udatei% udatpg% ufieldp% uitercol% ulistf% umsg% uregex% uregion% \
                         usearch% uspoof% utf16coll% utf8coll% utmscale% win% zrule% ztrans%)
# the last one: files that construct strings implicitly define it before they read the headers, which icu.pch has already
FLAGS_icu           := $(call USE,icu/source/common icu/source/i18n) -DU_STATIC_IMPLEMENTATION \
                       -DU_COMMON_IMPLEMENTATION -DU_I18N_IMPLEMENTATION -DUCONFIG_NO_COLLATION=1 -DUNISTR_FROM_STRING_EXPLICIT=
FILES_jansson       := jansson/src/*.c
FLAGS_jansson       := -DHAVE_STDINT_H -DHAVE_UNISTD_H -DHAVE_GETTIMEOFDAY -DHAVE_SYS_TIME_H
FILES_nettle        := $(addprefix nettle/,sha256.c sha256-compress.c write-be32.c memeql-sec.c)
FLAGS_nettle        := -I$(INCLUDE)/nettle
FILES_sentencepiece := $(addprefix sentencepiece/,third_party/protobuf-lite/*.cc third_party/absl/flags/flag.cc src/builtin_pb/*.cc) \
                       $(addprefix sentencepiece/src/,bpe_model.cc char_model.cc error.cc filesystem.cc model_factory.cc \
                         model_interface.cc normalizer.cc sentencepiece_processor.cc unigram_model.cc util.cc word_model.cc)
FLAGS_sentencepiece := $(addprefix -I$(FROM)/sentencepiece/,. src src/builtin_pb third_party/protobuf-lite) -DHAVE_PTHREAD -DVERSION='""' \
                       -DPACKAGE_STRING='""'
FILES_libxml2       := $(addprefix libxml2/,HTMLparser.c HTMLtree.c SAX2.c buf.c chvalid.c dict.c encoding.c entities.c error.c globals.c \
                         hash.c list.c parser.c parserInternals.c threads.c tree.c uri.c valid.c xmlIO.c xmlmemory.c xmlsave.c xmlstring.c \
                         xmlunicode.c)
FLAGS_libxml2       := -I$(INCLUDE)/libxml2 -I$(FROM)/libxml2 $(addprefix -DHAVE_,CTYPE_H ERRNO_H FCNTL_H FLOAT_H LIMITS_H MATH_H PTHREAD_H \
                         STAT STDARG_H STDINT_H STDLIB_H STRING_H SYS_STAT_H SYS_TYPES_H TIME_H UNISTD_H VA_COPY SNPRINTF VSNPRINTF)
FILES_cld2          := $(addprefix cld2/internal/,cldutil.cc cldutil_shared.cc compact_lang_det.cc compact_lang_det_hint_code.cc \
                         compact_lang_det_impl.cc debug.cc fixunicodevalue.cc generated_entities.cc generated_language.cc \
                         generated_ulscript.cc getonescriptspan.cc lang_script.cc offsetmap.cc scoreonescriptspan.cc tote.cc \
                         utf8statetable.cc cld_generated_cjk_uni_prop_80.cc cld2_generated_cjk_compatible.cc \
                         cld_generated_cjk_delta_bi_4.cc generated_distinct_bi_0.cc cld2_generated_quadchrome_2.cc \
                         cld2_generated_deltaoctachrome.cc cld2_generated_distinctoctachrome.cc cld_generated_score_quad_octa_2.cc)
FLAGS_cld2          := -Wno-narrowing
FILES_cmark-gfm     := cmark-gfm/src/*.c cmark-gfm/extensions/*.c
LEFT_OUT_cmark-gfm  := cmark-gfm/src/main.c
FLAGS_cmark-gfm     := $(call USE,cmark-gfm/src cmark-gfm/extensions) -DCMARK_GFM_STATIC_DEFINE
FILES_zlib          := $(addprefix zlib/,adler32.c crc32.c deflate.c inflate.c inffast.c inftrees.c trees.c zutil.c)
FILES_re2           := re2/re2/*.cc re2/util/rune.cc re2/util/strutil.cc
FLAGS_re2           := -I$(FROM)/re2
FILES_libyaml       := libyaml/src/*.c
FLAGS_libyaml       := -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING='"0.2.5"'

.DEFAULT_GOAL := all
LIBRARIES := $(patsubst FILES_%,%,$(filter FILES_%,$(.VARIABLES)))
SOURCES   := $(foreach library,$(LIBRARIES),$(patsubst $(FROM)/%,%,$(filter-out $(LEFT_OUT_$(library):%=$(FROM)/%),\
  $(wildcard $(addprefix $(FROM)/,$(FILES_$(library)))))))
OBJECTS   := $(SOURCES:%=$(FOLDER)/%.o)
# ICU's files take most of their time to read the same headers. One reads them in its own way.
READ_OFTEN := charstr.h cmemory.h cstring.h hash.h uassert.h umutex.h unicode/decimfmt.h unicode/locid.h unicode/numberformatter.h \
  unicode/uniset.h unicode/unistr.h uresimp.h uvector.h algorithm mutex
BY_PCH    := $(filter-out %/number_patternstring.cpp.o,$(filter $(FOLDER)/icu/%,$(OBJECTS)))
$(BY_PCH): private FLAGS_icu += -include-pch $(FOLDER)/icu.pch
$(BY_PCH): $(FOLDER)/icu.pch
$(FOLDER)/icu.pch: | $(FOLDER)/headers
	@for header in $(READ_OFTEN); do echo "#include <$$header>"; done >$(FOLDER)/icu.h
	@$(CXX) -std=c++17 $(FLAGS) $(FLAGS_icu) -x c++-header -o $@ $(FOLDER)/icu.h

FLAGS_OF   = $(FLAGS) $(FLAGS_$(firstword $(subst /, ,$(1))))

.PHONY: all
ifeq ($(wildcard $(FOLDER)/headers),)
# The files are known only once there are all sources.
all: $(FOLDER)/headers
	@$(MAKE) -f $(firstword $(MAKEFILE_LIST)) all
else
all: $(FOLDER)/foreign.a
endif

$(OBJECTS): | $(FOLDER)/headers
$(FOLDER)/headers: server/library/javascript/foreign.sh
	sh server/library/javascript/foreign.sh $(FOLDER) $(LIBRARIES)
	@touch $@
$(FOLDER)/%.c.o: $(FROM)/%.c
	@mkdir -p $(@D)
	@echo "  CC  $*"
	@$(CC) $(call FLAGS_OF,$*) -c -o $@ $<
$(FOLDER)/%.o: $(FROM)/%
	@mkdir -p $(@D)
	@echo "  CXX $*"
	@$(CXX) -std=c++17 $(call FLAGS_OF,$*) -c -o $@ $<
$(FOLDER)/foreign.a: $(OBJECTS)
	@rm -f $@ && llvm-ar-14 rcs $@ $^

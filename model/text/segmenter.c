/* This file finds where sentences and words begin and end, by ICU's rules and additions to them:
 * CLDR's lists of abbreviations are short, its rules lack ordinals with a full stop, and they make
 * elided articles parts of the next word. */
#include "model/base/arena.h"
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/uclean.h>
#include <unicode/uloc.h>
#include <unicode/utext.h>

/* True if the text is an item of the list, which has bars between its items. */
static bool is_in_list(const char *list, const char *text, size_t length) {
    for (size_t at = 0, item; list[at]; at += item + (list[at + item] == '|')) {
        item = strcspn(list + at, "|");
        if (item == length && memcmp(list + at, text, length) == 0)
            return true;
    }
    return false;
}

/* Languages that write an ordinal number with a full stop: am 3. Mai, im 19. Jahrhundert, Ludwig
 * XIV. */
static const char ordinal_languages[] =
    "bs|cs|da|de|dsb|et|eu|fi|fo|gsw|hr|hsb|hu|is|lb|lv|nb|nn|no|pl|sh|sk|sl|sr|tr";

/* Articles, pronouns and conjunctions of French, Italian and Catalan that lose their vowel before
 * another word: J'aime, qu'il, dell'arte. Words that speakers feel to be one stay one: aujourd'hui,
 * quelqu'un, o'clock. */
static const char elided_words[] = "l|d|j|m|t|s|n|c|qu|jusqu|lorsqu|puisqu|quoiqu|un|gl|dell|all|"
                                   "dall|nell|sull|coll|quell|quest|v";

/* Abbreviations whose full stop does not end a sentence and which CLDR's lists lack. There are
 * three kinds. After a title (Dr.) a sentence always continues; after a word such as No. it
 * continues before a digit. All others (p.m., etc.) may end a sentence, too: they do before an
 * opener, a word with which sentences often begin and which has no capital letter inside a sentence
 * ("at 5 p.m. Then we left"). They do not before other words ("at 5 p.m. Tom came"), because two
 * sentences that are translated as one lose less than one that is cut in two.
 *
 * White space in an abbreviation may be left out in a text. A first letter that is small here may
 * be a capital in a text. */
struct abbreviations {
    const char *language;
    const char *titles;   /* never end a sentence */
    const char *numbered; /* do not end a sentence before a digit */
    const char *others;   /* end a sentence before an opener only */
    const char *openers;
};

static const struct abbreviations abbreviations[] = {
    {"en",
     "Mr.|Mrs.|Ms.|Mx.|Dr.|Drs.|Prof.|Rev.|Hon.|Fr.|Gen.|Col.|Maj.|Capt.|Cpt.|Lt.|Sgt.|Gov.|Sen.|"
     "Rep.|Messrs.|Mt.|e. g.|"
     "i. e.|cf.|viz.|vs.|approx.|ca.",
     "No.|Nos.|Nr.|Fig.|Figs.|Vol.|Ch.|Sec.|Eq.|Art.|p.|pp.|para.",
     "a. m.|p. m.|A. M.|P. M.|etc.|St.|Ft.|Ave.|Blvd.|Rd.|Inc.|Ltd.|Co.|Corp.|Jr.|Sr.|Ph. D.|et "
     "al.|dept.|est.|incl.|tel.|U. S.|U. "
     "K.|"
     "U. N.|Jan.|Feb.|Apr.|Aug.|Sept.|Oct.|Nov.|Dec.",
     "A|An|The|This|That|These|Those|I|You|He|She|It|We|They|My|Your|His|Her|Its|Our|Their|There|"
     "Here|Then|But|And|Or|So|If|When|"
     "While|What|Who|Where|Why|How|Which|After|Before|Later|However|Please|Yes|No|Not|Now|Is|Are|"
     "Was|Were|Do|Does|Did|Can|Could|"
     "Will|Would|Don|Let|In|On|At|For|As|All|Some|Many|Most|Everyone|Nobody|Someone|Afterwards|"
     "Meanwhile|Also|Although|Because"},
    {"de",
     "Dr.|Prof.|Hr.|Hrn.|Fr.|Frl.|Dipl.|Ing.|Mag.|St.|z. B.|z. T.|z. Zt.|z. Hd.|"
     "d. h.|d. i.|u. a.|o. g.|u. U.|i. d. R.|i. A.|i. V.|m. E.|s. o.|s. u.|v. "
     "a.|bzw.|bspw.|ca.|evtl.|ggf.|inkl.|exkl.|insb.|"
     "sog.|vgl.|zzgl.|abzgl.|zw.|geb.|gest.|mind.|bes.|einschl.|entspr.|od.|u.|v.",
     "Nr.|Nrn.|Abb.|Abs.|Art.|Bd.|Kap.|S.|Tel.|Tab.",
     "usw.|etc.|u. v. m.|u. s. "
     "w.|usf.|Str.|Co.|jun.|sen.|Jan.|Feb.|Aug.|Sept.|Okt.|Nov.|Dez.|Mio.|Mrd.|Std.|Jh.|n. Chr.|v. "
     "Chr.",
     "Der|Die|Das|Den|Dem|Ein|Eine|Einen|Einem|Ich|Du|Er|Sie|Es|Wir|Ihr|Ihre|Man|Mein|Meine|Sein|"
     "Seine|Unser|Unsere|Dies|Diese|"
     "Dieser|Dieses|Dann|Danach|Aber|Und|Oder|Denn|Doch|Wenn|Als|Da|Dort|Hier|Was|Wer|Wo|Wie|Warum|"
     "Bitte|Ja|Nein|Nicht|Jetzt|Ist|"
     "Sind|War|Waren|In|Im|Am|Auf|Bei|Mit|Nach|Vor|Für|Alle|Viele|Auch|So|Später|Anschließend|"
     "Deshalb|Daher"},
    {"fr",
     "M.|MM.|Mme.|Mlle.|Dr.|Pr.|Me.|Mgr.|St.|Ste.|cf.|c.-à-d.|p. "
     "ex.|env.|apr.|av.|ap.|vol.|chap.|tél.",
     "n.|no.|p.|pp.|art.|fig.|t.",
     "etc.|boul.|bd.|janv.|févr.|juill.|sept.|oct.|nov.|déc.|J.-C.|Cie.|hab.|min.",
     "Le|La|Les|L|Un|Une|Des|Du|De|Ce|C|Cet|Cette|Ces|Je|J|Tu|Il|Elle|On|Nous|Vous|Ils|Elles|Mon|"
     "Ma|Mes|Son|Sa|Ses|Notre|Nos|Votre|"
     "Vos|Leur|Leurs|Mais|Et|Ou|Puis|Ensuite|Alors|Donc|Si|Quand|Comme|Que|Qui|Où|Pourquoi|Comment|"
     "Oui|Non|Ici|Après|Avant|Dans|En|"
     "À|A|Pour|Sur|Avec|Tous|Toutes|Plus|Aussi|D"},
    {"es",
     "Sr.|Sra.|Srta.|Sres.|Dr.|Dra.|Prof.|D.|Dña.|Ud.|Uds.|Vd.|Vds.|St.|Sta.|Sto.|p. "
     "ej.|Ej.|aprox.|cf.",
     "n.|núm.|pág.|págs.|art.|fig.|vol.|cap.|tel.", "a. m.|p. m.|etc.|Cía.|EE. UU.|S. A.|Jr.|avda.",
     "El|La|Los|Las|Lo|Un|Una|Unos|Unas|Yo|Tú|Él|Ella|Ellos|Ellas|Nosotros|Usted|Ustedes|Mi|Su|Sus|"
     "Este|Esta|Esto|Ese|Esa|Eso|Pero|"
     "Y|"
     "O|Luego|Entonces|Después|Si|Cuando|Como|Que|Qué|Quién|Dónde|Sí|No|Aquí|Ahora|En|A|De|Con|"
     "Para|Por|Todos|También"},
    {"it",
     "Sig.|Sigg.|Sig.ra|Dott.|Dr.|Prof.|Avv.|Ing.|Arch.|On.|Gen.|Mons.|p. es.|ad "
     "es.|es.|cfr.|ca.|v.",
     "n.|pag.|pagg.|art.|fig.|vol.|cap.|tel.", "ecc.|S. p. A.|Jr.",
     "Il|Lo|La|I|Gli|Le|L|Un|Una|Io|Tu|Lui|Lei|Noi|Voi|Loro|Egli|Ella|Mio|Suo|Questo|Questa|Quello|"
     "Quella|Ma|E|O|Poi|Allora|Dopo|"
     "Se|"
     "Quando|Come|Che|Chi|Dove|Sì|No|Non|Qui|Ora|In|A|Di|Con|Per|Tutti|Anche"},
    {"nl",
     "Dhr.|Mevr.|Mw.|Dr.|Drs.|Ir.|Ing.|Mr.|Prof.|St.|bijv.|b.v.|d. w. z.|m. b. t.|o. a.|i. p. "
     "v.|t. o. v.|z. o. z.|ca.|evt.|"
     "incl.|excl.|resp.|vgl.|zgn.|t. a. v.",
     "nr.|nrs.|blz.|p.|art.|fig.|tel.", "enz.|etc.|e. d.|jr.|sr.",
     "De|Het|Een|Ik|Jij|Je|U|Hij|Zij|Ze|Wij|We|Jullie|Mijn|Zijn|Haar|Ons|Onze|Dit|Dat|Deze|Die|"
     "Maar|En|Of|Dan|Daarna|Toen|Als|Wat|"
     "Wie|"
     "Waar|Hoe|Waarom|Ja|Nee|Niet|Hier|Daar|Nu|In|Op|Met|Voor|Na|Alle|Ook|Er"},
    {"pt",
     "Sr.|Sra.|Srta.|Dr.|Dra.|Prof.|Profa.|D.|Eng.|Exmo.|Exma.|p. ex.|cf.|aprox.|St.|Sto.|Sta.",
     "n.|núm.|pág.|págs.|p.|art.|fig.|vol.|cap.|tel.", "etc.|Cia.|Ltda.|S. A.|Jr.|a. m.|p. m.",
     "O|A|Os|As|Um|Uma|Eu|Tu|Ele|Ela|Eles|Elas|Nós|Você|Vocês|Meu|Minha|Seu|Sua|Este|Esta|Isto|"
     "Esse|Essa|Isso|Mas|E|Ou|Depois|"
     "Então|"
     "Se|Quando|Como|Que|Quem|Onde|Sim|Não|Aqui|Agora|Em|No|Na|De|Com|Para|Por|Todos|Também"},
};

/* ---- opening ---- */

/* An iterator belongs to one text at a time: these two never get a text, and every call works with
 * a clone. */
struct segmenter {
    UBreakIterator *sentences, *words;
    const struct abbreviations
        *abbreviations; /* the language's abbreviations, or NULL if only CLDR's are known */
    bool ordinals;      /* the language writes ordinal numbers with a full stop */
};

static void *icu_allocate(const void *context, size_t bytes) {
    (void)context;
    return reserve_alloc(bytes);
}

static void *icu_reallocate(const void *context, void *block, size_t bytes) {
    (void)context;
    return reserve_realloc(block, bytes);
}

static void icu_release(const void *context, void *block) {
    (void)context;
    free(block);
}

/* Returns NULL and sets err on failure. what: the name of the rules. */
static UBreakIterator *open_rules(UBreakIteratorType type, const char *what, const char *locale,
                                  const char *language, struct error *err) {
    UErrorCode status = U_ZERO_ERROR;
    UBreakIterator *iterator = ubrk_open(type, locale, NULL, 0, &status);
    if (U_SUCCESS(status))
        return iterator;
    error_set(err, status == U_MEMORY_ALLOCATION_ERROR ? ERROR_MEMORY : ERROR_FILE,
              "ICU's %s rules for %s: %s", what, language, u_errorName(status));
    return NULL;
}

struct segmenter *segmenter_open(const char *language, struct error *err) {
    UErrorCode status = U_ZERO_ERROR;
    char locale[ULOC_FULLNAME_CAPACITY];
    int32_t parsed = 0;
    /* ICU accepts other functions at any time, because they are compatible with its own; a failure
     * here is harmless */
    u_setMemoryFunctions(NULL, icu_allocate, icu_reallocate, icu_release, &status);
    if (reserve_fill(err) != 0)
        return NULL;

    /* the locale asks for CLDR's abbreviations: "en" -> "en@ss=standard" */
    status = U_ZERO_ERROR;
    uloc_forLanguageTag(language, locale, ULOC_FULLNAME_CAPACITY, &parsed, &status);
    if (U_FAILURE(status) || parsed == 0 || (size_t)parsed != strlen(language)) {
        error_set(err, ERROR_FORMAT, "not a BCP-47 language: %s", language);
        return NULL;
    }
    uloc_setKeywordValue("ss", "standard", locale, ULOC_FULLNAME_CAPACITY, &status);
    if (U_FAILURE(status)) {
        error_set(err, ERROR_FORMAT, "language %s: %s", language, u_errorName(status));
        return NULL;
    }

    struct segmenter *segmenter = calloc(1, sizeof *segmenter);
    if (segmenter == NULL) {
        error_memory(err);
        return NULL;
    }
    size_t length = strcspn(language, "-_");
    segmenter->ordinals = is_in_list(ordinal_languages, language, length);
    for (size_t i = 0; i < sizeof abbreviations / sizeof *abbreviations; i++)
        if (is_in_list(abbreviations[i].language, language, length))
            segmenter->abbreviations = &abbreviations[i];
    segmenter->sentences = open_rules(UBRK_SENTENCE, "sentence", locale, language, err);
    segmenter->words =
        segmenter->sentences ? open_rules(UBRK_WORD, "word", locale, language, err) : NULL;
    if (segmenter->words != NULL)
        return segmenter;
    segmenter_free(segmenter);
    return NULL;
}

void segmenter_free(struct segmenter *segmenter) {
    if (segmenter == NULL)
        return;
    if (segmenter->sentences != NULL)
        ubrk_close(segmenter->sentences);
    if (segmenter->words != NULL)
        ubrk_close(segmenter->words);
    free(segmenter);
}

struct span segmenter_trim(const char *text, size_t length) {
    size_t begin = 0, end = length;
    for (size_t next = 0;
         begin < length && character_is_space(character_next(text, length, &next));)
        begin = next;
    for (size_t next = end; end > begin && character_is_space(character_previous(text, &next));)
        end = next;
    return (struct span){begin, end};
}

/* ---- abbreviations ---- */

/* True if text[0,end) ends with the first `length` bytes of the abbreviation as a separate word. */
static bool ends_with(const char *text, size_t end, const char *item, size_t length) {
    for (size_t i = length; i-- > 0;) {
        if (item[i] == ' ') {
            for (size_t at = end; at > 0 && character_is_space(character_previous(text, &at));)
                end = at;
            continue;
        }
        if (end == 0)
            return false;
        char written = text[--end];
        bool capital =
            i == 0 && item[i] >= 'a' && item[i] <= 'z' && written == item[i] - ('a' - 'A');
        if (written != item[i] && !capital)
            return false;
    }
    if (end == 0)
        return true;
    int32_t before = character_previous(text, &end);
    return character_is_space(before) || (character_is_punctuation(before) && before != '.');
}

/* True if text[at,length) begins with these bytes, whose white space may be left out. */
static bool begins_with(const char *text, size_t length, size_t at, const char *item,
                        size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (item[i] == ' ') {
            for (size_t next = at;
                 at < length && character_is_space(character_next(text, length, &next));)
                at = next;
        } else if (at == length || text[at++] != item[i]) {
            return false;
        }
    }
    return true;
}

/* A place where a sentence may end: text[0,end) precedes it, and text[next,length) follows. */
struct stop {
    const char *text;
    size_t length, end, next;
};

/* True if the text before the stop ends with an abbreviation of the list or, with the text after
 * it, has the first part of one that has spaces ("z. B."). whole, parts: true if these count. */
static bool ends_with_one(const char *list, bool whole, bool parts, const struct stop *stop) {
    const char *text = stop->text;
    for (size_t bytes; *list; list += bytes + (list[bytes] == '|')) {
        bytes = strcspn(list, "|");
        if (whole && ends_with(text, stop->end, list, bytes))
            return true;
        for (size_t i = 1; parts && i + 1 < bytes; i++)
            if (list[i] == ' ' && ends_with(text, stop->end, list, i) &&
                begins_with(text, stop->length, stop->next, list + i + 1, bytes - i - 1))
                return true;
    }
    return false;
}

/* True if a sentence goes on at a stop, where the general rules end it, because the text before it
 * ends with an abbreviation or with a part of one. White space lies between what precedes and what
 * follows. */
static bool abbreviation_goes_on(const struct abbreviations *all, const struct stop *stop) {
    const char *text = stop->text;
    size_t length = stop->length, next = stop->next;
    if (!all || stop->end == 0 || text[stop->end - 1] != '.' || next >= length)
        return false;
    bool digit = text[next] >= '0' && text[next] <= '9';
    if (ends_with_one(all->titles, true, true, stop) ||
        ends_with_one(all->others, false, true, stop) ||
        (digit && ends_with_one(all->numbered, true, false, stop)))
        return true;
    if (!ends_with_one(all->others, true, false, stop))
        return false;

    /* the first word, after opening quotation marks and brackets, decides */
    size_t begin = next;
    for (size_t at = begin;
         at < length && character_is_punctuation(character_next(text, length, &at));)
        begin = at;
    size_t word_end = begin;
    for (size_t at = begin; at < length; word_end = at) {
        int32_t c = character_next(text, length, &at);
        if (character_is_space(c) || character_is_punctuation(c))
            break;
    }
    return !is_in_list(all->openers, text + begin, word_end - begin);
}

bool segmenter_abbreviates(const struct segmenter *segmenter, const char *text, size_t end) {
    const struct abbreviations *all = segmenter->abbreviations;
    const struct stop stop = {text, end, end, end};
    return all && (ends_with_one(all->titles, true, false, &stop) ||
                   ends_with_one(all->numbered, true, false, &stop) ||
                   ends_with_one(all->others, true, false, &stop));
}

bool segmenter_opens(const struct segmenter *segmenter, const char *word, size_t length) {
    return segmenter->abbreviations && is_in_list(segmenter->abbreviations->openers, word, length);
}

bool segmenter_never_opens(const struct segmenter *segmenter, const char *word, size_t length) {
    return segmenter->abbreviations && !is_in_list(segmenter->abbreviations->openers, word, length);
}

/* ---- ordinals ---- */

bool segmenter_has_ordinals(const struct segmenter *segmenter) {
    return segmenter->ordinals;
}

/* Counts how often the letter precedes `end`, up to `most` times. */
static size_t count_letters(const char *text, size_t end, char letter, size_t most) {
    size_t count = 0;
    while (count < most && count < end && text[end - count - 1] == letter)
        count++;
    return count;
}

/* ---- splitting ---- */

/* Returns the place after the quotation mark that closes there, apart from the word before it, or
 * `at`: « Non ! » */
static size_t skip_closing(const char *text, size_t length, size_t at) {
    size_t next = at, after, before = at;
    if (at == 0 || at == length || character_ends_line(character_previous(text, &before)) ||
        !character_is_among(character_next(text, length, &next), L"\u00bb\u203a\u201d"))
        return at;
    after = next;
    return next == length || !character_is_spaced(character_next(text, length, &after)) ? next : at;
}

/* True if the sentence goes on after a quotation that ends within it: a small letter or a mark
 * follows. */
static bool quotation_goes_on(const char *text, size_t length, size_t at) {
    int32_t c = ' ';
    while (at < length && character_is_space(c) && !character_ends_line(c))
        c = character_next(text, length, &at);
    return character_upper(c) != c || character_is_among(c, L",;:.!?)\u2026\u2013\u2014");
}

/* True if a sentence goes on at `end`, where the rules end it, as they do at `begin`: the text
 * between ends with an abbreviation, or with an ordinal number that counts what follows.
 *
 * "Platz 3. Danach" ends a sentence and "am 3. Mai" does not, but the letters do not show it. In
 * 167,000 German lines of Tatoeba, newstest and Flores 190 such numbers stand before a capitalised
 * word, and 47 at the end; two sentences that are translated as one lose less than one that is cut
 * in two. */
static bool goes_on(const struct segmenter *segmenter, const char *text, size_t length,
                    size_t begin, size_t end) {
    struct span visible = segmenter_trim(text + begin, end - begin);
    size_t space = begin + visible.end, next = end;
    if (end >= length)
        return false;
    for (size_t at = space; at < end;) /* the end of a line is the end of a sentence */
        if (character_ends_line(character_next(text, end, &at)))
            return false;
    if (space < end &&
        abbreviation_goes_on(segmenter->abbreviations, &(struct stop){text, length, space, end}))
        return true;
    if (!segmenter->ordinals ||
        (space < end && !character_is_spaced(character_next(text, length, &next))))
        return false;

    /* one or two digits, or a Roman numeral from I to XXXIX, with a full stop */
    text += begin;
    if (visible.end < 2 || text[visible.end - 1] != '.')
        return false;
    size_t stop = visible.end - 1, word = 0;
    while (word < stop && text[stop - word - 1] >= '0' && text[stop - word - 1] <= '9')
        word++;
    if (word > 2)
        return false;
    if (word ==
        0) { /* read backwards: I to III, with V before them or not; IV, IX; then up to three X */
        word = count_letters(text, stop, 'I', 3);
        if (word == 0 && (count_letters(text, stop, 'V', 1) || count_letters(text, stop, 'X', 1)) &&
            count_letters(text, stop - 1, 'I', 1))
            word = 2;
        else
            word += count_letters(text, stop - word, 'V', 1);
        word += count_letters(text, stop - word, 'X', 3);
    }

    /* white space, a bracket or a dash may precede the word, but it must not be 3. of 2.3. and
     * 12:3. */
    size_t at = stop - word;
    if (word == 0 || at == 0)
        return word > 0;
    int32_t before = character_previous(text, &at);
    return character_is_space(before) ||
           (character_is_punctuation(before) && before != '.' && before != ',' && before != ':');
}

/* A text that is cut, into words or into sentences. */
struct cutting {
    const struct segmenter *segmenter;
    bool words;
    UBreakIterator *iterator;
    struct bytes text;
    struct budget *budget;
};

static void add_span(struct spans *found, size_t begin, size_t end) {
    if (found->all != NULL)
        found->all[found->count] = (struct span){begin, end};
    found->count++;
}

/* If found->all is NULL, spans are only counted. */
static void visit(const struct cutting *cutting, struct spans *found) {
    const char *text = cutting->text.start;
    UBreakIterator *iterator = cutting->iterator;
    bool words = cutting->words;
    size_t begin = (size_t)ubrk_first(iterator), former = begin;
    for (int32_t next = ubrk_next(iterator); next != UBRK_DONE;
         former = (size_t)next, next = ubrk_next(iterator)) {
        size_t end = (size_t)next;
        if (!budget_step(cutting->budget, 1))
            return;
        size_t closed = words ? end : skip_closing(text, cutting->text.length, end);
        if (!words &&
            (closed > end ? quotation_goes_on(text, cutting->text.length, closed)
                          : goes_on(cutting->segmenter, text, cutting->text.length, former, end)))
            continue;
        end = closed;
        struct span visible = segmenter_trim(text + begin, end - begin);
        size_t first = begin + visible.begin, last = begin + visible.end;
        begin = end;
        if (first == last)
            continue;

        /* an elided word with its apostrophe, which another word follows */
        char small[8];
        size_t at = first, after = first;
        for (int32_t c = 0; words && after < last; at = after) {
            c = character_next(text, last, &after);
            if (c == '\'' || c == 0x2019)
                break;
        }
        if (after > first && after < last && at - first <= sizeof small) {
            for (size_t i = first; i < at; i++)
                small[i - first] = (char)(ascii_upper(text[i]) ? text[i] + ('a' - 'A') : text[i]);
            if (is_in_list(elided_words, small, at - first)) {
                add_span(found, first, after);
                first = after;
            }
        }
        add_span(found, first, last);
    }
}

static int cut(const struct segmenter *segmenter, bool words, struct bytes text,
               struct arena *arena, struct spans *out, struct error *err) {
    if (text.length > INT_MAX)
        return error_set(err, ERROR_LENGTH, "a text of %zu bytes is too long", text.length);
    if (reserve_fill(err) != 0)
        return -1;
    int result = -1;
    UErrorCode status = U_ZERO_ERROR;
    UText input = UTEXT_INITIALIZER;
    UBreakIterator *iterator = ubrk_clone(words ? segmenter->words : segmenter->sentences, &status);
    const struct cutting cutting = {segmenter, words, iterator, text, arena->budget};
    struct spans found = {0};
    utext_openUTF8(&input, text.start, (int64_t)text.length, &status);
    if (U_SUCCESS(status)) /* otherwise there may be no iterator */
        ubrk_setUText(iterator, &input, &status);
    if (U_FAILURE(
            status)) { /* for a clone and a view of bytes in memory, only memory can run out */
        error_memory(err);
        goto done;
    }
    visit(&cutting, &found);
    found.all = arena_alloc(arena, found.count, sizeof *found.all);
    found.count = 0;
    if (found.all != NULL)
        visit(&cutting, &found);
    if (found.all == NULL || !budget_step(arena->budget, 0)) {
        error_memory(err);
        goto done;
    }
    *out = found;
    result = 0;
done:
    utext_close(&input);
    ubrk_close(iterator);
    return result;
}

int segmenter_split(const struct segmenter *segmenter, struct bytes text, struct arena *arena,
                    struct spans *out, struct error *err) {
    return cut(segmenter, false, text, arena, out, err);
}

int segmenter_words(const struct segmenter *segmenter, struct bytes text, struct arena *arena,
                    struct spans *out, struct error *err) {
    return cut(segmenter, true, text, arena, out, err);
}

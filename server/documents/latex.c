/* This file hides the notation of LaTeX: which of its words are prose. Text of paragraphs and the
 * arguments of the usual commands are translated; mathematics, the preamble beside the title, code,
 * and commands and environments that are not known stay with their arguments. */
#include "model/base/utf8.h"
#include "server/documents/texts.h"
#include <ctype.h>
#include <unicode/unorm2.h>

/* Commands around words of a sentence; the words are their last argument. */
static const char inlines[] =
    "textbf textit emph underline textsc textsf textrm textmd textup textsl textnormal mbox uline "
    "hl alert enquote href textcolor so textquote MakeUppercase MakeLowercase textsuperscript "
    "textsubscript structure text hyperref";
/* Commands whose last argument is code. */
static const char codes[] = "texttt lstinline code path file nolinkurl";
/* Commands whose last argument is a text of its own, within or between paragraphs. */
static const char inner[] = "footnote footnotetext thanks marginpar marginnote sidenote todo note";
static const char alone[] =
    "part chapter section subsection subsubsection paragraph subparagraph title subtitle caption "
    "captionof frametitle framesubtitle addchap addsec minisec keywords subcaption multicolumn "
    "multirow";
/* Those whose argument in brackets is a short form of the text. */
static const char shortened[] = "part chapter section subsection subsubsection title caption";
/* Commands that stand for a word; so do those without an argument, but not white space. */
static const char nouns[] = "ref eqref autoref cref Cref pageref nameref gls Gls acrshort acrlong "
                            "acrfull ac SI si num qty ensuremath";
static const char spacing[] = "quad qquad thinspace enspace hspace label index protect relax "
                              "allowbreak nobreak space cite citep citet footnotemark break null";
/* Environments whose content stays. */
static const char opaque[] =
    "verbatim Verbatim lstlisting minted comment equation align alignat gather multline eqnarray "
    "math displaymath flalign split tikzpicture pgfpicture algorithm algorithmic algorithm2e "
    "thebibliography filecontents array picture code alltt semiverbatim cases matrix pmatrix "
    "bmatrix dmath prooftree forest circuitikz asy luacode pycode sourcecode listing bytefield "
    "IEEEeqnarray subequations empheq axis CJK";
/* Environments with cells. */
static const char tables[] =
    "tabular tabularx tabulary tabu longtable longtabu supertabular xtabular "
    "tabbing";
/* Environments of which an argument is text. */
static const char entitled[] = "frame block alertblock exampleblock";
/* Commands with which a paragraph ends. */
static const char breaks[] =
    "item par newpage clearpage cleardoublepage pagebreak linebreak newline vspace bigskip medskip "
    "smallskip centering raggedright raggedleft maketitle tableofcontents listoffigures "
    "listoftables input include subfile bibliography bibliographystyle printbibliography "
    "includegraphics noindent indent hline toprule midrule bottomrule cline cmidrule appendix "
    "frontmatter mainmatter backmatter begin end hfill vfill hrule hrulefill newcommand "
    "renewcommand providecommand def let setlength addtolength setcounter pagestyle thispagestyle "
    "usepackage tabularnewline column pause titlepage printindex author date institute "
    "affiliation address email IEEEpeerreviewmaketitle lstinputlisting inputminted documentclass "
    "addcontentsline markboth markright hypersetup definecolor DeclareMathOperator newtheorem "
    "newenvironment hskip vskip large Large LARGE huge Huge small footnotesize tiny normalsize "
    "bfseries itshape ttfamily sffamily raggedbottom parskip parindent graphicspath iffalse fi";

struct latex {
    struct text_reader reader;
    const char *at, *end;
    const char *text; /* where the text that is not yet added begins; NULL: none; */
    const char *past; /* and its end, without comments after it */
    size_t tables;    /* environments with cells that are open */
    bool german;      /* a quotation mark begins a shorthand of babel */
};

/* A command with its arguments. */
struct command {
    struct bytes name;
    const char *after;         /* its name, or its last argument, */
    const char *inside, *past; /* whose content is this; inside NULL: it has none in braces */
};

/* ---- commands ---- */

static const char *skip_space(const char *at, const char *end) {
    size_t lines = 0;
    const char *first = at;
    for (; at < end && byte_is_space(*at); at++)
        lines += *at == '\n';
    return lines > 1 ? first : at; /* a paragraph ends with an empty line */
}

/* Reads a command, and its arguments in brackets and braces, of which at most `most` in braces. */
static struct command read_command(const char *at, const char *end, size_t most) {
    const char *name = at + 1, *past = name;
    while (past < end && (isalpha((unsigned char)*past) || *past == '@'))
        past++;
    if (past == name && past < end)
        past++;
    struct command command = {.name = bytes_between(name, past), .after = past};
    if (past < end && *past == '*')
        command.after = ++past;
    for (size_t braces = 0; braces < most;) {
        const char *open = skip_space(past, end);
        if (open == end || (*open != '{' && *open != '[') ||
            (*open == '[' && open > past && braces == 0))
            break;
        const char *close = texts_bracket_end(open, end);
        if (!close)
            break;
        if (*open == '{') {
            command.inside = open + 1;
            command.past = close - 1;
            braces++;
        }
        command.after = past = close;
    }
    return command;
}

/* Returns the number of arguments in braces that a known command has. */
static size_t arguments_of(struct bytes name) {
    if (bytes_among(
            name, "href textcolor captionof multicolumn multirow setlength addtolength setcounter "
                  "newcommand renewcommand providecommand addcontentsline markboth hyperref "
                  "definecolor DeclareMathOperator newtheorem"))
        return bytes_among(name, "multicolumn multirow addcontentsline definecolor") ? 3
               : bytes_are(name, "hyperref")                                         ? 1
                                                                                     : 2;
    if (bytes_among(name, inlines) || bytes_among(name, codes) || bytes_among(name, inner) ||
        bytes_among(name, alone))
        return 1;
    return 4;
}

/* ---- within texts ---- */

/* Letters and signs with names of their own. */
static bool read_named_letter(const char *at, const char *end, struct text_token *out) {
    static const struct {
        const char *name, *text;
    } letters[] = {{"ss", "\u00df"},   {"ae", "\u00e6"},    {"AE", "\u00c6"},
                   {"oe", "\u0153"},   {"OE", "\u0152"},    {"o", "\u00f8"},
                   {"O", "\u00d8"},    {"aa", "\u00e5"},    {"AA", "\u00c5"},
                   {"l", "\u0142"},    {"L", "\u0141"},     {"i", "\u0131"},
                   {"dots", "\u2026"}, {"ldots", "\u2026"}, {"textellipsis", "\u2026"}};
    const char *past = at + 1;
    while (past < end && isalpha((unsigned char)*past))
        past++;
    struct bytes name = bytes_between(at + 1, past);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (!bytes_are(name, letters[i].name))
            continue;
        if (bytes_begin(past, end, "{}"))
            past += 2;
        else if (past < end && *past == ' ')
            past++;
        *out = (struct text_token){TEXT_WORDS, .after = past, .text = bytes_of(letters[i].text)};
        return true;
    }
    return false;
}

/* An accent over a letter, which may be in braces: a command of one sign, or of one letter that a
 * brace or a blank follows. */
static bool read_accent(const struct text_reader *reader, const char *at, const char *end,
                        struct text_token *out) {
    static const char signs[] = "'`^\"~=.cvuHkrdb";
    static const UChar32 marks[] = {0x301, 0x300, 0x302, 0x308, 0x303, 0x304, 0x307, 0x327,
                                    0x30c, 0x306, 0x30b, 0x328, 0x30a, 0x323, 0x331};
    const char *sign = end - at > 2 && at[1] ? strchr(signs, at[1]) : NULL, *letter = at + 2;
    if (!sign || (isalpha((unsigned char)*sign) && *letter != '{' && *letter != ' '))
        return false;
    while (letter < end && *letter == ' ')
        letter++;
    bool braced = letter < end && *letter == '{';
    letter += braced;
    bool dotless = letter + 1 < end && *letter == '\\' && (letter[1] == 'i' || letter[1] == 'j') &&
                   (letter + 2 == end || !isalpha((unsigned char)letter[2]));
    letter += dotless;
    if (letter >= end || !isalpha((unsigned char)*letter) ||
        (braced && (letter + 1 >= end || letter[1] != '}')))
        return false;
    UErrorCode code = U_ZERO_ERROR;
    const UNormalizer2 *composition = unorm2_getNFCInstance(&code);
    UChar32 character =
        U_SUCCESS(code) ? unorm2_composePair(composition, *letter, marks[sign - signs]) : -1;
    char *text = character > 0 ? arena_alloc(reader->builder->arena, 4, 1) : NULL;
    if (!text)
        return false;
    *out = (struct text_token){TEXT_WORDS, .after = letter + 1 + braced,
                               .text = {text, character_put(character, text)}};
    if (dotless && !braced && out->after < end && *out->after == ' ')
        out->after++;
    return true;
}

/* Accents and letters that are written with commands, perhaps in braces of their own. */
static bool read_letter(const struct text_reader *reader, const char *at, const char *end,
                        struct text_token *out) {
    bool braced = *at == '{';
    const char *inside = at + braced;
    if (inside >= end || *inside != '\\' ||
        (!read_named_letter(inside, end, out) && !read_accent(reader, inside, end, out)))
        return false;
    if (braced && (out->after >= end || *out->after != '}')) {
        out->kind = TEXT_NONE;
        out->after = at + 1;
        return false;
    }
    out->after += braced;
    return true;
}

/* Returns true if the document has the shorthands of babel's German: it says so or, without a
 * preamble, has quotation marks that are written with them. */
static bool has_shorthands(struct bytes preamble, struct bytes text) {
    static const char *const options[] = {"german", "austrian"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (memmem(preamble.start, preamble.length, options[i], strlen(options[i])))
            return true;
    return preamble.length == 0 && memmem(text.start, text.length, "\"`", 2) &&
           memmem(text.start, text.length, "\"'", 2);
}

/* A shorthand of babel's German, a quotation mark and a sign: "a is a letter, "` a quotation
 * mark, and "- a place where a word may be divided. */
static void read_shorthand(const char *at, const char *end, struct text_token *out) {
    static const char signs[] = "aouAOUeisSzZ`'<>-=~/|\"";
    static const char *const texts[] = {"\u00e4", "\u00f6", "\u00fc", "\u00c4", "\u00d6", "\u00dc",
                                        "\u00eb", "\u00ef", "\u00df", "SS",     "\u00df", "SZ",
                                        "\u201c", "\u201d", "\u00ab", "\u00bb", "",       "-",
                                        "-",      "/",      "",       ""};
    const char *sign = at + 1 < end && at[1] ? strchr(signs, at[1]) : NULL;
    if (sign)
        *out =
            (struct text_token){TEXT_WORDS, .after = at + 2, .text = bytes_of(texts[sign - signs])};
}

/* A text_next. */
static void next(const struct text_reader *reader, const char *begin, const char *at,
                 const char *end, struct text_token *out) {
    static const struct {
        const char *written, *text;
    } signs[] = {{"---", "\u2014"}, {"--", "\u2013"}, {"``", "\u201c"}, {"''", "\u201d"},
                 {"\\%", "%"},      {"\\&", "&"},     {"\\#", "#"},     {"\\$", "$"},
                 {"\\_", "_"},      {"\\{", "{"},     {"\\}", "}"},     {"\\-", ""},
                 {"\\/", ""},       {"\\@", ""}};
    if (*at == '"' && ((const struct latex *)reader)->german)
        read_shorthand(at, end, out);
    if (!strchr("\\$%{}-`'~&", *at) || read_letter(reader, at, end, out))
        return;
    if (*at == '~' || bytes_begin(at, end, "\\,") || bytes_begin(at, end, "\\ ")) {
        const char *after = at + (*at == '~' ? 1 : 2);
        *out = (struct text_token){TEXT_SPACE, .after = after};
        struct text_token unit = {TEXT_NONE, .after = after};
        if (*at == '~' && after < end && *after == '\\')
            next(reader, begin, after, end, &unit);
        if (unit.kind == TEXT_UNIT) /* it goes where the citation after it goes */
            *out = unit;
        return;
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (bytes_begin(at, end, signs[i].written)) {
            *out = (struct text_token){TEXT_WORDS, .after = at + strlen(signs[i].written),
                                       .text = bytes_of(signs[i].text)};
            return;
        }
    if (*at == '%') { /* a comment, with its line end and the indentation of the next line */
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        for (feed = feed ? feed + 1 : end; feed < end && (*feed == ' ' || *feed == '\t');)
            feed++;
        *out = (struct text_token){TEXT_UNIT, .after = feed};
    } else if (*at == '$') {
        bool two = at + 1 < end && at[1] == '$';
        const char *limit = texts_limit(at, end),
                   *past = texts_find(at + 1 + two, limit, two ? "$$" : "$");
        while (past && !two && past[-1] == '\\')
            past = texts_find(past + 1, limit, "$");
        if (past)
            *out = (struct text_token){TEXT_NOUN, .after = past + 1 + two, .text = {"X", 1}};
    } else if (*at == '{') {
        const char *after = texts_bracket_end(at, end), *inside = at + 1;
        if (!after)
            return;
        if (inside < end && *inside == '\\' && inside + 1 < end &&
            isalpha((unsigned char)inside[1])) {
            struct command command = read_command(inside, end, 0); /* {\bf text} */
            if (bytes_among(command.name, "bf it em tt sl sc rm sf bfseries itshape ttfamily "
                                          "scshape slshape small large footnotesize"))
                for (inside = command.after; inside < end && *inside == ' ';)
                    inside++;
        }
        *out = (struct text_token){TEXT_ELEMENT, after, inside, after - 1, nothing};
    } else if (*at == '\\' && at + 1 < end) {
        if (at[1] == '(' || at[1] == '[') {
            const char *past = texts_find(at + 2, end, at[1] == '(' ? "\\)" : "\\]");
            *out =
                (struct text_token){TEXT_NOUN, .after = past ? past + 2 : at + 2, .text = {"X", 1}};
            return;
        }
        struct command command = read_command(at, end, 0);
        if (bytes_are(command.name, "verb") && command.after < end) {
            const char *past =
                memchr(command.after + 1, *command.after, (size_t)(end - command.after - 1));
            *out =
                (struct text_token){past ? TEXT_CODE : TEXT_UNIT, past ? past + 1 : command.after,
                                    command.after + 1, past, nothing};
            return;
        }
        command = read_command(at, end, arguments_of(command.name));
        bool name = command.name.length > 2 && command.past <= command.inside &&
                    !bytes_among(command.name, spacing);
        enum text_token_kind kind = name                                 ? TEXT_NOUN
                                    : !command.inside                    ? TEXT_UNIT
                                    : bytes_among(command.name, inlines) ? TEXT_ELEMENT
                                    : bytes_among(command.name, codes)   ? TEXT_CODE
                                    : bytes_among(command.name, inner)   ? TEXT_INNER
                                    : bytes_among(command.name, nouns)   ? TEXT_NOUN
                                                                         : TEXT_UNIT;
        *out = (struct text_token){kind, command.after, command.inside, command.past,
                                   name ? command.name : (struct bytes){"X", 1}};
    } else if (*at == '&') {
        *out = (struct text_token){TEXT_BREAK, .after = at + 1};
    }
}

/* Writes what T1 and OT1, TeX's encodings of fonts, have no letters for. A straight quotation mark
 * would close, even before a word. */
static void escape(struct bytes_buffer *out, const char *text, size_t length) {
    static const struct {
        const char *text, *written;
    } signs[] = {{"\u201c", "``"},
                 {"\u201d", "''"},
                 {"\u00ab\u00a0", "``"},
                 {"\u00ab ", "``"},
                 {"\u00ab", "``"},
                 {"\u00a0\u00bb", "''"},
                 {"\u202f\u00bb", "''"},
                 {" \u00bb", "''"},
                 {"\u00bb", "''"},
                 {"\u201e", "``"},
                 {"\u2014", "---"},
                 {"\u2013", "--"},
                 {"\u00a0", "~"},
                 {"\u202f", "~"},
                 {"\u2026", "\\ldots{}"},
                 {"...", "\\ldots{}"},
                 {"\u2019", "'"},
                 {"%", "\\%"},
                 {"&", "\\&"},
                 {"#", "\\#"},
                 {"$", "\\$"},
                 {"_", "\\_"},
                 {"{", "\\{"},
                 {"}", "\\}"},
                 {"~", "\\textasciitilde{}"},
                 {"^", "\\textasciicircum{}"},
                 {"\\", "\\textbackslash{}"}};
    for (size_t at = 0; at < length;) {
        size_t i = 0;
        while (i < sizeof signs / sizeof *signs &&
               !bytes_begin(text + at, text + length, signs[i].text))
            i++;
        if (i == sizeof signs / sizeof *signs && text[at] == '"') {
            bool opens = out->failed || out->length == 0 ||
                         strchr(" \t\n([{~-&", out->bytes[out->length - 1]);
            bytes_put_string(out, opens ? "``" : "''");
            at++;
            continue;
        }
        if (i == sizeof signs / sizeof *signs) {
            bytes_put(out, text + at++, 1);
            continue;
        }
        bytes_put_string(out, signs[i].written);
        at += strlen(signs[i].text);
    }
}

/* ---- the document ---- */

static void end_text(struct latex *latex) {
    if (latex->text)
        texts_add(&latex->reader, latex->text, latex->past, latex->tables > 0 ? " / " : "\n\n");
    latex->text = NULL;
}

/* Adds the text of a heading or the like, and its short form. */
static void add_heading(struct latex *latex, const struct command *command) {
    const char *open = command->name.start + command->name.length;
    open += *open == '*';
    const char *close = *open == '[' && bytes_among(command->name, shortened)
                            ? texts_bracket_end(open, latex->end)
                            : NULL;
    if (close && close < command->inside)
        texts_add(&latex->reader, open + 1, close - 1, " / ");
    texts_add(&latex->reader, command->inside, command->past, " / ");
}

/* Returns the place after \end{name}, or the end of the document. */
static const char *environment_end(const struct latex *latex, struct bytes name) {
    const char *at = latex->at;
    while ((at = memmem(at, (size_t)(latex->end - at), "\\end{", 5)) != NULL) {
        at += 5;
        if ((size_t)(latex->end - at) > name.length && memcmp(at, name.start, name.length) == 0 &&
            at[name.length] == '}')
            return at + name.length + 1;
    }
    return latex->end;
}

/* Skips the arguments after \begin{name}; those of a slide or a block are text. */
static void read_begin(struct latex *latex, const struct command *begin) {
    struct bytes name = bytes_between(begin->inside, begin->past), bare = name;
    latex->at = begin->after;
    if (bare.length > 1 && bare.start[bare.length - 1] == '*')
        bare.length--;
    if (bytes_among(bare, opaque)) {
        latex->at = environment_end(latex, name);
        return;
    }
    latex->tables += bytes_among(bare, tables);
    bool titled = bytes_among(bare, entitled);
    for (bool more = true; more;) {
        const char *open = latex->at;
        while (open < latex->end && (*open == ' ' || *open == '\t'))
            open++;
        more = open < latex->end && (*open == '{' || *open == '[' || *open == '<');
        const char *close = more ? texts_bracket_end(open, latex->end) : NULL;
        more = close != NULL;
        if (more && titled && *open == '{')
            texts_add(&latex->reader, open + 1, close - 1, " / ");
        if (more)
            latex->at = close;
    }
}

/* Reads text, or notation within a text. */
static void read_notation(struct latex *latex) {
    struct text_token token = {TEXT_NONE, .after = latex->at + 1};
    if (strchr("\\${", *latex->at))
        next(&latex->reader, latex->at, latex->at, latex->end, &token);
    latex->text = latex->text ? latex->text : latex->at;
    latex->at = latex->past = token.after;
}

/* Reads the command at the current place: ends the text before it if it stands between
 * paragraphs. */
static void read_between(struct latex *latex) {
    struct command command = read_command(latex->at, latex->end, 0);
    bool single = bytes_among(command.name, alone), begins = bytes_are(command.name, "begin");
    const char *first = latex->at;
    bool names = bytes_are(command.name, "label") && !latex->text;
    if (bytes_are(command.name, "\\") || bytes_are(command.name, "[") ||
        bytes_among(command.name, breaks) || single || names) {
        end_text(latex);
        if (bytes_are(command.name, "[")) {
            const char *past = memmem(first, (size_t)(latex->end - first), "\\]", 2);
            latex->at = past ? past + 2 : latex->end;
            return;
        }
        size_t most = begins || bytes_are(command.name, "end") ? 1
                      : bytes_are(command.name, "item")        ? 0
                                                               : arguments_of(command.name);
        const char *name_end = command.after;
        command = read_command(first, latex->end, most);
        latex->at = command.after;
        if (bytes_are(command.name, "item") && latex->at < latex->end && *latex->at == '[') {
            const char *close = texts_bracket_end(latex->at, latex->end);
            if (close)
                texts_add(&latex->reader, latex->at + 1, close - 1, " / ");
            latex->at = close ? close : latex->at + 1;
        } else if (bytes_are(command.name, "\\") && latex->at < latex->end && *latex->at == '[') {
            const char *close = texts_bracket_end(latex->at, latex->end);
            latex->at = close ? close : latex->at + 1;
        } else if (begins && command.inside) {
            read_begin(latex, &command);
        } else if (bytes_are(command.name, "end") && command.inside) {
            latex->tables -= latex->tables > 0 &&
                             bytes_among(bytes_between(command.inside, command.past), tables);
        } else if (single && command.inside) {
            add_heading(latex, &command);
        } else if (bytes_among(command.name, "def let")) { /* to the end of its definition */
            const char *open = memchr(name_end, '{', (size_t)(latex->end - name_end));
            const char *close =
                open && open - name_end < 100 ? texts_bracket_end(open, latex->end) : NULL;
            latex->at = close ? close : name_end;
        }
        return;
    }
    read_notation(latex);
}

/* Reads what is at the current place. */
static void read_next(struct latex *latex) {
    const char *at = latex->at;
    if (byte_is_space(*at)) {
        const char *past = at;
        size_t lines = 0;
        for (; past < latex->end && byte_is_space(*past); past++)
            lines += *past == '\n';
        if (lines > 1)
            end_text(latex);
        latex->at = past;
    } else if (*at == '%') {
        const char *feed = memchr(at, '\n', (size_t)(latex->end - at));
        for (latex->at = feed ? feed + 1 : latex->end;
             latex->at < latex->end && (*latex->at == ' ' || *latex->at == '\t');)
            latex->at++;
        if (latex->at < latex->end && *latex->at == '\n')
            end_text(latex);
    } else if (*at == '\\') {
        read_between(latex);
    } else if (*at == '&' && latex->tables > 0) {
        end_text(latex);
        latex->at++;
    } else if (*at == '$' && at + 1 < latex->end && at[1] == '$') {
        const char *past = memmem(at + 2, (size_t)(latex->end - at - 2), "$$", 2);
        end_text(latex);
        latex->at = past ? past + 2 : latex->end;
    } else {
        read_notation(latex);
    }
}

/* Goes through the preamble for the title. */
static void read_preamble(struct latex *latex, const char *body) {
    static const char *const titles[] = {"\\title", "\\subtitle"};
    for (const char *at = latex->at; at < body; at++) {
        const char *feed = *at == '%' && (at == latex->at || at[-1] != '\\')
                               ? memchr(at, '\n', (size_t)(body - at))
                               : NULL;
        at = feed ? feed : at;
        for (size_t i = 0; i < sizeof titles / sizeof *titles && *at == '\\'; i++) {
            size_t length = strlen(titles[i]);
            if (!bytes_begin(at, body, titles[i]) || isalpha((unsigned char)at[length]))
                continue;
            struct command command = read_command(at, body, 1);
            if (command.inside)
                add_heading(latex, &command);
            at = command.after - 1;
        }
    }
    latex->at = body;
}

int latex_read(const struct document *document, struct arena *arena, struct markup *out,
               struct error *err) {
    static const char begin[] = "\\begin{document}", end[] = "\\end{document}";
    struct piece_builder builder = document_builder(document, arena);
    struct latex latex = {.reader = texts_reader(document, &builder, next),
                          .at = document->source,
                          .end = document->source + document->length};
    if (builder.failed)
        return error_memory(err);
    const char *body = memmem(latex.at, document->length, begin, strlen(begin));
    struct bytes preamble = body ? bytes_between(latex.at, body) : nothing;
    latex.german = has_shorthands(preamble, (struct bytes){document->source, document->length});
    if (body)
        read_preamble(&latex, body + strlen(begin));
    else if (memmem(latex.at, document->length, "\\documentclass", 14))
        latex.at = latex.end;
    const char *last = memmem(latex.at, (size_t)(latex.end - latex.at), end, strlen(end));
    latex.end = last ? last : latex.end;
    while (latex.at < latex.end && !builder.failed)
        read_next(&latex);
    end_text(&latex);
    return spans_build(latex.reader.spans, &builder, escape, out, err);
}

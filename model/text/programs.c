/* This file has the notations of words and strings that are for programs: names, codes, commands,
 * styles, patterns, statements. Unlike the runs of the other tables, they are judged as a whole. */
#include "model/text/notation.h"

/* ---- words ---- */

#define LANGUAGES /* except those that are frequent words themselves: "de", "es", "it", "no" */    \
    " ar az be bg bn bs ca cs cy da el en eo et eu fa fi fr ga gl gu he hi hr hu hy ja ka kk km "  \
    "kn ko ky lb lt lv mk ml mn mr ms mt ne nl pa pl pt ro ru sk sl sq sr sv sw ta te th tr uk "   \
    "ur uz vi zh zu "
#define ZONES                                                                                      \
    " UTC GMT CET CEST WET WEST EET EEST EST EDT CST CDT MST MDT PST PDT BST IST JST MSK AEST "
#define CURRENCIES                                                                                 \
    " EUR USD GBP JPY CHF CAD AUD NZD CNY RUB INR BRL MXN SEK NOK DKK PLN CZK HUF TRY KRW ZAR "    \
    "SGD HKD "
#define REGIONS                                                                                    \
    " Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific Etc US "      \
    "Canada Brazil "
#define PROPERTIES                                                                                 \
    " color background margin padding border font width height display position top left right "   \
    "bottom float clear opacity overflow cursor flex grid transform transition animation outline " \
    "content visibility z-index text-align font-size font-weight font-family line-height "         \
    "max-width min-width background-color "
#define UNITS                                                                                      \
    " px em rem vh vw pt pc cm mm in ex ch fr ms s deg rad dpi B kB KB MB GB TB KiB MiB GiB kbps " \
    "Mbps Hz kHz MHz GHz kg g mg km m l ml mL V W kW A K bit bits fps "
#define VALUES                                                                                     \
    " solid dashed dotted double none auto inherit initial unset normal bold italic ease ease-in " \
    "ease-out ease-in-out linear center left right top bottom all opacity transform color "        \
    "background cover contain no-repeat repeat fixed absolute transparent black white red "
#define PROGRAMS                                                                                   \
    " npm npx yarn pnpm pip pip3 cargo sudo tsc curl wget chmod mkdir rm cp mv eslint webpack "    \
    "vite rollup jest mocha prettier ts-node nodemon cross-env rimraf babel apt-get "              \
    "docker-compose kubectl "
#define PROGRAMS_THAT_ARE_WORDS " git node python python3 docker cd bash sh deno bun "
#define CLASSES                                                                                    \
    " btn row col container active disabled hidden visible flex grid block inline nav navbar "     \
    "card "                                                                                        \
    "form modal fade show open alert badge table dropdown collapse rounded shadow border "         \
    "absolute relative fixed sticky uppercase truncate underline italic fa fas far fab glyphicon " \
    "icon clearfix wrapper small large primary secondary success danger warning info dark light "  \
    "sr selected current group peer "
#define CLASS_PREFIXES                                                                             \
    " btn col row text bg mt mb ml mr mx my pt pb pl pr px py m p d w h is has js fa fas icon "    \
    "nav "                                                                                         \
    "navbar card form input modal container flex grid items justify font border rounded shadow "   \
    "min max sm md lg xl hover focus list table alert badge dropdown float align self gap space "  \
    "leading tracking opacity overflow z order sr glyphicon ui el v mat ng ant css swiper offset " \
    "pull push top bottom left right dark group peer active disabled before after first last "

/* The name of a file or a host. */
static size_t as_file(const struct scan *scan) {
    return scan_names_file(scan->text, scan->length) ? scan->length : 0;
}

/* Forms of one word with bars between them, as vue-i18n has them: car|cars. */
static size_t as_forms(const struct scan *scan) {
    size_t end = 0, stem = 0;
    for (size_t begin = 0;; begin = end + 1) {
        for (end = begin; ascii_letter(scan_peek(scan, end));)
            end++;
        stem = begin > 0 ? stem : end > 3 ? end - 1 : end;
        bool same =
            stem >= 3 && end - begin >= stem && memcmp(scan->text + begin, scan->text, stem) == 0;
        if (!same || end == scan->length)
            return same ? end : 0;
        if (scan->text[end] != '|')
            return 0;
    }
}

/* Arial, Helvetica, sans-serif */
static size_t as_fonts(const struct scan *scan) {
    static const char *const last[] = {"sans-serif", " serif", "monospace"};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        size_t length = strlen(last[i]);
        if (scan->length > length && scan_has(scan, scan->length - length, last[i]))
            return memchr(scan->text, ',', scan->length) ? scan->length : 0;
    }
    return 0;
}

/* ---- the tables ---- */

#define W  "[ \t\n\r]"
#define NW "[^ \t\n\r]"

/* Letters of dates: groups of one of them, and what separates groups. A single one has no letter
 * after it except in "Do" and before a T. */
#define REPEATED "(yy|YY|MM|DD|dd|HH|hh|mm|ss|SS|aa|AA|EE|ee|QQ|ww|WW|zz|ZZ|XX|xx|LL|TT|GG|uu)"
#define GROUP                                                                                      \
    "(y{2,6}|Y{2,6}|M{2,6}|D{2,6}|d{2,6}|H{2,6}|h{2,6}|m{2,6}|s{2,6}|S{2,6}|a{2,6}|E{2,6}|e{2,6}|" \
    "Q{2,6}|w{2,6}|W{2,6}|z{2,6}|Z{2,6}|X{2,6}|x{2,6}|L{2,6}|G{2,6}|u{2,6}|"                       \
    "[yYMDdHhmsSaAEeQwWzZXxLTGuo](!\\l|&[oT]))"
#define BETWEEN "[\\]/.:,' [-]"
#define DAY     "(Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
#define MONTH   "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"

#define CODE                                                                                       \
    "(\\\\[dwsb./(]|\\(\\?[:=!<]|\\[(a-z|A-Z|0-9)|\\.\\*|\\.\\+\\)|=>|[!=]==|\\&\\&|\\|\\||"       \
    "\\(\\);|\\)\\{|\\+=|\":)"
#define NUMBER "([+.,-]*\\d+)+"
#define END    "&(" W "|\\z)"
#define DIGITS "0123456789"
#define SMALL  "abcdefghijklmnopqrstuvwxyz"
#define OPTION "-(-\\l|\\l" END ")"
#define NAMED  "([/~]|-\\l|\\.{1,2}/|(!(\\c[./_:=@]\\c\\c)" NW ")*\\c[./_:=@]\\c\\c)"

struct row {
    const char *name;
    enum wording means;
    const char *first;                      /* the characters with which it begins; NULL: any */
    size_t (*end)(const struct scan *scan); /* as in struct notation */
    const char *expression;
};

/* The first row that matches counts. A word that no row matches has signs of programs. */
static const struct row words[] = {
    {"ordinal number", WORDING_NAME, DIGITS, NULL, "\\d+(st|nd|rd|th|er|re|e)\\z"},
    {"long word", WORDING_DOUBTFUL, NULL, NULL, "([\\l']{0,45}-)*\\l{46}[\\l'-]*\\z"},
    {"literal", WORDING_PROGRAM, "tfunNTF", NULL,
     "\\< true false null undefined nil NaN None True False >\\z"},
    {"time zone or currency", WORDING_DOUBTFUL, CAPITALS, NULL,
     "&(\\u{3,4}\\z)\\<" ZONES CURRENCIES ">\\z"},
    {"capitals", WORDING_CAPITALS, CAPITALS, NULL, "\\u(\\u|-\\u)+\\z"},
    {"Word, PDFs", WORDING_NAME, CAPITALS, NULL, "\\u(\\u+s|[a-z]*)\\z"},
    {"code of a language", WORDING_DOUBTFUL, SMALL, NULL, "&([a-z]{2}\\z)\\<" LANGUAGES ">\\z"},
    {"no vowel", WORDING_DOUBTFUL, SMALL, NULL, "[b-df-hj-np-tv-xz]{3,45}\\z"},
    {"word", WORDING_WORD, SMALL, NULL, "[a-z]+\\z"},
    {"camelCase", WORDING_DOUBTFUL, NULL, NULL, "\\l+\\z"},
    {"don't", WORDING_WORD, NULL, NULL, "[a-z][\\l']*\\z"},
    {"L'Oise", WORDING_NAME, NULL, NULL, "\\l[\\l']*\\z"},
    {"letters and digits", WORDING_DOUBTFUL, NULL, NULL, "[\\l\\d']+\\z"},
    {"e-mail", WORDING_WORD, "ercna", NULL, "\\< e re co non anti ex >(-[a-z]+)+\\z"},
    {"kebab-case", WORDING_DOUBTFUL, SMALL, NULL, "[a-z]+(-[a-z]+)+\\z"},
    {"en-GB, Content-Type", WORDING_DOUBTFUL, NULL, NULL,
     "([a-z]{2,3}|\\< Content X Accept Access Cache If Sec Set Proxy "
     ">)(-!([a-z]+(-|\\z))[\\l']+)+\\z"},
    {"Wi-Fi", WORDING_NAME, NULL, NULL, "[\\l']+(-[\\l']+)+\\z"},
    {"U.S, p.m", WORDING_NAME, NULL, NULL, "[\\l'](\\.[\\l'])+\\z"},
    {"file", WORDING_PROGRAM, NULL, as_file, NULL},
    {"names with dots", WORDING_DOUBTFUL, NULL, NULL, "\\l[\\l'.]*\\z"},
    {"Europe/Vienna", WORDING_PROGRAM, CAPITALS, NULL, "\\<" REGIONS ">/"},
    {"Yes/No", WORDING_NAME, CAPITALS, NULL, "\\u\\l*(/\\u\\l*)+\\z"},
    {"and/or", WORDING_WORD, SMALL, NULL,
     "\\< and/or either/or he/she she/he his/her her/his him/her yes/no on/off w/o km/h >\\z"},
    {"names with slashes", WORDING_DOUBTFUL, NULL, NULL, "\\l+(/\\l+)+\\z"},
    {"forms", WORDING_WORD, NULL, as_forms, NULL},
    {"&Open, E&xit", WORDING_NAME, NULL, NULL, "(\\u[a-z]*\\&[a-z]+|\\&\\l[a-z]+)\\z"},
    {"R&D", WORDING_NAME, NULL, NULL, "([\\l'&]{1,5}\\z|[&'B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xz]+\\z)"},
    {"Foo,bar", WORDING_NAME, CAPITALS, NULL, "\\u[\\l',]*\\z"},
    {"snake_case", WORDING_DOUBTFUL, NULL, NULL,
     "([\\l',]+\\z|[\\l'_]+\\z|[\\l'+]+\\z|[\\l';]+\\z)"},
    {"words with hyphens", WORDING_NAME, NULL, NULL,
     "!([\\l'-]+\\z)[\\l'(),;+|&]+-[\\l'(),;+|&-]*\\z"},
    {"entry(s)", WORDING_NAME, NULL, NULL, "\\l+\\((es|en|er|in|[senxr])\\z"},
    {"path", WORDING_PROGRAM, NULL, NULL, "(~/|\\.{0,2}/|([^:\\\\@_]|:!//)*(://|[\\\\@_]))"},
    {"letters beyond ASCII", WORDING_NAME, NULL, NULL, "[^\x80-\xff]*[\x80-\xff]"},
};

/* rgba(0, 0, 0, .5), print("a"), but not item(s) */
#define CALL                                                                                       \
    "&([\\l\\d._-]+\\()!(\\l+\\((es|er|en|ex|in|e|s|n|x|r)\\)\\z)[\\l\\d._-]+"                     \
    "\\((!(\\);?\\z)(.|\n))*\\);?\\z"

static const struct row sources[] = {
    {"person", WORDING_PROGRAM, NULL, NULL, /* Jane Doe <jane@example.org> (https://example.org) */
     "([^ <(][^ ]* +){0,4}&([^@]*@)(<[^ >@]*@[^ >]*>|\\(http[^ )]*\\)| +)+\\z"},
    {"call", WORDING_PROGRAM, NULL, NULL, CALL},
};

static const struct row strings[] = {
    {"call", WORDING_PROGRAM, NULL, NULL, CALL},
    {"drawing", WORDING_PROGRAM, "Mm", NULL, /* M10 10 L 90 30 Z */
     "[Mm]&(([^\\d]*\\d+){4})[MmZzLlHhVvCcSsQqTtAae+., \\d-]+\\z"},
    {"date", WORDING_PROGRAM, CAPITALS DIGITS "+- ", NULL, /* Mon, 01 May 2024 10:00:00 GMT */
     "&(((" DAY "|" MONTH "|[A-Z]{3,4}),?&( |\\z)|[\\d+-][^ ]*| +)+\\z)&((!(\\d\\d:\\d\\d).)*\\d)"
     "(!" MONTH ".)*" MONTH},
    {"pattern of dates", WORDING_PROGRAM, NULL, NULL, /* YYYY-MM-DD, h:mm a */
     "&([yYMDdHhmsSaAEeQwWzZXxLTGuo\\]/.:,' [-]+\\z)&((!" REPEATED ".)*" REPEATED
     ")&([^yYMDdHh]*[yYMDdHh])" BETWEEN "*"
     "(" GROUP "+" BETWEEN "+" GROUP "(" GROUP "|" BETWEEN ")*\\z|"
     "&((!(yyyy|YYYY).)*(yyyy|YYYY))" GROUP GROUP "+\\z)"},
    {"code", WORDING_PROGRAM, NULL, NULL,
     "&([^\\\\([.=!&|)+\"]*[\\\\([.=!&|)+\"])([^\\\\([.=!&|)+\"]+|!" CODE "(.|\n))*" CODE},
    {"pattern, path", WORDING_PROGRAM, NULL, NULL, "(^|\\\\\\\\|\\l:\\\\|/[^/ ]*/[^ ]*\\z)"},
    {"object", WORDING_PROGRAM, "{[", NULL,
     "&([^\"]*\")(\\{([^}]|}!\\z)*}|\\[([^\\]]|]!\\z)*])\\z"},
    {"declarations of CSS", WORDING_PROGRAM, NULL, NULL,
     "&([^:]*:)((\\<" PROPERTIES ">" W "*:" W "*[^; ][^;]*;?" W "*)+\\z|"
     "\\<" PROPERTIES ">" W "*:[^;]+;(" W "*[a-z-]+" W "*:[^;]+;?)*" W "*\\z)"},
    {"fonts", WORDING_PROGRAM, NULL, as_fonts, NULL},
    {"query of media", WORDING_PROGRAM, NULL, NULL,
     "&([^(/]*[(/])(Mozilla/"
     "|([^(]+|!(\\((m(in|ax)-width:|prefers-)).)*\\((m(in|ax)-width:|prefers-))"},
    {"pairs", WORDING_PROGRAM, NULL, NULL, "([^ \t\n\r=]+=" NW "*" W "*)+\\z"},
    {"measures", WORDING_PROGRAM, DIGITS "+-.,", NULL,
     "(" NUMBER "(" W "*\\<" UNITS ">)?" END W "*)+\\z"},
    {"style", WORDING_PROGRAM, NULL, NULL,
     "&([^\\d#]*[\\d#])((" NUMBER "(\\<" UNITS ">)?|#" NW "*|\\<" VALUES ">)" END W "*)+\\z"},
    {"SQL", WORDING_DOUBTFUL, CAPITALS, NULL, SQL},
    {"command", WORDING_DOUBTFUL, SMALL, NULL, "\\<" PROGRAMS ">" END "([^!?]|[!?]!\\z)*\\z"},
    {"command with options", WORDING_DOUBTFUL, SMALL, NULL,
     "&([^-]*-)[a-z]" NW "*(" W "+!(" OPTION ")" NW "+)*" W "+" OPTION "([^.!?]|[.!?]!\\z)*\\z"},
    {"command that is a word", WORDING_DOUBTFUL, SMALL, NULL,
     "\\<" PROGRAMS_THAT_ARE_WORDS ">(" W "+!" NAMED NW "+)*" W "+" NAMED "([^.!?]|[.!?]!\\z)*\\z"},
    {"classes of CSS", WORDING_DOUBTFUL, SMALL, NULL,
     "&([a-z \t\n\r]*[^a-z \t\n\r])((\\<" CLASSES ">" END "|\\<" CLASS_PREFIXES
     ">[^a-z \t\n\r][a-z\\d_:/[\\].%#!-]*" END ")" W "*)+\\z"},
};

enum wording programs_wording(enum wording_part part, const char *text, size_t length) {
    static const struct {
        const struct row *rows;
        size_t count;
        enum wording otherwise;
    } tables[] = {
        [WORDING_PART_WORD] = {words, sizeof words / sizeof *words, WORDING_PROGRAM},
        [WORDING_PART_STRING] = {strings, sizeof strings / sizeof *strings, WORDING_OPEN},
        [WORDING_PART_SOURCE] = {sources, sizeof sources / sizeof *sources, WORDING_OPEN}};
    struct scan scan = {.text = text, .length = length, .former = ' ', .room = length};
    for (size_t i = 0; i < tables[part].count; i++) {
        const struct row *row = &tables[part].rows[i];
        if (row->first && !ascii_among(scan_peek(&scan, 0), row->first))
            continue;
        if ((row->end ? row->end(&scan) : expression_end(&scan, row->expression)) > 0)
            return row->means;
    }
    return tables[part].otherwise;
}

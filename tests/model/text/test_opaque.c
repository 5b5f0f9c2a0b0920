/* Opaque runs: found in text, widened, merged, and read by a tokenizer that hides them. */
#include "model/glossary.h"
#include "model/text/notation.h"
#include "model/text/tokenizer.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* found: what is found, each in angle brackets. */
static const struct {
    const char *text, *found;
} texts[] = {
    {"", ""},
    {"A boy plays in the snow.", ""},
    {"Hello {name}!", "<{name}>"},
    {"{0}{1} {a.b:>8} {{count}} {{ count }}", "<{0}><{1}><{a.b:>8}><{{count}}><{{ count }}>"},
    {"${HOME} %{user} #{x} {\xc3\xa9t\xc3\xa9}", "<${HOME}><%{user}><#{x}><{\xc3\xa9t\xc3\xa9}>"},
    {"{} { a } { name } {a b} {open {{a} {a\nb}", "<{ name }><{a}>"},
    {"{ $n } { -brand } { NUMBER($n, style: \"x\") } { } {see above} { and so }",
     "<{ $n }><{ -brand }><{ NUMBER($n, style: \"x\") }>"},
    {"{d, date, long} {t, time, ::hm} {n,number} {red, blue} {d:dd MMM yyyy} {Note: x} {End. x}",
     "<{d, date, long}><{t, time, ::hm}><{n,number}><{d:dd MMM yyyy}>"},
    {"{% if a %}x{% end %} {# note #} {{{ raw }}} {{ a | b }} ${ a ? 'b' : 'c' } @{x} {a | b} {a "
     "== b} {#if a} {/if}",
     "<{% if a %}><{% end %}><{# note #}><{{{ raw }}}><{{ a | b }}><${ a ? 'b' : 'c' }><@{x}><{a | "
     "b}><{a == b}><{#if a}><{/if}>"},
    {"<%= a.b %> <? x ?> [% x %] *|LIST:X|* [[a b]] <% open [[",
     "<<%= a.b %>><<? x ?>><[% x %]><*|LIST:X|*><[[a b]]>"},
    {"%name% __name__ ##A_B## @@x1@@ 50%so% _x_ __ x__ __init __x",
     "<%name%><__name__><##A_B##><@@x1@@>"},
    {"%<count>d %-10s %+.1f 20% of", "<%<count>d><%-10s><%+.1f>"},
    {"%s %d %-5.2f %1$s %lld %@ %% %(total)s %*d",
     "<%s><%d><%-5.2f><%1$s><%lld><%@><%%><%(total)s><%*d>"},
    {"50% discount, 50%discount, 20 %off, 100 % de %(a)b %y %sure", ""},
    /* letters that are no word are part of the placeholder that they touch */
    {"{n}px, %dkg, %@x %1$@x ${x}s {m}MB {h}h{m}m {n}th %.2fms {w}x1080 %{n}fps {n}GiB",
     "<{n}px><%dkg><%@x><%1$@x><${x}s><{m}MB><{h}h><{m}m><{n}th><%.2fms><{w}x1080><%{n}fps><{n}"
     "GiB>"},
    {"v{version} S%02dE%02d x{n} ID{n}. USB%d", "<v{version}><S%02dE><%02d><x{n}><ID{n}><USB%d>"},
    {"at {host}:{port}, %02d:%02d:%02d or ${h}:{{ p }}px: {a}: {b} {if}:{c} %d:",
     "<{host}:{port}><%02d:%02d:%02d><${h}:{{ p }}px><{a}><{b}><{if}:{c}><%d>"},
    {"{n}days {b}Warning File{n} to{n} {b}No {b}l'or %sDownload %@Name {n}\xe5\x80\x8b",
     "<{n}><{b}><{n}><{n}><{b}><{b}><{n}>"},
    {"(%s) '%d' %s.", "<%s><%d><%s>"},
    {"\u2018%s\u2019 \u201c%d\u201d \u00ab\u00a0%s\u00a0\u00bb %s\u2026 %d\u00e9t\u00e9",
     "<%s><%d><%s><%s>"},
    {"[X12X] [ABC3] [12] [x1] [X] [1X]", "<[X12X]><[ABC3]>"},
    {"See https://example.com/a?b=c&d=%20#e. Then ftp://x.org!",
     "<https://example.com/a?b=c&d=%20#e><ftp://x.org>"},
    {"(http://en.wikipedia.org/wiki/A_(b)) www.example.com, <https://a.b>",
     "<http://en.wikipedia.org/wiki/A_(b)><www.example.com><https://a.b>"},
    {"http:// www. xhttp :// and/or a:b:// https://)), www.,", ""},
    {"((https://x.org/(a))). [see http://y.z/b[1]]", "<https://x.org/(a)><http://y.z/b[1]>"},
    {"https://x.org/\xc3\x89lan\xe3\x80\x82\xe5\xa5\xbd", "<https://x.org/\xc3\x89lan>"},
    {"Write to jane.doe+x@mail.example.org. Or a@b, @c, d@e.f", "<jane.doe+x@mail.example.org>"},
    {"https://user@example.com/{id}", "<https://user@example.com/{id}>"},
    {"Write '{'name'}', '{' or '{name}'", "<'{'name'}'><'{'><{name}>"},
};

START_TEST(placeholders_are_found) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char found[256] = "";
        struct opaque_run span;
        size_t length = strlen(texts[i].text), end = 0;
        for (size_t at = 0; opaque_next(NOTATION_PLACEHOLDERS, texts[i].text, length, &at, &span);
             end = span.end) {
            ck_assert(span.begin >= end && span.end > span.begin && at == span.end);
            size_t used = strlen(found);
            snprintf(found + used, sizeof found - used, "<%.*s>", (int)(span.end - span.begin),
                     texts[i].text + span.begin);
        }
        ck_assert_msg(strcmp(found, texts[i].found) == 0, "%s: %s, not %s", texts[i].text, found,
                      texts[i].found);
    }
}
END_TEST

/* The same with all kinds. */
static const struct {
    const char *text, *found;
} codes[] = {
    {"A boy plays in the snow. He (and she) won't stop; \"why?\" - I-don't-know!", ""},
    {"In 1999 it cost 20 or 1,250.50, at 10:30 on the 3rd, 5km, 1980s, 50%, 2010-2015, 1 250 000.",
     ""},
    {"red \xf0\x9f\x8f\xa0 and \xe2\x9d\xa4\xef\xb8\x8f!",
     "<\xf0\x9f\x8f\xa0><\xe2\x9d\xa4\xef\xb8\x8f>"},
    {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 \xf0\x9f\x87\xab\xf0\x9f\x87\xb7 "
     "1\xef\xb8\x8f\xe2\x83\xa3 "
     "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd",
     "<\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7><\xf0\x9f\x87\xab\xf0\x9f\x87\xb7><"
     "1\xef\xb8\x8f\xe2\x83\xa3><"
     "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd>"},
    {"\xc2\xa9 Acme\xe2\x84\xa2, \xc2\xbd of it", "<\xc2\xa9><Acme\xe2\x84\xa2><\xc2\xbd>"},
    {"Thanks :-) I <3 it :D and ;) at 10:30 (a:b)", "<:-)><<3><:D><;)>"},
    {"done :tada: at 10:30:15, :+1:", "<:tada:><:+1:>"},
    {"#caturday and #12, R&D #\xc3\xa9t\xc3\xa9!", "<#caturday><#12><R&D><#\xc3\xa9t\xc3\xa9>"},
    {"ask @anna_b. or @scope/pkg, not a@b", "<@anna_b><@scope/pkg>"},
    {"see [1] and [12] and [a], [note]", "<[1]><[12]><[a]>"},
    {"plates of 9\u00d739 and 15\u00b12, 10 \u00d7 20", "<9\u00d739><15\u00b12>"},
    {"sections 12(3)(b), 4(a)(ii) and 587.1(1), but 10(ten) and (b)",
     "<12(3)(b)><4(a)(ii)><587.1(1)>"},
    {"C++ and C# and F#.", "<C++><C#><F#>"},
    {"Call +33 6 12 34 56 78 or (555) 123-4567 or 06 12 34 56 78.",
     "<+33 6 12 34 56 78><(555) 123-4567><06 12 34 56 78>"},
    {"on 2024-05-01, v1.2.3, 192.168.0.1, 12/05/2024",
     "<2024-05-01><v1.2.3><192.168.0.1><12/05/2024>"},
    {"ISBN 978-3-16-148410-0, no. 20240, 4111 1111 1111 1111",
     "<978-3-16-148410-0><20240><4111 1111 1111 1111>"},
    {"at 2024-05-01T10:00:00Z, 2024-05-01T10:00, 2024-05-01T09:30:15.250+02:00.",
     "<2024-05-01T10:00:00Z><2024-05-01T10:00><2024-05-01T09:30:15.250+02:00>"},
    {"to ::1 from 00:1b:44:11:3a:b7 to 2001:db8::1, fe80::1:2",
     "<::1><00:1b:44:11:3a:b7><2001:db8::1><fe80::1:2>"},
    {"at 10:30:15, bad:cafe, a:b, 16:9 12:5, 2024-05-01Tea", ""},
    {"R&D, AT&T, Ctrl+C, U+1F600, x^2, key=value", "<R&D><AT&T><Ctrl+C><U+1F600><x^2><key=value>"},
    {"x^2 + y^2 = z^2. and a=b - 1 is, k=v = you", "<x^2 + y^2 = z^2><a=b - 1><k=v>"},
    {"a\u00b2 + b\u00b2 = c\u00b2; m = E/c\u00b2, f(x) = 2x \u2212 1, x \u2264 5, y\u2208{1, 2}.",
     "<a\u00b2 + b\u00b2 = c\u00b2><m = E/c\u00b2><f(x) = 2x \u2212 1><x \u2264 5><y\u2208{1, 2}>"},
    {"A\u2192B\u2192C: B \u2192 C, B \u2192 I go, x\u00b2 - y\u00b2, 3 m = 9, 2 - a, I - a, B "
     "\u2192 \u00d6l, a = b's, A \u2282 B, x \u2208 \u211d",
     "<A\u2192B\u2192C><B \u2192 C><x\u00b2 - y\u00b2><A \u2282 B><x \u2208 \u211d>"},
    {"R & D, salt+pepper, Q&a, 5+3=8, you&me", ""},
    {"H\u2082O, mc\u00b2, 50 m\u00b2, CO\u2082-free", "<H\u2082O><mc\u00b2><m\u00b2><CO\u2082>"},
    {"\\alpha, $HOME, $PATH_X, $5, $AB, a\\b", "<\\alpha><$HOME><$PATH_X><\\b>"},
    {"a && b != c => d, <= e, a = b, -- x -> y", "<&&><!=><=>><<=><a = b><->>"},
    {"is it &&? no: ||, or ==.", "<&&><||><==>"},
    {"{\"a\": {\"b\": 1}} and {\"c\" or", "<{\"a\": {\"b\": 1}}><{>"},
    {"at 12\u00b0C, 45\u00b0, 1.5\u00b0", "<12\u00b0C><45\u00b0><1.5\u00b0>"},
    {"4K and 3D, 5G; 1st, 5km, 100K, 2nd", "<4K><3D><5G>"},
    {"12k, 150k of 5km; the house\u00b2 and Soup\u00b9", "<12k><150k><\u00b2><\u00b9>"},
    {"doi:10.1000/182. arXiv:1706.03762, Note:5 and at 12:30",
     "<doi:10.1000/182><arXiv:1706.03762>"},
    {"\u21165, \u00a92024, \u21165.5", "<\u21165><\u00a92024><\u2116>"},
    {"IBAN DE89 3704 0044 0532 0130 00 today", "<DE89 3704 0044 0532 0130 00>"},
    {"an A4 page, COVID-19, 3f2a9c, H1N1, but 1st and 10h30", "<A4><COVID-19><3f2a9c><H1N1>"},
    {"Set FOO_BAR=1, MAX_LEN and my_var; call name() with --dry-run or --to=x.",
     "<FOO_BAR=1><MAX_LEN><my_var><name()><--dry-run><--to=x>"},
    {"My iPhone and getName, McDonald and JavaScript", "<iPhone><getName>"},
    {"Send \\\\host\\my-dir\\a_b.docx, then \\\\n \\\" and",
     "<\\\\host\\my-dir\\a_b.docx><\\\\n><\\\">"},
    {"in 1'02\", 5'11 and 5\u20329\u2033 at 48\u00b051'24\"N, 1'000'000 of 5' 11\", 3'5x, 1'234",
     "<1'02\"><5'11><5\u20329\u2033><48\u00b051'24\"N>"},
    {"1. e4 e5 2. Nf3, 14.Qxf7+ and 3...Nbd2, 4. O-O, 7. A b, 5. dogs",
     "<1. e4 e5 2. Nf3><14.Qxf7+><3...Nbd2><4. O-O>"},
    {"There are :n of :m, at 0645Z or 06:45Z, 5 :9 a:b: c", "<:n><:m><0645Z><06:45Z>"},
    {"Try SELECT name FROM t WHERE a >= 18; to see. DELETE IT FROM HERE; or SELECT a FROM b",
     "<SELECT name FROM t WHERE a >= 18;>"},
    {"Open /usr/bin/env, ~/x.txt, ./a, C:\\Temp\\a and README.md. and/or, he/she",
     "</usr/bin/env><~/x.txt><./a><C:\\Temp\\a><README.md>"},
    {"Visit example.org. Then stop.now and go", "<example.org>"},
    {"Hello {name}!", "<{name}>"},
    {"The ____ is -- or --- so. Well... no....! ## ###y a==b ~~~", "<____><---><....><###><~~~>"},
    {"Use { or } in {curly words}, {} and {a, b}.", "<{><}><{><}><{}><{><}>"},
    {"$name, $user->id; $a[0] is $Title, US$, $US 5, 5 $CAN, $5, $AB",
     "<$name><$user->id><$a[0]><$Title>"},
    {"$path$name, $a$b$c: %s$x a$b x@y$z", "<$path><$name><$a><$b><$c><%s><$x>"},
    {"Go to !place or :place or %place, but wow! :( a:b, 5 %de", "<!place><:place><%place><:(>"},
    {"%1 of %2, 5%1, %1234", "<%1><%2>"},
    {"<@12> <#f00>a <:wave:7> <<x>> a < b, <b> </h1>, <c d>",
     "<<@12>><<#f00>><<:wave:7>><<<x>>><a < b><<b>><</h1>>"},
    {"[i]x[/i] [url=a b] [gallery id=1] [i am]", "<[i]><[/i]><[url=a b]><[gallery id=1]>"},
    {"\\(a + b\\) \\[c\\] $$d = e$$ $f$ $x^2$ $5 and $6, \\(",
     "<\\(a + b\\)><\\[c\\]><$$d = e$$><$f$><$x^2$><\\>"},
    {"\\begin{align} a \\end{align} \\begin{itemize} \\frac{1}{x} \\textbf{two words}",
     "<\\begin{align} a \\end{align}><\\begin{itemize}><\\frac{1}{x}><\\textbf><{><}>"},
    {"one\\ntwo. \\tThree \\u00e9t \\\"x\\\" \\alpha \\nu",
     "<\\n><\\t><\\u00e9><\\\"><\\\"><\\alpha><\\nu>"},
    {"{\\an8}Look, {\\i1\\b0}x", "<{\\an8}><{\\i1\\b0}>"},
    {"a **b** ~~c~~ ``d`` *e* 5 * 3 f* ***", "<**><**><~~><~~><``><``><*><*><*><***>"},
    {"\u00a7aRed \u00a76Gold \u00a7 5a \u00a75 |cff00ff00x|r a|b",
     "<\u00a7a><\u00a76><|cff00ff00><|r>"},
    {"5 \u00b0C, -3.5\u00b0F, 20 km/h, 3 mg/kg, 4 g/24 h, 5 l/2min, 5 km/2 or, 5 and/or, 1/2, 7 "
     "\u00b0 x",
     "<5 \u00b0C><-3.5\u00b0F><20 km/h><3 mg/kg><4 g/24 h><5 l/2min><\u00b0>"},
    {"If x > y then (p < 0.05), Ax = 5 or a = bc, a <= -3 >= b", "<x > y><p < 0.05><a <= -3 >= b>"},
    {"to \u22123\u00b0, +/- 5, a+/-b", "<\u22123\u00b0><+/->"},
    {"Acme\u2122 has Foo\u00ae, bar\u2122", "<Acme\u2122><Foo\u00ae><\u2122>"},
    {"aaaaaaaaaaaa, Baaad, Donaudampfschifffahrtsgesellschaft", "<aaaaaaaaaaaa>"},
    {"\u5199\u4fe1a@b.cd \u770bhttps://x.org/a\u3002", "<a@b.cd><https://x.org/a>"},
    {"a \ufe0f b, x\u200dy", "<\ufe0f>"},
};

START_TEST(codes_are_found) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char found[512] = "";
        struct opaque_run run;
        size_t length = strlen(codes[i].text), end = 0;
        for (size_t at = 0; opaque_next(NOTATION_ALL, codes[i].text, length, &at, &run);
             end = run.end) {
            ck_assert(run.begin >= end && run.end > run.begin && at == run.end &&
                      run.written == NULL);
            size_t used = strlen(found);
            snprintf(found + used, sizeof found - used, "<%.*s>", (int)(run.end - run.begin),
                     codes[i].text + run.begin);
        }
        ck_assert_msg(strcmp(found, codes[i].found) == 0, "%s: %s, not %s", codes[i].text, found,
                      codes[i].found);
        size_t at = 0;
        ck_assert(!opaque_next(NOTATION_NONE, codes[i].text, length, &at, &run));
        ck_assert_uint_eq(at, length);
    }
}
END_TEST

/* What is layout, and the sets that formats add. */
START_TEST(other_sets) {
    static const struct {
        unsigned sets;
        const char *text, *found;
    } rows[] = {
        {NOTATION_MARKDOWN, "$x$ $$y$$ $`z`$ $5 and pay $ a$b$ ", "<$x$><$$y$$><$`z`$>"},
        {NOTATION_MARKDOWN, "\\(a b_c\\) \\(a be\\) \\[a \\b c\\] \\\\(a be\\\\) \\(d\\(e\\)",
         "<\\(a b_c\\)><\\[a \\b c\\]><\\\\(a be\\\\)><\\(e\\)>"},
        {NOTATION_MARKDOWN, ":a-b: x:c: {: .a} {#b} {/* c} */} {{ d }} {% e %} {a}",
         "<:a-b:><{: .a}><{#b}><{/* c} */}><{{ d }}><{% e %}>"},
        {NOTATION_MARKDOWN, "![[a b]] [[c]] [[]] %%d e%% 5%% f 6%% ==a b== a == b",
         "<![[a b]]><[[c]]><%%d e%%><==><==>"},
        {NOTATION_MARKDOWN, "[a b]{.c} [d] {.e} f ^g-h", "<[><]{.c}><{.e}><^g-h>"},
        {NOTATION_REFERENCES, "@:a.b. a@:c @.lower:(d.e) @f $G$ $h :i_j k:l $t(m n) $n$o $p$$q$",
         "<@:a.b><@.lower:(d.e)><$G$><:i_j><$t(m n)><$p$><$q$>"},
        {NOTATION_DIGIT, "$1 ($2), $3. \"$4\" $5.99 $6,000 $7k $8 million $9% $10 a$1",
         "<$1><$2><$3><$4>"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char found[256] = "";
        size_t length = strlen(rows[i].text);
        for (size_t at = 0; at < length; at++) {
            struct opaque_run run;
            size_t used = strlen(found);
            if (!opaque_begins(rows[i].sets, rows[i].text, length, at, &run))
                continue;
            snprintf(found + used, sizeof found - used, "<%.*s>", (int)(run.end - run.begin),
                     rows[i].text + run.begin);
            at = run.end - 1;
        }
        ck_assert_msg(strcmp(found, rows[i].found) == 0, "%s: %s, not %s", rows[i].text, found,
                      rows[i].found);
    }
}
END_TEST

/* What is layout. */
START_TEST(layout_is_found) {
    static const struct {
        const char *text, *found;
    } rows[] = {
        {"One\\nTwo", "<\\n>"},
        {"Write \\n or '\\t', \\alpha", ""},
        {"He left.\\r\\n\\r\\nShe stayed.", "<\\r\\n\\r\\n>"},
        {"Run this:\n  $ make install\nand wait. $ 5 or $ make", "<$ make install>"},
        {"C:\\> dir /w\njane@host:~$ ls\n>>> f(x)\n>> quoted",
         "<C:\\> dir /w><jane@host:~$ ls><>>> f(x)>"},
        {"See:\ndef f(x):\n    return x\nThat is all;", "<def f(x):\n    return x>"},
        {"if (a == b) {\n  go\n}\nSELECT a FROM b", "<if (a == b) {\n  go\n}\nSELECT a FROM b>"},
        {"x = y + z;", "<x = y + z;>"},
        {"He went (home); she stayed;", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char found[256] = "";
        struct opaque_run run;
        for (size_t at = 0;
             opaque_next(NOTATION_LAYOUT, rows[i].text, strlen(rows[i].text), &at, &run);) {
            size_t used = strlen(found);
            snprintf(found + used, sizeof found - used, "<%.*s>", (int)(run.end - run.begin),
                     rows[i].text + run.begin);
        }
        ck_assert_msg(strcmp(found, rows[i].found) == 0, "%s: %s, not %s", rows[i].text, found,
                      rows[i].found);
    }
}
END_TEST

/* What an expression matches at the first bracket, up to the second. */
START_TEST(expressions_match) {
    static const struct {
        const char *expression, *text;
    } rows[] = {{"ab*", "<abbb>a"},
                {"ab+", "<>ac"},
                {"a{2}", "<aa>a"},
                {"a{2,3}b", "<>aaaab"},
                {"(ab|a)c", "<ac>"},
                {"(a|ab)c", "<>abc"}, /* what has matched is not given back */
                {"[a-c\\d]+[^x]", "<a1c->x"},
                {"[.:-]+", "<:-.>a"},
                {"a!b.", "<ac>"},
                {"a&(b|c)", "<a>c"},
                {"\\u\\l\\d\\b", "<Ab1>-"},
                {"\\u\\l\\d\\b", "<>Ab12"},
                {"\\w+", "<\u00e9_1> "},
                {"\\d\\s\\d\\z", "<1\u202f2>"},
                {"\\k", "<{a{b}c}>}"},
                {"\\k", "<>{a\nb}"},
                {"x\\r", "<x\u00b2>"},
                {"\\d\\m\\d", "<2\u00d73>"},
                {"--\\l[^ ]*~", "<--a=(b)>). "},
                {"\\f\\d", "1.<>2"},
                {"%\\d\\a", "5 <>%1"},
                {"\\o%s", "5<>%s"},
                {"\\< a ab abc >c", "<abcc>"},
                {"\\< b >", "<>ab"},
                {"(b|&(ab)(a|ab)|abc)", "<a>bc"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *open = strchr(rows[i].text, '<'), *close = strchr(rows[i].text, '>');
        char text[64] = "";
        snprintf(text, sizeof text, "%.*s%.*s%s", (int)(open - rows[i].text), rows[i].text,
                 (int)(close - open - 1), open + 1, close + 1);
        size_t begin = (size_t)(open - rows[i].text);
        struct scan scan = {.text = text,
                            .length = strlen(text),
                            .begin = begin,
                            .former = begin > 0 ? text[begin - 1] : ' '};
        ck_assert_msg(expression_end(&scan, rows[i].expression) ==
                          begin + (size_t)(close - open - 1),
                      "%s: %s", rows[i].expression, rows[i].text);
    }
}
END_TEST

START_TEST(kinds_have_names) {
    static const struct {
        const char *text, *kind;
    } kinds[] = {
        {"\xf0\x9f\x8f\xa0", "emoji"}, {"\xc2\xa9", "symbol"}, {"A4", "code"}, {"{x}", "code"},
        {"http://a.b", "url"},         {"a@b.cd", "email"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct opaque_run run;
        size_t at = 0;
        ck_assert_msg(opaque_next(NOTATION_ALL, kinds[i].text, strlen(kinds[i].text), &at, &run),
                      "%s", kinds[i].text);
        ck_assert_str_eq(opaque_name(run.kind), kinds[i].kind);
    }
}
END_TEST

/* A word of more than 1,000 bytes is one run, whatever it consists of; shorter ones, and text in
 * scripts that write no spaces, are read as before. */
START_TEST(endless_words_are_found) {
    static const struct {
        const char *part;
        bool endless;
        enum opaque_kind kind; /* of what is found */
    } rows[] = {
        {"a.a.", true, OPAQUE_CODE},
        {"a/", true, OPAQUE_CODE},
        {"{a}", true, OPAQUE_CODE},
        {"(", true, OPAQUE_CODE},
        {"7", true, OPAQUE_CODE},
        {"e\xcc\x81", true, OPAQUE_CODE},         /* a combining mark */
        {"\xd0\xb6:", true, OPAQUE_CODE},         /* Cyrillic */
        {"\xd8\xa7,", true, OPAQUE_CODE},         /* Arabic */
        {"https://a.example/", true, OPAQUE_URL}, /* addresses stay addresses */
        {"\xe4\xbd\xa0", false, OPAQUE_CODE},     /* Chinese */
        {"\xe3\x81\x82", false, OPAQUE_CODE},     /* hiragana */
        {"\xe0\xb8\x81", false, OPAQUE_CODE},     /* Thai */
        {"\xe0\xbd\x80\xe0\xbc\x8b", false,
         OPAQUE_CODE},                     /* Tibetan, with its mark between syllables */
        {"a\xc2\xa0", false, OPAQUE_CODE}, /* no-break spaces */
        {"a ", false, OPAQUE_CODE},
    };
    enum { LEAST = 1001 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2 * LEAST] = "See ";
        size_t begin = strlen(text), at = 0;
        struct opaque_run run = {0};
        while (strlen(text) < begin + LEAST)
            strcat(text, rows[i].part);
        size_t end = strlen(text);
        strcat(text, " now.");
        bool found = opaque_next(NOTATION_ALL, text, strlen(text), &at, &run);
        ck_assert_msg(found == rows[i].endless, "%s", rows[i].part);
        ck_assert_msg(!found || (run.begin == begin && run.end >= end - 1 && run.end <= end &&
                                 run.kind == rows[i].kind),
                      "%s", rows[i].part);
    }
    char shorter[] = "See a.b.c.d, a.b.c.d";
    size_t at = 0;
    struct opaque_run run;
    ck_assert(!opaque_next(NOTATION_ALL, shorter, strlen(shorter), &at, &run));
}
END_TEST

/* A text of one sort of character, 128 KiB of it: the test's own time limit would end it if each
 * were looked at for each other.
 */
START_TEST(time_is_linear) {
    static const char *const parts[] = {"{",
                                        "%",
                                        "[",
                                        ":",
                                        "#",
                                        "@",
                                        "/",
                                        "a1",
                                        "1 ",
                                        "1-",
                                        "DE89 ",
                                        "a.",
                                        "-",
                                        "<",
                                        "(1) ",
                                        "A_",
                                        "\xf0\x9f\x8f\xa0",
                                        "http:",
                                        "a@",
                                        "\xc2\xbd",
                                        "{a ",
                                        "*a ",
                                        "[a]",
                                        "$a",
                                        "\\(",
                                        "<%",
                                        "\\begin{align}",
                                        "x = 1;\n"};
    enum { BYTES = 1 << 17 };
    char *text = malloc(BYTES);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct opaque_run run = {0};
        size_t size = strlen(parts[i]), length = 0;
        for (; length + size <= BYTES; length += size)
            memcpy(text + length, parts[i], size);
        for (size_t at = 0; opaque_next(NOTATION_ALL, text, length, &at, &run);)
            ck_assert_uint_eq(at, run.end);
        for (size_t at = 0; opaque_next(NOTATION_LAYOUT, text, length, &at, &run);)
            ck_assert_uint_eq(at, run.end);
        ck_assert_uint_le(run.end, length);
    }
    free(text);
}
END_TEST

/* The run of the part in angle brackets, in square brackets. */
START_TEST(runs_are_widened) {
    static const struct {
        const char *text;
        const char *part, *run, *kind;
    } rows[] = {
        {"in Krak\xc3\xb3w now", "\xc3\xb3", "Krak\xc3\xb3w", "word"},
        {"the Bia\xc5\x82y-Krak\xc3\xb3w-line", "\xc3\xb3", "Bia\xc5\x82y-Krak\xc3\xb3w-line",
         "word"},
        {"l'\xc3\x8d\xc3\xb1igo,", "\xc3\x8d", "\xc3\x8d\xc3\xb1igo", "word"},
        {"pay $1,250.50 now", "$", "$1,250.50", "number"},
        {"pay US$5k.", "$", "US$5k", "number"},
        {"pay 1 250,50 \xe2\x82\xac now", "\xe2\x82\xac", "1 250,50 \xe2\x82\xac", "number"},
        {"pay -\xe2\x82\xac 5, ok", "\xe2\x82\xac", "-\xe2\x82\xac 5", "number"},
        {"the \xe2\x82\xac is", "\xe2\x82\xac", "\xe2\x82\xac", "symbol"},
        {"a --> b", ">", "-->", "symbol"},
        {"a \xc2\xa7 5", "\xc2\xa7", "\xc2\xa7", "symbol"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t begin = (size_t)(strstr(rows[i].text, rows[i].part) - rows[i].text);
        struct opaque_run run = readable_around(rows[i].text, strlen(rows[i].text), begin,
                                                begin + strlen(rows[i].part));
        ck_assert_msg(run.end - run.begin == strlen(rows[i].run) &&
                          memcmp(rows[i].text + run.begin, rows[i].run, run.end - run.begin) == 0,
                      "%s: %.*s", rows[i].text, (int)(run.end - run.begin),
                      rows[i].text + run.begin);
        ck_assert_str_eq(opaque_name(run.kind), rows[i].kind);
    }
}
END_TEST

START_TEST(runs_are_merged) {
    const char *text = "aa bb cc{d}ee ff";
    struct opaque_run old[] = {{8, 11, OPAQUE_CODE, NULL}},
                      words[] = {{0, 2, OPAQUE_WORD, NULL},
                                 {3, 5, OPAQUE_WORD, NULL},
                                 {6, 8, OPAQUE_WORD, NULL},
                                 {11, 13, OPAQUE_WORD, NULL},
                                 {14, 16, OPAQUE_SYMBOL, NULL}};
    struct opaque_runs held = {old, 1};
    struct arena arena;
    arena_init(&arena, 1024);
    ck_assert_int_eq(opaque_merge(&held, text, words, 5, &arena, NULL), 0);
    ck_assert_uint_eq(held.count, 3);
    ck_assert_uint_eq(held.all[0].begin, 0);
    ck_assert_uint_eq(held.all[0].end, 8);
    ck_assert_uint_eq(held.all[1].begin, 8);
    ck_assert_uint_eq(held.all[1].end, 13);
    ck_assert_uint_eq(held.all[2].begin, 14);
    arena_done(&arena);
}
END_TEST

static const char *const vocabularies[][2] = {{"sentencepiece", "tests/data/tiny.en.spm"},
                                              {"words", "tests/data/tiny.en.words"},
                                              {"characters", "tests/data/tiny.en.characters"}};

/* Around its placeholders. */
static struct token *encode(const struct tokenizer *tokenizer, const char *text,
                            struct arena *arena, size_t *count) {
    struct guard guard = {0};
    struct tokenizer_reading how = {0};
    ck_assert_int_eq(guard_find(&guard, NOTATION_PLACEHOLDERS, (struct bytes){text, strlen(text)},
                                arena, &how.held, NULL),
                     0);
    const struct token_list list = model_tokens(tokenizer, text, &how, arena);
    *count = list.count;
    return list.all;
}

/* Each placeholder is one unknown token with its own bytes; the others are in order, and all that
 * is visible is in one. */
static void check_tokens(const struct tokenizer *tokenizer, const char *text, struct arena *arena) {
    struct opaque_run span;
    size_t count, next = 0, end = 0, at = 0, length = strlen(text);
    struct token *tokens = encode(tokenizer, text, arena, &count);
    while (opaque_next(NOTATION_PLACEHOLDERS, text, length, &at, &span)) {
        while (next < count && !(tokens[next].begin == span.begin && tokens[next].end == span.end))
            next++;
        ck_assert_msg(next < count, "%s: no token for [%zu, %zu)", text, span.begin, span.end);
        ck_assert_int_eq(tokens[next].id, tokenizer_unknown(tokenizer));
        next++;
    }
    for (size_t i = 0; i < count; i++) {
        ck_assert(tokens[i].begin >= end && tokens[i].end >= tokens[i].begin &&
                  tokens[i].end <= length);
        for (size_t j = end; j < tokens[i].begin; j++)
            ck_assert_msg(text[j] == ' ', "%s: '%c' is in no token", text, text[j]);
        end = tokens[i].end;
    }
    ck_assert_uint_eq(end, length);
}

START_TEST(placeholders_are_tokens) {
    static const char *const read[] = {"{a}",
                                       "A boy {name} plays.",
                                       "{a}{b} {c}, ({d})snow{e}x",
                                       "\xe6\xbc\xa2{a}\xe6\xbc\xa2",
                                       "\xee\x80\x80 {a} \xee\x80\x80",
                                       "Boy %s https://a.b/c?d=E."};
    struct error err = {0};
    struct arena arena;
    struct tokenizer *tokenizer =
        tokenizer_open(vocabularies[_i][0], vocabularies[_i][1], NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    arena_init(&arena, 1024);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        check_tokens(tokenizer, read[i], &arena);
    arena_done(&arena);
    tokenizer_free(tokenizer);
}
END_TEST

/* A vocabulary that spells the hiding character in bytes: what they stand for is one token all the
 * same. */
START_TEST(bytes_of_a_vocabulary_are_one_token) {
    struct error err = {0};
    struct arena arena;
    size_t count;
    struct tokenizer *tokenizer =
        tokenizer_open("sentencepiece", "tests/data/tiny.bytes.spm", NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    arena_init(&arena, 1024);
    struct token *tokens = encode(tokenizer, "a {x} b{y}", &arena, &count);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_lt(tokenizer_byte(tokenizer, tokens[i].id), 0x80);
        found += strstr(tokens[i].piece, "{") != NULL;
        ck_assert(!strstr(tokens[i].piece, "<0x"));
    }
    ck_assert_uint_eq(found, 2);
    arena_done(&arena);
    tokenizer_free(tokenizer);
}
END_TEST

/* Without placeholders a text is read as ever; with them so is what is around them. */
START_TEST(the_rest_is_read_as_ever) {
    struct error err = {0};
    struct arena arena;
    struct token *masked;
    size_t masked_count;
    struct tokenizer *tokenizer = tokenizer_open("sentencepiece", vocabularies[0][1], NULL, &err);
    arena_init(&arena, 1024);
    const struct token_list list = model_tokens(tokenizer, "A boy plays", NULL, &arena);
    const struct token *plain = list.all;
    size_t plain_count = list.count;
    masked = encode(tokenizer, "A boy plays {x}", &arena, &masked_count);
    ck_assert_uint_eq(masked_count, plain_count + 1);
    for (size_t i = 0; i < plain_count; i++)
        ck_assert_int_eq(plain[i].id, masked[i].id);
    ck_assert_str_eq(masked[plain_count].piece, "\xe2\x96\x81{x}");
    masked = encode(tokenizer, "A({x}", &arena, &masked_count);
    ck_assert_str_eq(masked[masked_count - 1].piece, "{x}");
    arena_done(&arena);
    tokenizer_free(tokenizer);
}
END_TEST

/* Of a part, and what goes across its edges is not within. */
START_TEST(parts_have_their_own) {
    struct opaque_run all[] = {{2, 5, OPAQUE_CODE, NULL},
                               {5, 6, OPAQUE_CODE, NULL},
                               {8, 12, OPAQUE_URL, NULL},
                               {20, 21, OPAQUE_CODE, NULL}};
    const struct opaque_runs held = {all, 4};
    static const struct {
        struct span part;
        size_t count, first, last;
    } parts[] = {{{0, 30}, 4, 2, 21}, {{2, 12}, 3, 0, 10},  {{3, 12}, 2, 2, 9},
                 {{2, 11}, 2, 0, 4},  {{5, 6}, 1, 0, 1},    {{6, 8}, 0, 0, 0},
                 {{9, 11}, 0, 0, 0},  {{9, 30}, 1, 11, 12}, {{21, 30}, 0, 0, 0}};
    struct arena arena;
    arena_init(&arena, 1024);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct opaque_runs found;
        ck_assert_int_eq(
            opaque_within(&held, parts[i].part.begin, parts[i].part.end, &arena, &found, NULL), 0);
        ck_assert_uint_eq(found.count, parts[i].count);
        if (found.count == 0)
            continue;
        ck_assert_uint_eq(found.all[0].begin, parts[i].first);
        ck_assert_uint_eq(found.all[found.count - 1].end, parts[i].last);
    }
    arena_done(&arena);
}
END_TEST

Suite *opaque_suite(void) {
    Suite *suite = suite_create("opaque");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, placeholders_are_found);
    tcase_add_test(cases, codes_are_found);
    tcase_add_test(cases, other_sets);
    tcase_add_test(cases, layout_is_found);
    tcase_add_test(cases, expressions_match);
    tcase_add_test(cases, kinds_have_names);
    tcase_add_test(cases, endless_words_are_found);
    tcase_add_test(cases, time_is_linear);
    tcase_add_test(cases, runs_are_widened);
    tcase_add_test(cases, runs_are_merged);
    tcase_add_test(cases, bytes_of_a_vocabulary_are_one_token);
    tcase_add_loop_test(cases, placeholders_are_tokens, 0, 3);
    tcase_add_test(cases, the_rest_is_read_as_ever);
    tcase_add_test(cases, parts_have_their_own);
    suite_add_tcase(suite, cases);
    return suite;
}

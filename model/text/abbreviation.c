#include "model/text/abbreviation.h"
#include "model/text/character.h"

#include <stdint.h>
#include <string.h>

/* Lists have bars between their items. White space in an abbreviation may be left out in a text. A first letter that is small here
 * may be a capital in a text. */
struct abbreviations {
    const char *language;
    const char *titles;   /* never end a sentence */
    const char *numbered; /* do not end one before a digit */
    const char *others;   /* end one before an opener only */
    const char *openers;
};

static const struct abbreviations languages[] = {
    {"en",
     "Mr.|Mrs.|Ms.|Mx.|Dr.|Drs.|Prof.|Rev.|Hon.|Fr.|Gen.|Col.|Maj.|Capt.|Cpt.|Lt.|Sgt.|Gov.|Sen.|Rep.|Messrs.|Mt.|e. g.|"
     "i. e.|cf.|viz.|vs.|approx.|ca.",
     "No.|Nos.|Nr.|Fig.|Figs.|Vol.|Ch.|Sec.|Eq.|Art.|p.|pp.|para.",
     "a. m.|p. m.|A. M.|P. M.|etc.|St.|Ft.|Ave.|Blvd.|Rd.|Inc.|Ltd.|Co.|Corp.|Jr.|Sr.|Ph. D.|et al.|dept.|est.|incl.|tel.|U. S.|U. "
     "K.|"
     "U. N.|Jan.|Feb.|Apr.|Aug.|Sept.|Oct.|Nov.|Dec.",
     "A|An|The|This|That|These|Those|I|You|He|She|It|We|They|My|Your|His|Her|Its|Our|Their|There|Here|Then|But|And|Or|So|If|When|"
     "While|What|Who|Where|Why|How|Which|After|Before|Later|However|Please|Yes|No|Not|Now|Is|Are|Was|Were|Do|Does|Did|Can|Could|"
     "Will|Would|Don|Let|In|On|At|For|As|All|Some|Many|Most|Everyone|Nobody|Someone|Afterwards|Meanwhile|Also|Although|Because"},
    {"de",
     "Dr.|Prof.|Hr.|Hrn.|Fr.|Frl.|Dipl.|Ing.|Mag.|St.|z. B.|z. T.|z. Zt.|z. Hd.|"
     "d. h.|d. i.|u. a.|o. g.|u. U.|i. d. R.|i. A.|i. V.|m. E.|s. o.|s. u.|v. a.|bzw.|bspw.|ca.|evtl.|ggf.|inkl.|exkl.|insb.|"
     "sog.|vgl.|zzgl.|abzgl.|zw.|geb.|gest.|mind.|bes.|einschl.|entspr.|od.|u.|v.",
     "Nr.|Nrn.|Abb.|Abs.|Art.|Bd.|Kap.|S.|Tel.|Tab.",
     "usw.|etc.|u. v. m.|u. s. w.|usf.|Str.|Co.|jun.|sen.|Jan.|Feb.|Aug.|Sept.|Okt.|Nov.|Dez.|Mio.|Mrd.|Std.|Jh.|n. Chr.|v. Chr.",
     "Der|Die|Das|Den|Dem|Ein|Eine|Einen|Einem|Ich|Du|Er|Sie|Es|Wir|Ihr|Ihre|Man|Mein|Meine|Sein|Seine|Unser|Unsere|Dies|Diese|"
     "Dieser|Dieses|Dann|Danach|Aber|Und|Oder|Denn|Doch|Wenn|Als|Da|Dort|Hier|Was|Wer|Wo|Wie|Warum|Bitte|Ja|Nein|Nicht|Jetzt|Ist|"
     "Sind|War|Waren|In|Im|Am|Auf|Bei|Mit|Nach|Vor|Für|Alle|Viele|Auch|So|Später|Anschließend|Deshalb|Daher"},
    {"fr", "M.|MM.|Mme.|Mlle.|Dr.|Pr.|Me.|Mgr.|St.|Ste.|cf.|c.-à-d.|p. ex.|env.|apr.|av.|ap.|vol.|chap.|tél.",
     "n.|no.|p.|pp.|art.|fig.|t.", "etc.|boul.|bd.|janv.|févr.|juill.|sept.|oct.|nov.|déc.|J.-C.|Cie.|hab.|min.",
     "Le|La|Les|L|Un|Une|Des|Du|De|Ce|C|Cet|Cette|Ces|Je|J|Tu|Il|Elle|On|Nous|Vous|Ils|Elles|Mon|Ma|Mes|Son|Sa|Ses|Notre|Nos|Votre|"
     "Vos|Leur|Leurs|Mais|Et|Ou|Puis|Ensuite|Alors|Donc|Si|Quand|Comme|Que|Qui|Où|Pourquoi|Comment|Oui|Non|Ici|Après|Avant|Dans|En|"
     "À|A|Pour|Sur|Avec|Tous|Toutes|Plus|Aussi|D"},
    {"es", "Sr.|Sra.|Srta.|Sres.|Dr.|Dra.|Prof.|D.|Dña.|Ud.|Uds.|Vd.|Vds.|St.|Sta.|Sto.|p. ej.|Ej.|aprox.|cf.",
     "n.|núm.|pág.|págs.|art.|fig.|vol.|cap.|tel.", "a. m.|p. m.|etc.|Cía.|EE. UU.|S. A.|Jr.|avda.",
     "El|La|Los|Las|Lo|Un|Una|Unos|Unas|Yo|Tú|Él|Ella|Ellos|Ellas|Nosotros|Usted|Ustedes|Mi|Su|Sus|Este|Esta|Esto|Ese|Esa|Eso|Pero|"
     "Y|"
     "O|Luego|Entonces|Después|Si|Cuando|Como|Que|Qué|Quién|Dónde|Sí|No|Aquí|Ahora|En|A|De|Con|Para|Por|Todos|También"},
    {"it", "Sig.|Sigg.|Sig.ra|Dott.|Dr.|Prof.|Avv.|Ing.|Arch.|On.|Gen.|Mons.|p. es.|ad es.|es.|cfr.|ca.|v.",
     "n.|pag.|pagg.|art.|fig.|vol.|cap.|tel.", "ecc.|S. p. A.|Jr.",
     "Il|Lo|La|I|Gli|Le|L|Un|Una|Io|Tu|Lui|Lei|Noi|Voi|Loro|Egli|Ella|Mio|Suo|Questo|Questa|Quello|Quella|Ma|E|O|Poi|Allora|Dopo|"
     "Se|"
     "Quando|Come|Che|Chi|Dove|Sì|No|Non|Qui|Ora|In|A|Di|Con|Per|Tutti|Anche"},
    {"nl",
     "Dhr.|Mevr.|Mw.|Dr.|Drs.|Ir.|Ing.|Mr.|Prof.|St.|bijv.|b.v.|d. w. z.|m. b. t.|o. a.|i. p. v.|t. o. v.|z. o. z.|ca.|evt.|"
     "incl.|excl.|resp.|vgl.|zgn.|t. a. v.",
     "nr.|nrs.|blz.|p.|art.|fig.|tel.", "enz.|etc.|e. d.|jr.|sr.",
     "De|Het|Een|Ik|Jij|Je|U|Hij|Zij|Ze|Wij|We|Jullie|Mijn|Zijn|Haar|Ons|Onze|Dit|Dat|Deze|Die|Maar|En|Of|Dan|Daarna|Toen|Als|Wat|"
     "Wie|"
     "Waar|Hoe|Waarom|Ja|Nee|Niet|Hier|Daar|Nu|In|Op|Met|Voor|Na|Alle|Ook|Er"},
    {"pt", "Sr.|Sra.|Srta.|Dr.|Dra.|Prof.|Profa.|D.|Eng.|Exmo.|Exma.|p. ex.|cf.|aprox.|St.|Sto.|Sta.",
     "n.|núm.|pág.|págs.|p.|art.|fig.|vol.|cap.|tel.", "etc.|Cia.|Ltda.|S. A.|Jr.|a. m.|p. m.",
     "O|A|Os|As|Um|Uma|Eu|Tu|Ele|Ela|Eles|Elas|Nós|Você|Vocês|Meu|Minha|Seu|Sua|Este|Esta|Isto|Esse|Essa|Isso|Mas|E|Ou|Depois|"
     "Então|"
     "Se|Quando|Como|Que|Quem|Onde|Sim|Não|Aqui|Agora|Em|No|Na|De|Com|Para|Por|Todos|Também"},
};

const struct abbreviations *abbreviations_of(const char *language) {
    size_t length = strcspn(language, "-_");
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (strlen(languages[i].language) == length && strncmp(languages[i].language, language, length) == 0)
            return &languages[i];
    return NULL;
}

/* An item of a list, from *at, which moves past it. False: there are no more. */
static bool next_item(const char **at, const char **item, size_t *length) {
    if (**at == '\0')
        return false;
    *item = *at;
    *length = strcspn(*at, "|");
    *at += *length + ((*at)[*length] == '|');
    return true;
}

static bool same_letter(char listed, char written, bool first) {
    return listed == written || (first && listed >= 'a' && listed <= 'z' && written == listed - ('a' - 'A'));
}

/* text[0,end) ends with the first `length` bytes of the abbreviation as a word of its own. */
static bool ends_with(const char *text, size_t end, const char *item, size_t length) {
    for (size_t i = length; i-- > 0;) {
        if (item[i] == ' ') {
            for (size_t at = end; at > 0 && character_is_space(character_previous(text, &at));)
                end = at;
        } else if (end == 0 || !same_letter(item[i], text[--end], i == 0)) {
            return false;
        }
    }
    if (end == 0)
        return true;
    int32_t before = character_previous(text, &end);
    return character_is_space(before) || (character_is_punctuation(before) && before != '.');
}

/* text[at,length) begins with these bytes. */
static bool begins_with(const char *text, size_t length, size_t at, const char *item, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (item[i] == ' ') {
            for (size_t next = at; at < length && character_is_space(character_next(text, length, &next));)
                at = next;
        } else if (at == length || text[at++] != item[i]) {
            return false;
        }
    }
    return true;
}

static bool ends_with_one(const char *list, const char *text, size_t end) {
    const char *item;
    size_t length;
    while (next_item(&list, &item, &length))
        if (ends_with(text, end, item, length))
            return true;
    return false;
}

/* The place is inside of one that has spaces. */
static bool is_inside_one(const char *list, const char *text, size_t length, size_t end, size_t next) {
    const char *item;
    size_t bytes;
    while (next_item(&list, &item, &bytes))
        for (size_t i = 1; i + 1 < bytes; i++)
            if (item[i] == ' ' && ends_with(text, end, item, i) && begins_with(text, length, next, item + i + 1, bytes - i - 1))
                return true;
    return false;
}

/* The first word after opening quotation marks and brackets is one of the list. */
static bool is_opener(const char *list, const char *text, size_t length, size_t next) {
    size_t begin = next, end;
    for (size_t at = begin; at < length && character_is_punctuation(character_next(text, length, &at));)
        begin = at;
    end = begin;
    for (size_t at = end; at < length; end = at) {
        int32_t c = character_next(text, length, &at);
        if (character_is_space(c) || character_is_punctuation(c))
            break;
    }
    const char *item;
    size_t bytes;
    while (next_item(&list, &item, &bytes))
        if (bytes == end - begin && memcmp(item, text + begin, bytes) == 0)
            return true;
    return false;
}

bool abbreviation_goes_on(const struct abbreviations *all, const char *text, size_t length, size_t end, size_t next) {
    if (!all || end == 0 || text[end - 1] != '.' || next >= length)
        return false;
    return is_inside_one(all->titles, text, length, end, next) || is_inside_one(all->others, text, length, end, next) ||
           ends_with_one(all->titles, text, end) ||
           (text[next] >= '0' && text[next] <= '9' && ends_with_one(all->numbered, text, end)) ||
           (ends_with_one(all->others, text, end) && !is_opener(all->openers, text, length, next));
}

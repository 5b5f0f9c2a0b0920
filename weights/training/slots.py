"""Values for the `{slots}` of a phrase (weights/corpora/phrases/):
dates, times, prices, names, addresses, as each language writes them.

Input: a random state. Output: the text in each language, by its code.
"""

from __future__ import annotations

import random
import re

from . import noise

MONTHS = {"en": "January February March April May June July August September October November December".split(),
          "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
          "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()}
DAYS = {"en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
        "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
        "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()}
FIRST = ("Anna Ben Carlos Clara David Elena Emma Fatima Hannah Hugo Ivan Jack James Jane Julia Karim Kenji Laura Léa "
         "Lucas Maria Marie Martin Max Mia "
         "Nina Noah Olga Paul Peter Priya Robert Sarah Sofia Thomas Tom Yuki Zoé").split()
LAST = (("Baker Bernard Chen Dubois Fischer Garcia Johnson Kim Lefebvre Martin Miller Moreau Nguyen Novak Patel Rossi "
         "Schmidt Smith Tanaka Weber").split())
PLACES = ("Paris Berlin London Lyon Tokyo Boston Chicago Madrid Oslo Toronto Zurich Sydney Marseille Hamburg Dublin "
          "Amsterdam").split()


def _same(text: str) -> dict[str, str]:
    return {"en": text, "fr": text, "de": text}


def _date(chance: random.Random) -> dict[str, str]:
    """14 July 1789, July 14, 1789, or with the weekday, in the format of each language."""
    day, month, year = chance.randrange(1, 29), chance.randrange(12), chance.randrange(1700, 2051)
    ordinal = f"{day}{'th' if 10 < day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
    name = MONTHS["en"][month]
    english = chance.choice((f"{day} {name} {year}", f"{name} {day}, {year}", f"{name} {ordinal}, {year}",
                             f"{ordinal} {name} {year}"))
    return {"en": english, "fr": f"{'1er' if day == 1 else day} {MONTHS['fr'][month]} {year}",
            "de": f"{day}. {MONTHS['de'][month]} {year}"}


def _day_of_month(chance: random.Random) -> dict[str, str]:
    day, month = chance.randrange(2, 29), chance.randrange(12)
    english = chance.choice((f"{MONTHS['en'][month]} {day}", f"{day} {MONTHS['en'][month]}"))
    return {"en": english, "fr": f"{day} {MONTHS['fr'][month]}", "de": f"{day}. {MONTHS['de'][month]}"}


def _weekday(chance: random.Random) -> dict[str, str]:
    day = chance.randrange(7)
    return {language: DAYS[language][day] for language in DAYS}


def _month(chance: random.Random) -> dict[str, str]:
    month = chance.randrange(12)
    return {language: MONTHS[language][month] for language in MONTHS}


def _time(chance: random.Random) -> dict[str, str]:
    hour, minute = chance.randrange(24), chance.choice(range(0, 60, 5))
    shown = f"{hour}:{minute:02}"
    return {"en": shown, "fr": f"{hour} h {minute:02}" if minute else f"{hour} h", "de": f"{shown} Uhr"}


def _thousands(chance: random.Random) -> dict[str, str]:
    plain = f"{chance.randrange(1000, 10 ** chance.randrange(4, 9)):,}"
    return {"en": plain, "fr": plain.replace(",", " "), "de": plain.replace(",", ".")}


def _decimal(chance: random.Random) -> dict[str, str]:
    plain = f"{chance.randrange(1, 10 ** chance.randrange(1, 4))}.{chance.randrange(1, 100)}"
    return {"en": plain, "fr": plain.replace(".", ","), "de": plain.replace(".", ",")}


def _price(chance: random.Random) -> dict[str, str]:
    sign, whole, cents = chance.choice("€$£"), chance.randrange(1, 2000), chance.choice((None, chance.randrange(100)))
    english = f"{sign}{whole}" + ("" if cents is None else f".{cents:02}")
    other = f"{whole}" + ("" if cents is None else f",{cents:02}") + f" {sign}"
    return {"en": english, "fr": other, "de": other}


def _email(chance: random.Random) -> dict[str, str]:
    user = chance.choice((chance.choice(FIRST), noise.made_up(chance))).lower().replace("é", "e")
    user += chance.choice(("", "." + chance.choice(LAST).lower(), str(chance.randrange(100)),
                           "_" + noise.made_up(chance).lower()))
    return _same(
        f"{user}@{noise.made_up(chance).lower()}.{chance.choice(('com', 'org', 'fr', 'de', 'net', 'eu', 'co.uk'))}")


def _url(chance: random.Random) -> dict[str, str]:
    path = "".join("/" + noise.made_up(chance).lower() for _ in range(chance.randrange(3)))
    return _same(chance.choice(("https://", "http://", "www.", "https://www.")) + noise.made_up(chance).lower()
                 + chance.choice((".com", ".org", ".net")) + path)


def _code(chance: random.Random) -> dict[str, str]:
    letters = "".join(chance.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(chance.randrange(1, 4)))
    number = str(chance.randrange(10, 10 ** chance.randrange(2, 7)))
    return _same(letters + chance.choice(("-", "", " ", "/")) + number
                 + chance.choice(("", "", "-" + chance.choice("ABCX"))))


def _name(chance: random.Random) -> dict[str, str]:
    first = chance.choice((chance.choice(FIRST), noise.made_up(chance)))
    return _same(first if chance.random() < 0.5
                 else f"{first} {chance.choice((chance.choice(LAST), noise.made_up(chance)))}")


# The value of {slot} in a phrase: a random state -> the text in each language.
SLOTS = {
    "date": _date, "day": _day_of_month, "weekday": _weekday, "month": _month, "time": _time, "thousands": _thousands,
    "decimal": _decimal, "price": _price, "email": _email, "url": _url, "code": _code, "name": _name,
    "last": lambda chance: _same(chance.choice((chance.choice(LAST), noise.made_up(chance)))),
    "place": lambda chance: _same(chance.choice((chance.choice(PLACES), noise.made_up(chance)))),
    "number": lambda chance: _same(str(chance.randrange(2, 10 ** chance.randrange(2, 6)))),
    "year": lambda chance: _same(str(chance.randrange(1500, 2060))),
    "phone": lambda chance: _same(" ".join(f"{chance.randrange(100):02}" for _ in range(chance.choice((3, 4, 5))))),
    "house": lambda chance: _same(str(chance.randrange(1, 250))),
}


# Nouns of phrases with their grammar: `{the_food}` is the food that `{food}` names in the same phrase. French: gender
# or p (plural), followed by e if articles are elided. German: m, f, n or p; objects are in the accusative, as in "I am
# looking for {an_item}", unless the slot's name says otherwise.

FOODS = """flour|f|farine|n|Mehl;sugar|m|sucre|m|Zucker;salt|m|sel|n|Salz;rice|m|riz|m|Reis;butter|m|beurre|f|Butter
milk|m|lait|f|Milch;honey|m|miel|m|Honig;cheese|m|fromage|m|Käse;bread|m|pain|n|Brot;oil|fe|huile|n|Öl
vinegar|m|vinaigre|m|Essig;pepper|m|poivre|m|Pfeffer;garlic|me|ail|m|Knoblauch;ham|m|jambon|m|Schinken
jam|f|confiture|f|Marmelade;cream|f|crème|f|Sahne;meat|f|viande|n|Fleisch;beef|m|bœuf|n|Rindfleisch
pork|m|porc|n|Schweinefleisch;chicken|m|poulet|n|Hähnchen;fish|m|poisson|m|Fisch;yeast|f|levure|f|Hefe
mustard|f|moutarde|m|Senf;chocolate|m|chocolat|f|Schokolade;coffee|m|café|m|Kaffee;tea|m|thé|m|Tee
parsley|m|persil|f|Petersilie;cinnamon|f|cannelle|m|Zimt;yoghurt|m|yaourt|m|Joghurt;spinach|p|épinards|m|Spinat
peanuts|p|cacahuètes|p|Erdnüsse;nuts|p|noix|p|Nüsse;almonds|p|amandes|p|Mandeln;eggs|p|œufs|p|Eier
potatoes|p|pommes de terre|p|Kartoffeln;tomatoes|p|tomates|p|Tomaten;onions|p|oignons|p|Zwiebeln
carrots|p|carottes|p|Karotten;mushrooms|p|champignons|p|Pilze;beans|p|haricots|p|Bohnen;lentils|p|lentilles|p|Linsen
peas|p|petits pois|p|Erbsen;noodles|p|nouilles|p|Nudeln;apples|p|pommes|p|Äpfel;pears|p|poires|p|Birnen
cherries|p|cerises|p|Kirschen;strawberries|p|fraises|p|Erdbeeren;grapes|p|raisins|p|Trauben;lemons|p|citrons|p|Zitronen
oranges|p|oranges|p|Orangen;peaches|p|pêches|p|Pfirsiche;plums|p|prunes|p|Pflaumen;cucumbers|p|concombres|p|Gurken
leeks|p|poireaux|m|Lauch;sausages|p|saucisses|p|Würste;biscuits|p|biscuits|p|Kekse;shrimps|p|crevettes|p|Garnelen
oysters|p|huîtres|p|Austern;raspberries|p|framboises|p|Himbeeren;walnuts|p|noix|p|Walnüsse
hazelnuts|p|noisettes|p|Haselnüsse""".replace("\n", ";")
DRINKS = """water|fe|eau|n|Wasser;red wine|m|vin rouge|m|Rotwein;white wine|m|vin blanc|m|Weißwein;beer|f|bière|n|Bier
orange juice|m|jus d'orange|m|Orangensaft;apple juice|m|jus de pomme|m|Apfelsaft;milk|m|lait|f|Milch
mineral water|fe|eau minérale|n|Mineralwasser;lemonade|f|limonade|f|Limonade
cider|m|cidre|m|Apfelwein""".replace("\n", ";")
ITEMS = """umbrella|m|parapluie|m|Regenschirm;coat|m|manteau|m|Mantel;jacket|f|veste|f|Jacke;shirt|f|chemise|n|Hemd
skirt|f|jupe|m|Rock;dress|f|robe|n|Kleid;hat|m|chapeau|m|Hut;pullover|m|pull|m|Pullover;scarf|fe|écharpe|m|Schal
towel|f|serviette|n|Handtuch;toothbrush|f|brosse à dents|f|Zahnbürste;notebook|m|carnet|n|Notizbuch
pen|m|stylo|m|Kugelschreiber;pencil|m|crayon|m|Bleistift;watch|f|montre|f|Uhr;ring|f|bague|m|Ring
handbag|m|sac à main|f|Handtasche;suitcase|f|valise|m|Koffer;backpack|m|sac à dos|m|Rucksack
purse|m|porte-monnaie|n|Portemonnaie;camera|m|appareil photo|f|Kamera;charger|m|chargeur|n|Ladegerät
lamp|f|lampe|f|Lampe;kettle|f|bouilloire|m|Wasserkocher;pan|f|poêle|f|Pfanne;blanket|f|couverture|f|Decke
pillow|me|oreiller|n|Kissen;key|f|clé|m|Schlüssel;ticket|m|billet|f|Fahrkarte;phone|m|téléphone|n|Telefon
bicycle|m|vélo|n|Fahrrad;tent|f|tente|n|Zelt;book|m|livre|n|Buch;map|f|carte|f|Karte
dictionary|m|dictionnaire|n|Wörterbuch;passport|m|passeport|m|Reisepass;hammer|m|marteau|m|Hammer
screwdriver|m|tournevis|m|Schraubenzieher;ladder|fe|échelle|f|Leiter;bucket|m|seau|m|Eimer;broom|m|balai|m|Besen
wallet|m|portefeuille|f|Brieftasche;shower gel|m|gel douche|n|Duschgel;battery|f|pile|f|Batterie""".replace("\n", ";")
VEHICLES = ("car|f|voiture|n|Auto;bicycle|m|vélo|n|Fahrrad;motorbike|f|moto|n|Motorrad;boat|m|bateau|n|Boot;"
            "van|f|camionnette|m|Lieferwagen;scooter|m|scooter|m|Roller")
# English | French "à ..." | German, direction | German, location
PLACE_WAYS = """the station|à la gare|zum Bahnhof|am Bahnhof;the airport|à l'aéroport|zum Flughafen|am Flughafen
the market|au marché|zum Markt|auf dem Markt;the museum|au musée|zum Museum|im Museum
the hospital|à l'hôpital|zum Krankenhaus|im Krankenhaus;the beach|à la plage|zum Strand|am Strand
the bank|à la banque|zur Bank|in der Bank;the post office|à la poste|zur Post|auf der Post
the swimming pool|à la piscine|zum Schwimmbad|im Schwimmbad
the library|à la bibliothèque|zur Bibliothek|in der Bibliothek;the bakery|à la boulangerie|zur Bäckerei|in der Bäckerei
the pharmacy|à la pharmacie|zur Apotheke|in der Apotheke;the town hall|à la mairie|zum Rathaus|im Rathaus
the cinema|au cinéma|zum Kino|im Kino;the theatre|au théâtre|zum Theater|im Theater
the university|à l'université|zur Universität|an der Universität;the zoo|au zoo|zum Zoo|im Zoo
the harbour|au port|zum Hafen|am Hafen;the park|au parc|zum Park|im Park
the supermarket|au supermarché|zum Supermarkt|im Supermarkt;the castle|au château|zum Schloss|im Schloss
the hairdresser's|chez le coiffeur|zum Friseur|beim Friseur;the dentist's|chez le dentiste|zum Zahnarzt|beim Zahnarzt
the hotel|à l'hôtel|zum Hotel|im Hotel;the police station|au commissariat|zur Polizeiwache|auf der Polizeiwache
the stadium|au stade|zum Stadion|im Stadion;the church|à l'église|zur Kirche|in der Kirche""".replace("\n", ";")
BODY = """back|au dos|der Rücken;neck|au cou|der Hals;head|à la tête|der Kopf;stomach|à l'estomac|der Magen
knee|au genou|das Knie;shoulder|à l'épaule|die Schulter;foot|au pied|der Fuß;arm|au bras|der Arm;hand|à la main|die Hand
throat|à la gorge|der Hals;ear|à l'oreille|das Ohr;chest|à la poitrine|die Brust;elbow|au coude|der Ellbogen
ankle|à la cheville|der Knöchel;leg|à la jambe|das Bein;thumb|au pouce|der Daumen
hip|à la hanche|die Hüfte""".replace("\n", ";")
LANGUAGES = """English|anglais|Englisch;French|français|Französisch;German|allemand|Deutsch;Spanish|espagnol|Spanisch
Italian|italien|Italienisch;Russian|russe|Russisch;Chinese|chinois|Chinesisch;Japanese|japonais|Japanisch
Arabic|arabe|Arabisch;Turkish|turc|Türkisch;Polish|polonais|Polnisch;Dutch|néerlandais|Niederländisch
Greek|grec|Griechisch;Portuguese|portugais|Portugiesisch;Swedish|suédois|Schwedisch;Danish|danois|Dänisch
Korean|coréen|Koreanisch""".replace("\n", ";")
RELATIONS = """my mother|ma mère|meine Mutter;my father|mon père|mein Vater;my sister|ma sœur|meine Schwester
my brother|mon frère|mein Bruder;my wife|ma femme|meine Frau;my husband|mon mari|mein Mann;my son|mon fils|mein Sohn
my daughter|ma fille|meine Tochter;my aunt|ma tante|meine Tante;my uncle|mon oncle|mein Onkel;my boss|mon chef|mein Chef
my grandmother|ma grand-mère|meine Großmutter;my grandfather|mon grand-père|mein Großvater
my nephew|mon neveu|mein Neffe;my niece|ma nièce|meine Nichte;my neighbour|mon voisin|mein Nachbar
my best friend|mon meilleur ami|mein bester Freund;my girlfriend|ma copine|meine Freundin
my cousin|ma cousine|meine Cousine""".replace("\n", ";")
COUNTS = ("two|deux|zwei;three|trois|drei;four|quatre|vier;five|cinq|fünf;six|six|sechs;seven|sept|sieben;"
          "eight|huit|acht;nine|neuf|neun;ten|dix|zehn;twelve|douze|zwölf;twenty|vingt|zwanzig")
ORDINALS = ("first|première|premier|erste|ersten;second|deuxième|deuxième|zweite|zweiten;"
            "third|troisième|troisième|dritte|dritten;fourth|quatrième|quatrième|vierte|vierten")
COLORS = ("red|rouge|Rot;blue|bleu|Blau;green|vert|Grün;black|noir|Schwarz;white|blanc|Weiß;grey|gris|Grau;"
          "yellow|jaune|Gelb;brown|marron|Braun;pink|rose|Rosa;purple|violet|Lila")

Item = dict[str, dict[str, str]]  # slot -> language -> text


def _words(english: str, french: str, german: str) -> dict[str, str]:
    return {"en": english, "fr": french, "de": german}


def _french(kind: str, noun: str) -> dict[str, str]:
    """The noun with each of its articles."""
    gender, elided = (kind[0], kind[1:] == "e" or kind[0] == "p" and noun[0] in "aeéêiîoœuhô"
                      and noun not in ("haricots",))
    the = "les " if gender == "p" else "l'" if elided else {"m": "le ", "f": "la "}[gender]
    some = {"p": "des ", "m": "de l'" if elided else "du ", "f": "de l'" if elided else "de la "}[gender]
    to = {"p": "aux ", "m": "à l'" if elided else "au ", "f": "à l'" if elided else "à la "}[gender]
    mine = {"p": "mes ", "m": "mon ", "f": "mon " if elided else "ma "}[gender]
    return {"the": the + noun, "some": some + noun, "to": to + noun, "of": ("d'" if elided else "de ") + noun,
            "an": {"p": "des ", "m": "un ", "f": "une "}[gender] + noun, "my": mine + noun}


def _german(gender: str, noun: str) -> dict[str, str]:
    """The noun with each of its articles, in the accusative; `subject` is the nominative."""
    return {"the": {"m": "den ", "f": "die ", "n": "das ", "p": "die "}[gender] + noun,
            "subject": {"m": "der ", "f": "die ", "n": "das ", "p": "die "}[gender] + noun,
            "an": {"m": "einen ", "f": "eine ", "n": "ein ", "p": ""}[gender] + noun,
            "my": {"m": "meinen ", "f": "meine ", "n": "mein ", "p": "meine "}[gender] + noun,
            "no": {"m": "kein ", "f": "keine ", "n": "kein ", "p": "keine "}[gender] + noun}


def _noun(line: str, slot: str) -> Item:
    english, kind, french, gender, german = line.split("|")
    fr, de = _french(kind, french), _german(gender, german)
    an = ("an " if english[0] in "aeiou" else "a ") + english
    return {slot: _words(english, french, german), f"some_{slot}": _words(english, fr["some"], german),
            f"the_{slot}": _words(f"the {english}", fr["the"], de["the"]),
            f"to_{slot}": _words(english, fr["to"], german), f"of_{slot}": _words(english, fr["of"], german),
            f"an_{slot}": _words(an, fr["an"], de["an"]),
            f"a_{slot}": _words(an, fr["an"], de["an"]), f"my_{slot}": _words(f"my {english}", fr["my"], de["my"]),
            f"no_{slot}": _words(f"no {english}", fr["of"], de["no"]),
            f"this_{slot}": _words(f"the {english}", fr["the"], de["subject"])}


def _rows(table: str, *slots: str) -> list[Item]:
    """slots: `name:columns`, the columns of English, French and German."""
    return [{slot: _words(*(cells[int(column)] for column in columns))
             for slot, columns in (given.split(":") for given in slots)}
            for cells in (line.split("|") for line in table.split(";"))]


def _places() -> list[Item]:
    return [{"to_the_place": _words(f"to {english}", french, to), "at_the_place": _words(f"at {english}", french, at)}
            for english, french, to, at in (line.split("|") for line in PLACE_WAYS.split(";"))]


def _languages() -> list[Item]:
    return [{"language": _words(english, french, german),
             "the_language": _words(english, ("l'" if french[0] in "aeiou" else "le ") + french, german)}
            for english, french, german in (line.split("|") for line in LANGUAGES.split(";"))]


FAMILIES: list[list[Item]] = [
    [_noun(line, "food") for line in FOODS.split(";")],
    [_noun(line, "mass") for line in FOODS.split(";") if "|p|" not in line],
    [_noun(line, "drink") for line in DRINKS.split(";")], [_noun(line, "item") for line in ITEMS.split(";")],
    [_noun(line, "vehicle") for line in VEHICLES.split(";")],
    _places(), _languages(), _rows(BODY, "body:012", "to_body:012"), _rows(RELATIONS, "relation:012"),
    _rows(COUNTS, "count:012"), _rows(ORDINALS, "ordinal:013", "floor:024"), _rows(COLORS, "color:012")]
FAMILY = {slot: family for family in FAMILIES for slot in family[0]}
# Slots whose value is capitalised at the beginning of a phrase.
SENTENCE_STARTS = {"this_item", "relation", "count", "food", "the_food"}


def fill(texts: tuple[str, str], languages: list[str], chance: random.Random) -> tuple[str, str]:
    """Fills the slots of a phrase with the same values in both languages."""
    slots = list(dict.fromkeys(re.findall(r"\{(\w+)\}", " ".join(texts))))
    values: dict[str, dict[str, str]] = {}
    for slot in slots:
        if slot not in values:
            values |= chance.choice(FAMILY[slot]) if slot in FAMILY else {slot: SLOTS[slot](chance)}
    filled = []
    for text, language in zip(texts, languages, strict=True):
        first = re.match(r"\{(\w+)\}.", text)
        text = re.sub(r"\{(\w+)\}", lambda slot: values[slot[1]][language], text)
        filled.append(text[:1].upper() + text[1:] if first and first[1] in SENTENCE_STARTS else text)
    return tuple(filled)

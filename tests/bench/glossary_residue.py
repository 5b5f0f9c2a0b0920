#!/usr/bin/env python3
"""Whether a glossary's phrase leaves a piece of what it replaces: tests/bench/glossary_residue.py URL [DIRECTION...]

URL: a daemon with the shipped models. Translates 100 sentences in each direction, with one entry each: 50 words of the
language, and 50 invented ones. A reply is clean if the phrase occurs once and each other word is one of three kinds: a
word of the eight best translations, without a glossary, of the same sentence with this term or another that is not
linked to the term; a word of the translation in which the term is copied unchanged; or a short word that other
translations have, such as an article that agrees with the phrase. Endings of up to two letters do not count, because a
participle agrees with the phrase, too. The reply must also have at most one word more than the longest of these
translations, less the term. Prints how many are clean, and the others.
"""
import json
import os
import random
import re
import sys
import urllib.request
from collections import Counter, defaultdict

FRAMES = {
    "en": ["The {} is not here today.", "We have already seen the {} in the garden.",
           "My brother gave the {} to his teacher.",
           "I cannot find the {} anywhere.", "She said that the {} was too expensive for us.",
           "Do you know where the {} comes from?",
           "They want to talk about the {} tomorrow.", "Last week, a {} stood in front of our house.",
           "Without a {} we cannot begin.",
           "The color of the {} surprised everybody.", "He looked at the {} and smiled.",
           "Nobody wanted to pay for the {}.",
           "This {} belongs to my parents.", "If the {} breaks, call me at once.",
           "The old {} is better than the new one.",
           "You should read the letter about the {} again.", "Every {} needs a name.", "I dreamed of a {} last night.",
           "The police are looking for the {} near the river.", "With this {} you can save a lot of time.",
           "There was only one {} left in the shop.", "Tom put the {} on the table.", "How much does this {} cost?",
           "We need another {} before Monday.", "The {} and the window were both broken."],
    "fr": ["Le {} n'est pas ici aujourd'hui.", "Nous avons déjà vu le {} dans la ville.",
           "Mon frère a donné le {} à son professeur.",
           "Je ne trouve le {} nulle part.", "Elle a dit que le {} était trop cher pour nous.",
           "Savez-vous d'où vient ce {} ?",
           "Ils veulent parler du {} demain.", "La semaine dernière, un {} se trouvait devant notre maison.",
           "Sans un {} nous ne pouvons pas commencer.", "La couleur du {} a surpris tout le monde.",
           "Il regarda le {} et sourit.",
           "Personne ne voulait payer pour le {}.", "Ce {} appartient à mes parents.",
           "Si le {} se casse, appelez-moi tout de suite.",
           "Le vieux {} est meilleur que le nouveau.", "Tu devrais relire la lettre sur le {}.",
           "Chaque {} a besoin d'un nom.",
           "J'ai rêvé d'un {} cette nuit.", "La police cherche le {} près de la rivière.",
           "Avec ce {} vous pouvez gagner beaucoup de temps.", "Il ne restait qu'un seul {} dans le magasin.",
           "Tom a posé le {} sur la table.", "Combien coûte ce {} ?", "Il nous faut un autre {} avant lundi.",
           "Le {} et la fenêtre étaient tous deux cassés."],
    "de": ["Der {} ist heute nicht hier.", "Wir haben den {} schon im Garten gesehen.",
           "Mein Bruder gab seinem Lehrer den {}.",
           "Ich kann den {} nirgends finden.", "Sie sagte, dass der {} zu teuer für uns war.",
           "Weißt du, woher der {} kommt?",
           "Sie wollen morgen über den {} sprechen.", "Letzte Woche stand ein {} vor unserem Haus.",
           "Ohne einen {} können wir nicht anfangen.", "Die Farbe am {} überraschte alle.",
           "Er sah den {} an und lächelte.",
           "Niemand wollte für den {} bezahlen.", "Dieser {} gehört meinen Eltern.",
           "Wenn der {} kaputtgeht, ruf mich sofort an.",
           "Der alte {} ist besser als der neue.", "Du solltest den Brief über den {} noch einmal lesen.",
           "Jeder {} braucht einen Namen.", "Ich habe letzte Nacht von einem {} geträumt.",
           "Die Polizei sucht den {} in der Nähe vom Fluss.", "Mit diesem {} kannst du viel Zeit sparen.",
           "Es war nur noch ein {} im Laden.", "Tom legte den {} auf den Tisch.", "Wie viel kostet dieser {}?",
           "Wir brauchen vor Montag noch einen {}.", "Der {} und das Fenster waren beide kaputt."],
}
# The source word, and a phrase that the model would not choose for it.
WORDS = {
    "en-fr": """customer=donneur d'ordre;contract=marché;branch=succursale;cloud=nébuleuse;app=logiciel;
        driver=pilote;ticket=billet;folder=classeur;account=espace client;bank=établissement;
        computer=ordinateur portable;engine=propulseur;plane=aéronef;boat=navire;bridge=viaduc;key=clef;
        knife=lame;lamp=luminaire;letter=missive;machine=automate;map=plan;market=halle;medicine=remède;
        meeting=conférence;mirror=glace;office=cabinet;pen=plume;phone=combiné;picture=tableau;plant=végétal;
        prison=pénitencier;report=rapport annuel;ring=anneau;road=chaussée;rope=cordage;school=lycée;
        screen=moniteur;ship=paquebot;shoe=soulier;soldier=militaire;speaker=haut-parleur;stone=caillou;
        tool=ustensile;tower=donjon;tree=arbuste;truck=camionnette;umbrella=ombrelle;wallet=porte-monnaie;
        watch=chronomètre;wine=cru""",
    "fr-en": """client=patron;contrat=covenant;nuage=haze;logiciel=app;chauffeur=chauffeur general;billet=voucher;
        dossier=binder;compte=ledger;ordinateur=laptop;moteur=powertrain;avion=aircraft;bateau=vessel;
        pont=overpass;couteau=blade;bureau=workplace;marché=bazaar;médicament=remedy;miroir=looking glass;
        stylo=fountain pen;téléphone=handset;tableau=canvas;rapport=annual report;anneau=band;chemin=pathway;
        lycée=grammar school;écran=monitor;navire=liner;soulier=boot;soldat=trooper;caillou=pebble;outil=utensil;
        arbre=shrub;camion=lorry;parapluie=brolly;portefeuille=purse;vin=vintage;chien=hound;chat=kitty;
        cheval=steed;lit=bunk;livre=volume;journal=gazette;jardin=courtyard;gâteau=pastry;verre=goblet;
        pantalon=slacks;chapeau=bonnet;manteau=overcoat;sac=satchel;vélo=pushbike""",
    "en-de": """customer=Auftraggeber;contract=Kontrakt;branch=Niederlassung;cloud=Datenwolke;app=Apfel;
        driver=Treiber;ticket=Eintrittskarte;folder=Mappe;account=Benutzerkonto;bank=Kreditinstitut;
        computer=Rechner;engine=Triebwerk;plane=Luftfahrzeug;boat=Kahn;bridge=Viadukt;key=Schlüsselwort;
        knife=Klinge;lamp=Leuchte;letter=Schreiben;machine=Apparat;map=Landkarte;market=Basar;medicine=Arznei;
        meeting=Sitzung;mirror=Spiegelglas;office=Geschäftsstelle;pen=Füller;phone=Fernsprecher;picture=Gemälde;
        plant=Gewächs;prison=Haftanstalt;report=Jahresbericht;ring=Reif;road=Fahrbahn;rope=Tau;school=Gymnasium;
        screen=Anzeige;ship=Dampfer;shoe=Stiefel;soldier=Krieger;speaker=Lautsprecher;stone=Kiesel;tool=Gerät;
        tower=Bergfried;tree=Strauch;truck=Laster;umbrella=Sonnenschirm;wallet=Geldbörse;watch=Stoppuhr;
        wine=Tropfen""",
    "de-en": """Auftraggeber=client;Vertrag=covenant;Zweig=office;Wolkenspeicher=cloud;Apfel=app;
        Treiber=chauffeur;Fahrschein=voucher;Ordner=binder;Rechner=laptop;Motor=powertrain;Kahn=vessel;
        Dampfer=liner;Schlüssel=passkey;Brief=missive;Apparat=device;Plan=roadmap;Markt=bazaar;
        Spiegel=looking glass;Füller=quill;Stift=crayon;Bericht=annual report;Ring=band;Weg=pathway;
        Bildschirm=monitor;Schuh=boot;Soldat=trooper;Stein=pebble;Turm=keep;Baum=shrub;Lastwagen=lorry;
        Regenschirm=brolly;Geldbeutel=purse;Wein=vintage;Hund=hound;Kater=kitty;Tisch=workbench;Stuhl=stool;
        Garten=courtyard;Kuchen=pastry;Becher=goblet;Hut=bonnet;Mantel=overcoat;Koffer=satchel;Teppich=carpeting;
        Wagen=carriage;Zug=railcar;Kunde=patron;Freund=companion;Arzt=physician;Löffel=scoop""",
}
SYLLABLES = "zor bla quin vax mel tro fi dru kel ost pri ran ul ne gam sid wop lix bry ton ca jup er ith".split()


def invented(seed: str, capital: bool) -> str:
    draw = random.Random(seed)
    word = "".join(draw.choice(SYLLABLES) for _ in range(draw.choice((2, 3, 3, 4))))
    return word.capitalize() if capital or draw.random() < 0.3 else word


def cases(direction: str) -> list[tuple[str, str, str]]:
    source, target = direction.split("-")
    frames = FRAMES[source]
    pairs = [tuple(pair.strip().split("=")) for pair in WORDS[direction].split(";")]
    for i in range(50):
        phrase = invented(f"{direction} target {i}", target == "de")
        pairs.append((invented(f"{direction} source {i}", source == "de"), phrase + (" Acme" if i % 5 == 0 else "")))
    return [(frames[i % len(frames)].format(term), term, phrase) for i, (term, phrase) in enumerate(pairs)]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def ask(url: str, direction: str, text: str, **fields: object) -> list[dict]:
    """The translations of a sentence, the best first."""
    body = json.dumps({"text": text, "model": direction, "include": ["words"], **fields}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/translate", body)) as reply:
        sentence = json.load(reply)["translations"][0]["sentences"][0]
    return sentence.get("hypotheses") or [sentence]


def unlinked(reply: dict, term: str) -> list[str]:
    """The words of a translation that are not linked to the term."""
    all_words = reply["words"]
    linked = {j for i, j in all_words["alignment"] if words(all_words["source"][i])[:1] == words(term)[:1]}
    return words(" ".join(w for j, w in enumerate(all_words["target"]) if j not in linked))


def is_known(word: str, known: set[str]) -> bool:
    """Whether the word is one of these, up to its ending."""
    def alike(other: str) -> bool:
        stem = os.path.commonprefix([word, other])
        return len(stem) >= 4 and max(len(word), len(other)) - len(stem) <= 2
    return word in known or any(alike(other) for other in known)


def main() -> None:
    url, directions = sys.argv[1], sys.argv[2:] or list(WORDS)
    for direction in directions:
        found, common, of_frame, most = [], Counter(), defaultdict(set), Counter()
        for text, term, phrase in cases(direction):
            frame = text.replace(term, "{}", 1)
            plain = ask(url, direction, text, beam_size=8, n_best=8)
            copied = words(ask(url, direction, text, protect=[term])[0]["text"].replace(term, " "))
            common.update(set(words(plain[0]["text"])))
            for way in plain:
                of_frame[frame].update(unlinked(way, term))
                most[text] = max(most[text], len(words(way["text"])) - 1, len(copied))
            of_frame[frame].update(copied)
            reply = ask(url, direction, text, glossary={term: phrase})[0]["text"]
            found.append((text, term, phrase, frame, plain[0]["text"], reply))
        bad = []
        for text, term, phrase, frame, plain, reply in found:
            rest = words(re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", " ", reply, count=1, flags=re.I))
            strange = [w for w in rest if not is_known(w, of_frame[frame]) and not (len(w) <= 5 and common[w] >= 3)]
            if reply.lower().count(phrase.lower()) != 1 or strange or len(rest) > most[text] + 1:
                bad.append(f"  {term}={phrase}: {text} -> {reply} {strange}  ({plain})")
        print(f"{direction}: {len(found) - len(bad)} of {len(found)} clean", *bad, sep="\n", flush=True)


if __name__ == "__main__":
    main()

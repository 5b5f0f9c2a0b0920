"""Training text from Debian packages: what each reader finds in small made-up packages, which texts are dropped, and
that held-out text is not used."""

from __future__ import annotations

import bz2
import gzip
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.corpora import debian, formats, translated  # noqa: E402
from weights.training import mixture  # noqa: E402


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def catalogue(messages: dict[str, str]) -> bytes:
    """A .mo file as written by msgfmt."""
    strings = [text.encode() for side in (messages, messages.values()) for text in side]
    count, at = len(messages), 28 + 16 * len(messages)
    table, content = b"", b""
    for text in strings:
        table += struct.pack("<2I", len(text), at + len(content))
        content += text + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, 0) + table + content


MESSAGES = ({"": "Content-Type: text/plain; charset=UTF-8\n", "_Open the file…": "_Ouvrir le fichier…",
             "menu\x04Cancel": "Annuler",
             "female^You are brave.": "Vous êtes courageuse.",
             "%d file was deleted.\0%d files were deleted.": ("%d fichier a été supprimé.\0%d fichiers ont été "
                                                              "supprimés."),
             "Same": "Same", "<b>Warning!</b> The disk is full.": "<b>Attention !</b> Le disque est plein.",
             "Save it as %s": "Enregistrer"})


def test_catalogues(tmp_path: Path) -> None:
    write(tmp_path / "usr/share/locale/fr/LC_MESSAGES/a.mo", catalogue(MESSAGES))
    pairs = list(formats.catalogues(tmp_path, "fr"))
    assert ("Cancel", "Annuler") in pairs and ("You are brave.", "Vous êtes courageuse.") in pairs
    assert (("%d file was deleted.", "%d fichier a été supprimé.") in pairs
            and ("%d files were deleted.", "%d fichiers ont été supprimés.") in pairs)
    assert len(pairs) == len(MESSAGES) and not list(formats.catalogues(tmp_path, "de"))
    cleaned = list(debian.Cleaner("fr", set()).clean(pairs,
                                                     debian.Source("a", [], lambda root, language: (), marked=True)))
    assert (("Open the file…", "Ouvrir le fichier…") in cleaned
            and ("Warning! The disk is full.", "Attention ! Le disque est plein.") in cleaned)
    assert not {"Same", "Save it as %s"} & {a for a, _ in cleaned}
    with pytest.raises(ValueError, match="is not a message catalogue"):
        list(formats.catalogue(write(tmp_path / "b.mo", b"nothing of the kind")))


def test_dictionaries(tmp_path: Path) -> None:
    lines = ["# Ding", "Mehl {n} [cook.] | Mehle {pl} :: flour | flours",
             "Erdnuss {f}; Aschantinuss {f} [Ös.] (Frucht) :: peanut", "jdm. etw. geben {vt} :: to give sb. sth.",
             "drei | vier :: three"]
    assert (list(formats.ding(write(tmp_path / "de-en", "\n".join(lines))))
            == [("flour", "Mehl"), ("flours", "Mehle"), ("peanut", "Erdnuss"), ("peanut", "Aschantinuss")])
    entries = ("00-database-info\nAbout\npen name /pen neim/\n1. pseudonyme\n2. nom de plume, surnom\nbaby‐sitter /x/ "
               "<n>\ngarde (f)\n")
    assert list(formats.freedict(write(tmp_path / "d.gz", entries))) == [
        ("pen name", "pseudonyme"), ("pen name", "nom de plume"), ("pen name", "surnom"), ("baby‐sitter", "garde")]


def test_pages_are_paired_where_they_have_the_same_blocks(tmp_path: Path) -> None:
    english = ("<html><h1>Title</h1><p>One <b>thing</b>.</p><pre>ls</pre><ul><li>Two.</li></ul><h2 id='x'>More</h2><p "
               "id='y'>Three.</p></html>")
    write(tmp_path / "en/a.html", english)
    write(tmp_path / "fr/a.html", english.replace("One <b>thing</b>", "Une chose").replace("Two", "Deux")
          .replace("<p id='y'>Three.</p>", "<p id='y'>Trois.</p><p>Quatre.</p>"))
    write(tmp_path / "en/b.html", "<h1>Alone</h1><p>Here.</p>")
    assert (list(formats.pages(tmp_path / "en", tmp_path / "fr")) == [("Title", "Title"), ("One thing.", "Une chose."),
                                                                      ("Two.", "Deux.")])
    assert list(formats.pages_by_id(tmp_path / "en", tmp_path / "fr")) == [("More", "More"), ("Three.", "Trois.")]


def test_manual_pages(tmp_path: Path) -> None:
    page = (".TH ls 1 2020\n.\\\" comment\n.SH NAME\nls \\- {0}\n.SH DESCRIPTION\n{1}\n.BR cat "
            "(1)\n\\fIhere\\fP.\n.nf\nls\n.fi\n.TP\n.B \\-a\n{2}\n")
    write(tmp_path / "en/man1/ls.1.gz", page.format("list files", "See", "Show all."))
    write(tmp_path / "fr/man1/ls.1.gz", page.format("lister", "Voir", "Tout afficher.") + ".SH TRADUCTION\nPersonne.\n")
    write(tmp_path / "fr/man1/other.1.gz", page)
    assert (list(formats.manuals([tmp_path / "en"], [tmp_path / "fr"])) == [
        ("NAME", "NAME"), ("ls - list files", "ls - lister"), ("DESCRIPTION", "DESCRIPTION"),
        ("See cat(1) here.", "Voir cat(1) here."), ("-a", "-a"), ("Show all.", "Tout afficher.")])


def test_descriptions(tmp_path: Path) -> None:
    text = "Package: a\nDescription-md5: {1}\nDescription-{0}: short {0}\n first {0}\n goes on\n .\n second\n\n"
    for code, sums in (("en", ("1", "2")), ("de", ("1", "3"))):
        write(tmp_path / f"{code}.bz2", bz2.compress("".join(text.format(code, one) for one in sums).encode()))
    assert (list(formats.described(tmp_path / "en.bz2", tmp_path / "de.bz2"))
            == [("short en", "short de"), ("first en goes on", "first de goes on"), ("second", "second")])


def test_cldr(tmp_path: Path) -> None:
    for code, monday, unit in (("en", "next Monday", "{0} kilometers"), ("fr", "lundi prochain", "{0} kilomètres")):
        for package, names in formats.CLDR_FILES.items():
            for name in names:
                write(tmp_path / "cldr" / package / "package" / name.format(code), json.dumps({"main": {code: {
                    "fields": {"mon": {"relative-type-1": monday}}, "long": {"km": {"unitPattern-count-other": unit}},
                    "short": {"km": "km"}}}}))
    pairs = set(debian.cldr(tmp_path, "fr"))
    assert ("next Monday", "lundi prochain") in pairs and not any("{0}" in a + b or a == "km" for a, b in pairs)
    assert all(a.split()[0] == b.split()[0] for a, b in pairs if a.endswith("kilometers"))


@pytest.mark.parametrize(("a", "b", "kept"), [
    ("The dog barks all night long.", "Le chien aboie toute la nuit.", True),
    # Placeholders are the same
    ("%d files in {folder}", "%d fichiers dans {folder}", True), ("%d files", "{0} fichiers", False),
    ("The dog barks.", "The cat is not in the house.", False),                                        # another language
    ("There are 12 dogs.", "Il y a 13 chiens.", False),                                               # different digits
    ("Use a::b() -> c", "Utilisez a::b() -> c", False), ("See https://example.org", "Voir https://example.org", False),
    ("No", "Absolument pas, et c'est mon dernier mot", False),                                        # much longer
    ("word " * 101, "mot " * 101, False)])
def test_what_is_a_pair(a: str, b: str, kept: bool) -> None:
    assert debian.is_pair(a.strip(), b.strip(), "fr", False) == kept


def test_marks_of_keyboard_shortcuts() -> None:
    shown = {"_File": "File", "E&xit": "Exit", "Save &As": "Save As", "~Open": "Open", "Print (_P)": "Print",
             "Pr_int": "Print", "R & D": "R & D"}
    assert {text: debian.tidy(text, True) for text in shown} == shown


def test_sentences_are_split_where_both_sides_have_as_many() -> None:
    assert (debian.split("One. Two!\n\nThree, e.g. Bob.", "Un. Deux !\n\nTrois.")
            == [("One.", "Un."), ("Two!", "Deux !"), ("Three, e.g. Bob.", "Trois.")])
    assert debian.split("One. Two.", "Un et deux.") == [("One. Two.", "Un et deux.")]


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All corpora: an existing one, a test set, and a downloaded package."""
    write(tmp_path / "one.tsv.gz", "Good dog!\tBon chien !\n")
    write(tmp_path / "tatoeba-en-fr/test.tsv.gz", "Where is the cat?\tOù est le chat ?\n")
    package = tmp_path / "made"
    write(package / "DEBIAN/control",
          "Package: made\nVersion: 1\nArchitecture: all\nMaintainer: Nobody <n@example.org>\nDescription: made up\n")
    write(package / "usr/share/doc/made/copyright", "Do as you please.\n")
    write(package / "usr/share/locale/fr/LC_MESSAGES/made.mo", catalogue({
        "Good dog!": "Bon chien !", "WHERE IS THE CAT": "Mais où est le minou",
        "The cat is in the garden.": "Le chat est dans le jardin.", "the cat is in the garden":
        "le chat est dans le jardin", "Is that the cat?": "Où est le chat ?"}))
    (tmp_path / "debian/packages").mkdir(parents=True)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", package, tmp_path / "debian/packages/made_1_all.deb"],
                   check=True, capture_output=True)
    monkeypatch.setattr(mixture, "table",
                        lambda pair: [mixture.Source(pair, "one", "one.tsv.gz", "everyday", 1.0, "CC0", "")])
    return tmp_path


def test_what_is_held_out_or_known_does_not_come_back(corpora: Path, capsys: pytest.CaptureFixture) -> None:
    kept, unpacked, copyrights = (corpora / "debian" / name for name in ("packages", "unpacked", "copyright"))
    unpacked.mkdir()
    copyrights.mkdir()
    sources = [debian.Source("made-up", ["made"], debian.catalogues(["made"]))]
    debian.download(["made"], kept, unpacked, copyrights)
    assert (copyrights / "made").read_text() == "Do as you please.\n"
    found = debian.extract(corpora, unpacked, "en-fr", sources)
    assert found == {"made-up": [("The cat is in the garden.", "Le chat est dans le jardin.")]}
    path = corpora / "debian/en-fr/made-up.tsv.gz"
    assert mixture.lines_of(path).__next__() == "The cat is in the garden.\tLe chat est dans le jardin."
    assert "3 doubles" not in capsys.readouterr().out
    before = path.read_bytes()
    debian.extract(corpora, unpacked, "en-fr", sources)
    assert path.read_bytes() == before  # the same bytes


def test_every_source_is_in_the_table() -> None:
    for pair, language in debian.LANGUAGES.items():
        rows = {row.name: row for row in mixture.table(pair)}
        for source in debian.SOURCES:
            row = rows.get(source.name)
            if row is None:
                assert source.name in (("ding-words", "ding-phrases") if language == "fr" else ("freedict",))
                continue
            assert row.path == f"debian/{pair}/{source.name}.tsv.gz"
            if len(source.needed(language)) > 1 and source.name not in ("wesnoth", "freedict", "program-help"):
                assert all(name in row.attribution for name in source.needed(language)), source.name


def test_cldr_is_unpacked_for_every_pair(tmp_path: Path) -> None:
    """A run for one language pair unpacks what a later run for another pair needs."""
    kept, unpacked = tmp_path / "kept", tmp_path / "unpacked"
    for folder in (kept, unpacked):
        folder.mkdir()
    for name in debian.DESCRIPTIONS.values():
        write(unpacked / name, b"")
    for package, names in formats.CLDR_FILES.items():
        for code in ("en", "fr", "de"):
            for name in names:
                write(tmp_path / package / "package" / name.format(code), "{}")
        subprocess.run(["tar", "czf", kept / f"{package}-{debian.CLDR_VERSION}.tgz", "-C", tmp_path / package,
                        "package"], check=True)
    debian.download_others(kept, unpacked, ["fr"])
    assert (unpacked / "cldr/cldr-dates-full/package/main/de/dateFields.json").exists()


def test_back_translated_text(corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes each English sentence once, and none that the pair has or that is held out."""
    monkeypatch.setattr(translated, "TAKEN", {"en-de": ("en-fr", {"one": 2})})
    known = mixture.Source("en-de", "known", "known.tsv.gz", "everyday", 1.0, "CC0", "")
    monkeypatch.setattr(mixture, "table", lambda pair: [known] if pair == "en-de"
                        else [mixture.Source(pair, "one", "one.tsv.gz", "everyday", 1.0, "CC0", "")])
    texts = ["This dog is good.", "This dog is good.", "Where is the cat now?", "Too short.", "We all live here.",
             "One more is too many.", "It was where it is."]
    write(corpora / "one.tsv.gz", "".join(f"{text}\tRien.\n" for text in texts))
    write(corpora / "known.tsv.gz", "We all live here.\tWir alle wohnen hier.\n")
    write(corpora / "tatoeba-en-de/test.tsv.gz", "Where is the cat now?\tWo ist die Katze jetzt?\n")
    found = translated.english(corpora, "en-de")
    assert (len(found) == len(set(found)) == 2 and set(found) < {"This dog is good.", "One more is too many.",
                                                                 "It was where it is."})
    program = write(corpora / "alignd", "#!/bin/sh\nsed 's/^/de: /'\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", ["translated", "MODEL", "--data", str(corpora), "--pair", "en-de", "--alignd",
                                      str(program)])
    translated.main()
    made = mixture.Source("en-de", translated.NAME, "translated/en-de/back-translated.tsv.gz", "", 1.0, "", "")
    assert mixture.read_source(corpora, made) == [(text, f"de: {text}", b"") for text in found]

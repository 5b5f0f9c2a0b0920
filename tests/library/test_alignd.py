"""The Python package over libalignd: what it returns, raises and leaves free."""
import asyncio
import os
import sys
import threading
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("ALIGND_LIBRARY", str(ROOT / "build/libalignd.so.1"))
sys.path.append(str(ROOT / "server/library/python"))  # PYTHONPATH may name another, such as a wheel's
import alignd  # noqa: E402


@pytest.fixture(scope="module")
def translator():
    with alignd.Translator(str(ROOT / "weights/en-fr"), str(ROOT / "weights/fr-en"), workers=2) as opened:
        yield opened


def test_a_translation_has_its_parts(translator):
    found = translator.translate("The house is small.", "en", "fr", ["attention", "alignment", "tokens"])
    sentence = found.sentences[0]
    assert str(found) == "La maison est petite." and found.model == "en-fr"
    assert sentence.source == "The house is small." and sentence.text == found.text
    assert sentence.attention.shape == (len(sentence.tokens), len(sentence.source_tokens))
    assert sentence.alignment[1] == (1, 1)


def test_an_array_shows_the_reply_and_outlives_it(translator):
    attention = translator.translate("The house is small.", "en", "fr", ["attention"]).sentences[0].attention
    assert attention.dtype == numpy.float32 and not attention.flags.owndata
    numpy.testing.assert_allclose(attention.sum(axis=1), 1, atol=1e-3)


def test_many_texts_keep_their_order(translator):
    texts = [f"There are {number} houses." for number in range(1000)]
    found = translator.translate(texts, "en", "fr")
    assert len(found) == 1000
    assert all(str(number) in translation.text for number, translation in enumerate(found))


def test_coroutines_get_what_threads_get(translator):
    texts = ["The house is small.", "The garden is large."]

    async def both():
        return await asyncio.gather(translator.translate_async(texts, "en", "fr"),
                                    translator.translate_async(texts[0], "en", "fr"))

    many, one = asyncio.run(both())
    assert [item.text for item in many] == [item.text for item in translator.translate(texts, "en", "fr")]
    assert one.text == many[0].text


def test_other_threads_run_meanwhile(translator):
    turns, done = [], threading.Event()

    def count():
        while not done.is_set():
            turns.append(None)

    thread = threading.Thread(target=count)
    thread.start()
    before = len(turns)
    texts = [f"The house that was built {number} years ago is too small for all of us." for number in range(60)]
    translator.call("translate", {"text": texts, "source": "en", "target": "fr"})  # takes a while
    during = len(turns) - before
    done.set()
    thread.join()
    assert during > 0


def test_errors_name_the_field(translator):
    with pytest.raises(alignd.AligndError) as error:
        translator.translate("Hello", beam_size=0, source="en", target="fr")
    assert error.value.status == 400 and error.value.field == "beam_size"
    with pytest.raises(alignd.AligndError, match="no model"):
        alignd.Translator("xx-yy")


def test_documents_and_alignments(translator):
    page = translator.document(b"<p>The <b>house</b>.</p>", "fr", source="en", format="html")
    assert b"<b>maison</b>" in page
    assert translator.align("The house.", "La maison.", "en", "fr")["links"] == [[0, 0], [1, 1], [2, 2]]
    assert translator.call("detect", {"q": "La maison est petite."})[0]["language"] == "fr"


def test_a_closed_translator_says_so():
    closed = alignd.Translator(str(ROOT / "weights/en-fr"), workers=1)
    closed.close()
    closed.close()
    with pytest.raises(alignd.AligndError, match="closed"):
        closed.translate("Hello", "en", "fr")

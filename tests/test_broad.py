"""Training of general models: links, noise rules, the stream of examples, the fused arithmetic, and resumed runs."""

from __future__ import annotations

import gzip
import json
import math
import random
import shutil
import sys
import types
from pathlib import Path

import pytest
import torch

from weights.alignment import align, align_head, links
from weights.corpora import data
from weights.evaluation import results, tables
from weights.model import folder, rejoined, safetensors, tokenizer, transformer
from weights.training import average, broad, export, fused, graphs, kernels, methods, mixture, noise, train
from weights.model.network import Model

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "weights/recipes/en-fr-broad.json"
SAMPLE = [("Tom met John in Paris.", "Tom a rencontré John à Paris."), ("Where is the station?", "Où est la gare ?"),
          ("I have 25 books.", "J'ai 25 livres."), ("He's my brother.", "C'est mon frère.")]


def spans_of(text: str) -> list[str]:
    return [text[b:e] for b, e in links.words(text)]


def test_words_are_those_that_links_count() -> None:
    assert spans_of("L'eau, ça haven't “12,5”") == ["L'", "eau", ",", "ça", "haven'", "t", "“", "12", ",", "5", "”"]
    assert spans_of("l’été dogs' 'tis a_b") == ["l’", "été", "dogs'", "'tis", "a_b"]


def test_grow_diag_final_and() -> None:
    both = {(0, 0), (2, 2)}
    assert (links.grow_diag_final_and(both | {(1, 1), (5, 5)}, both | {(1, 2), (6, 4)})
            == [(0, 0), (1, 1), (2, 2), (5, 5), (6, 4)])
    # It adjoins no link, and both its words have one.
    assert links.grow_diag_final_and(both | {(0, 2)}, both) == [(0, 0), (2, 2)]


def test_links_hold_for_every_piece_of_their_words() -> None:
    assert (links.between_pieces([(0, 1), (2, 0)], [{0}, {0}, {1}, {2}], [{0}, {1}, set(), {0, 1}])
            == [(3, 0), (0, 1), (1, 1), (0, 3), (1, 3), (3, 3)])


def aligned(one: noise.Example) -> list[tuple[str, str]]:
    return [(one.source[slice(*one.source_words[i])], one.target[slice(*one.target_words[j])]) for i, j in one.links]


SENTENCE = noise.example('Tom met John at 25 "bars" in 1999...', "Tom a vu John dans 25 bars en 1999...",
                         [(0, 0), (1, 2), (2, 3), (3, 4), (4, 5), (6, 6), (8, 7), (9, 8)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rule", [noise.without_final, noise.typography, noise.spelling, noise.digits,
                                  noise.names(["Zoé"]), noise.lower, noise.upper, noise.title, noise.without_accents])
def test_rules_keep_links_true(rule, seed: int) -> None:
    changed = rule(SENTENCE, random.Random(seed))
    assert changed != SENTENCE or rule is noise.without_accents
    whole = {"tom": "tom", "met": "vu", "john": "john", "at": "dans", "in": "en"}
    for (a, b), (old, _) in zip(aligned(changed), aligned(SENTENCE), strict=True):
        if (rule is noise.digits or rule is not noise.spelling
            and (old.isdigit() or isinstance(rule, type(lambda: 0)) and old in ("Tom", "John"))):
            assert old.lower() in whole or a == b or old in ("bars", "met", "at", "in")
        elif rule is not noise.spelling:
            assert (b.lower() == whole.get(a.lower(), b.lower())
                    and (a.lower() in whole or a == b or a.lower() == b.lower()))


def test_what_rules_write() -> None:
    chance = random.Random(2)
    assert (noise.without_final(SENTENCE, chance).source.endswith("1999")
            and noise.without_final(SENTENCE, chance).target.endswith("1999"))
    question = noise.example("Where?", "Où ?", [])
    assert ((noise.without_final(question, chance).source, noise.without_final(question, chance).target)
            == ("Where", "Où ?"))
    assert noise.upper(SENTENCE, chance).target == "TOM A VU JOHN DANS 25 BARS EN 1999..."
    assert noise.lower(SENTENCE, chance).target == SENTENCE.target
    assert (noise.typography(SENTENCE, chance).source.endswith("…")
            and '"' not in noise.typography(SENTENCE, chance).source)
    other = noise.digits(SENTENCE, chance)
    assert (len(other.source) == len(SENTENCE.source) and "1999" not in other.source and aligned(other)[-1][0]
            == aligned(other)[-1][1])


def test_joined_sentences_keep_their_links() -> None:
    two = noise.joined([SENTENCE, noise.example("A dog.", "Un chien.", [(0, 0), (1, 1), (2, 2)])])
    assert two.source.endswith('1999... A dog.') and aligned(two)[-2:] == [("dog", "chien"), (".", ".")]


def test_normalise() -> None:
    assert mixture.normalise("Ça va?  Il dit: «oui»!", "fr") == "Ça va ? Il dit : « oui » !"
    assert mixture.normalise("à 10:30, http://x.fr?a=b", "fr") == "à 10:30, http://x.fr?a=b"
    assert mixture.normalise("“It’s”…", "en") == "\"It's\"..."


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with two small sources and everything that validation reads."""
    def write(name: str, lines: list[str]) -> None:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    path = ROOT / "tests/data/sample-en-fr.tsv"
    sample = ([line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()] if path.exists()
              else [(f"{a[:-1]} {i}.", f"{b[:-1]} {i}.") for i in range(150) for a, b in SAMPLE])
    for name, pairs in (("one", sample[:400]), ("two", sample[400:500])):
        write(f"{name}.tsv.gz", ["\t".join(pair[:2]) for pair in pairs])
        write(f"links/en-fr/{name}.txt.gz", ["0-0\t0-0"] * len(pairs))
    for name in ("broad/flores-dev.en-fr.tsv.gz", "broad/newstest-valid.en-fr.tsv.gz", "tatoeba-en-fr/valid.tsv.gz"):
        write(name, ["\t".join(pair) for pair in SAMPLE])
    write("broad/broad-valid.en-fr.tsv.gz", [f"law\t{a}\t{b}" for a, b in SAMPLE])
    write("multi30k/val.en.gz", [a for a, _ in SAMPLE])
    write("multi30k/val.fr.gz", [b for _, b in SAMPLE])
    rows = [mixture.Source("en-fr", "one", "one.tsv.gz", "everyday", 1.0, "CC0", ""),
            mixture.Source("en-fr", "two", "two.tsv.gz", "law", 0.5, "CC0", "")]
    monkeypatch.setattr(mixture, "table", lambda pair: rows)
    monkeypatch.setattr(broad, "VOCABULARY_LINES", 2000)
    return tmp_path / "data"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """The shipped recipe, with a small model."""
    content = json.loads(RECIPE.read_text(encoding="utf-8"))
    content["encoder"] |= {"embedding": 16, "hidden": 24}
    content["decoder"] |= {"embedding": 16, "hidden": 20, "readout_size": 16}
    content["training"] |= {"vocabulary": 620, "batch_tokens": 300, "warmup": 5, "embedding_deviation": 0.25,
                            "weights": {}}
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_stream(corpora: Path, tmp_path: Path) -> None:
    kept = mixture.cache(corpora, "en-fr", tmp_path / "cache")
    assert mixture.cache(Path("nowhere"), "en-fr", tmp_path / "cache") == kept  # read from the cache
    stream, again = (mixture.Mixture(kept, "en-fr", False, 1, None, 128, chunk=225) for _ in range(2))
    picks = stream.picks(0) + stream.picks(1)
    assert sorted(index for name, index in picks if name == "one") == list(range(400))  # each pair once per pass
    assert len({index for name, index in picks if name == "two"}) == 50
    assert again.picks(1) == stream.picks(1) and stream.examples(5) == again.examples(5) != stream.examples(6)
    more = mixture.Mixture(kept, "en-fr", False, 1, None, 128, chunk=300, weights={"two": 2.0})
    assert [[name for name, _ in more.picks(0)].count(name) for name in ("one", "two")] == [200, 100]
    one = mixture.Mixture(broad.chosen(kept, broad.DEFAULTS | {"sources": ["one"]}), "en-fr", False, 1, None, 128,
                          chunk=225)
    assert {name for name, _ in one.picks(0)} == {"one"} and broad.chosen(kept, broad.DEFAULTS) == kept
    for key, value in (("sources", ["one", "three"]), ("weights", {"three": 2.0})):
        with pytest.raises(SystemExit, match=f"training.{key}: three is unknown"):
            broad.chosen(kept, broad.DEFAULTS | {key: value})
    flipped = mixture.Mixture(kept, "en-fr", True, 1, None, 128, chunk=225)
    assert flipped.plain("one", 3).source == stream.plain("one", 3).target


def test_a_sample_has_its_share_of_each_source(corpora: Path) -> None:
    first, second = ({a for a, _ in data.read_pairs(corpora / f"{name}.tsv.gz")} for name in ("one", "two"))
    found = mixture.sample(corpora, "en-fr", 225, 1)
    assert ([sum(a in of for a, _, _ in found) for of in (first, second)] == [200, 25] and {line for *_, line in found}
            == {"0-0\t0-0"})
    assert len({a for a, _, _ in found}) == 225
    assert found == mixture.sample(corpora, "en-fr", 225, 1) != mixture.sample(corpora, "en-fr", 225, 2)
    assert len(mixture.sample(corpora, "en-fr", 900, 1)) == 900  # more than there are, so all occur twice
    flipped = align_head.read_sources(corpora, ("fr", "en"), 225, 1, True, "intersection")
    assert [(pair.target, pair.source, pair.links) for pair in flipped] == [(a, b, [(0, 0)]) for a, b, _ in found]


@pytest.mark.parametrize("pair", ("en-fr", "en-de"))
def test_every_slot_is_filled_in(pair: str) -> None:
    for flip in (False, True):
        drawn = mixture.phrases(pair, flip)
        assert drawn.size > 300
        chance = random.Random(1)
        for one in drawn.pairs:
            drawn.pairs, whole = [one], drawn.pairs
            made = drawn.draw(chance)
            drawn.pairs = whole
            assert not {"{", "}"} & set(made.source + made.target) and made.source and made.target


def small_model(recipe: Path) -> Model:
    torch.manual_seed(1)
    made = Model(broad.load_recipe(recipe)[0], 50, 50).train()
    train.shrink_embeddings(made, 0.25)
    return made


@pytest.mark.parametrize("encoder", ({}, {"type": "transformer", "embedding": 16, "hidden": 16, "heads": 2,
                                          "filter": 32}), ids=("recurrent", "transformer"))
@pytest.mark.parametrize("half", (False, True))
def test_fused_arithmetic_is_the_models(recipe: Path, half: bool, encoder: dict, monkeypatch) -> None:
    """Loss, attention and every gradient, including those through the attention, are those of the model."""
    if encoder:
        content = json.loads(recipe.read_text(encoding="utf-8"))
        recipe.write_text(json.dumps(content | {"encoder": encoder}), encoding="utf-8")
    if half and not kernels.processor_multiplies_bfloat16():
        pytest.skip("this processor does not multiply bfloat16")
    model = small_model(recipe)
    lengths = torch.tensor([9, 5, 7, 9])
    ids, inputs, wanted = (torch.randint(3, 50, shape) for shape in ((4, 9), (4, 6), (4, 6)))
    wanted[1, 4:] = -100
    guide = torch.rand(4, 6, 9) * (torch.arange(9) < lengths[:, None])[:, None]

    def gradients(loss: torch.Tensor, attention: torch.Tensor) -> dict[str, torch.Tensor]:
        model.zero_grad()
        (loss + methods.guided_loss(attention, guide)).backward()
        return {name: p.grad.clone() for name, p in model.named_parameters()}

    with monkeypatch.context() as without:
        for module in (kernels, transformer):
            without.setattr(module, "suits", lambda x: False)
        memory, state = model.encode(ids, lengths)
        reads = model.teach(inputs, state, memory)
        plain_loss = train.written_loss(model, reads, wanted, wanted != -100, 0.1)
        plain = gradients(plain_loss, reads.weights)
    loss, _, attention = fused.Fused(model, half).loss(ids, lengths, inputs, wanted, 0.1)
    tolerance = 0.03 if half else 1e-5
    assert loss.item() == pytest.approx(plain_loss.item(), rel=tolerance / 10)
    assert (attention - reads.weights).abs().max() < tolerance
    for name, gradient in gradients(loss, attention).items():
        # The gradient of a key's bias is 0.
        assert (gradient - plain[name]).abs().max() <= tolerance * plain[name].abs().max() + 1e-7, name
    annotations, states = fused.Fused(model, half).states(ids, lengths, inputs)
    for mine, others, known in (annotations, memory.annotations,
                                torch.arange(9) < lengths[:, None]), (states, reads.states, wanted != -100):
        assert mine.dtype == torch.float32 and (mine - others)[known].abs().max() < tolerance


def test_dropout_drops_its_share_and_its_gradient_the_same() -> None:
    dropout = kernels.Dropout(0.2)
    x = torch.ones(400, 500, requires_grad=True)
    out = dropout(x)
    out.sum().backward()
    assert (out == 0).float().mean().item() == pytest.approx(0.2, abs=0.005) and torch.equal(out.detach(), x.grad)
    assert out.max().item() == pytest.approx(1.25)
    assert not torch.equal(dropout(x), out) and dropout.eval()(x) is x


def test_what_two_seeds_drop_has_nothing_in_common() -> None:
    x, masks = torch.ones(100000), []
    for seed in (7, 8):
        out = torch.empty_like(x)
        kernels.plain_kernels().call("drop", len(x), x, out, int(0.2 * 2**32), 1.25, seed)
        masks.append(out == 0)
    # The masks are independent, also when one is shifted against the other.
    for one, other in (masks, (masks[0][1:], masks[1][:-1])):
        assert (one & other).float().mean().item() == pytest.approx(0.04, abs=0.004)


def test_adam_is_pytorchs() -> None:
    weight, average = torch.randn(1000), torch.zeros(1000)
    reference = weight.clone().requires_grad_()
    optimizer = torch.optim.Adam([reference], lr=0.01, betas=broad.BETAS, eps=broad.EPSILON)
    first, second, library = torch.zeros(1000), torch.zeros(1000), kernels.Kernels(False)
    for step in range(1, 4):
        gradient = torch.randn(1000)
        reference.grad = gradient.clone()
        optimizer.step()
        library.call("adam", 1000, weight, gradient, first, second, average, 0.01 / (1 - 0.9 ** step),
                     (1 - 0.98 ** step) ** -0.5, 0.9, 0.98, 1e-8, 1.0, 1.0)
    assert (weight - reference.detach()).abs().max() < 1e-5 and torch.equal(weight, average)


def weights_of(run: broad.Run) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in run.average.items()}


def test_a_run_resumes_to_the_bit_and_starts_from_a_model(recipe: Path, corpora: Path, tmp_path: Path) -> None:
    def run(out: str, last: int) -> broad.Run:
        made = broad.Run(recipe, corpora, tmp_path / out, None, tmp_path / "cache")
        made.resume()
        made.stream.chunk = 6
        made.run(1e9, 1e9, last=last)
        return made

    whole = run("whole", 12)
    run("cut", 7)
    cut = run("cut", 12)
    assert ((cut.step, cut.chunk, cut.batch, cut.tokens) == (whole.step, whole.chunk, whole.batch, whole.tokens)
            and cut.chunk > 0)
    assert all(torch.equal(tensor, weights_of(cut)[name]) for name, tensor in weights_of(whole).items())
    export.export(tmp_path / "whole", tmp_path / "model", "float32")
    model, side, _ = folder.read(tmp_path / "model")
    export.export(tmp_path / "whole", tmp_path / "last", "float32", last=True)
    last = dict(folder.read(tmp_path / "last")[0].named_parameters())
    assert all(torch.equal(tensor, last[name]) for name, tensor in weights_of(whole).items())
    assert side.processor.encode("\u4e2d") and 0 not in side.encode("\u4e2d 12")  # byte fallback: no piece is unknown
    assert {piece for piece in side.processor.encode("2024", out_type=str)} >= {"0", "4"}
    turned = tmp_path / "turned.json"
    turned.write_text(json.dumps(json.loads(recipe.read_text()) | {"source": "fr", "target": "en"}))
    started = broad.Run(turned, corpora, tmp_path / "turned", tmp_path / "model", tmp_path / "cache")
    assert started.stream.flip and not whole.stream.flip
    assert all(torch.equal(p, dict(started.model.named_parameters())[name]) for name, p in model.named_parameters())


def test_a_table_trains_general_models_once_and_gives_them_heads(recipe: Path, corpora: Path, tmp_path: Path) -> None:
    definition = {"title": "T", "text": "", "gold": [], "ways": [], "steps": 4, "cooled": 2, "head_pairs": 20,
                  "recipe": json.loads(recipe.read_text()),
                  "rows": [{"name": "one", "set": {"training.sources": ["one"]}, "head": True}]}
    (tmp_path / "t.json").write_text(json.dumps(definition))
    table = tables.Table(tmp_path / "t.json")
    (row,) = table.rows
    options = results.Options(corpora, tmp_path / "work", Path("build/alignd"), until=0.0)
    with pytest.raises(results.Unfinished):
        results.trained(table, row, options)
    options.until = math.inf
    model, result = results.trained(table, row, options)
    assert results.trained(table, row, options)[0] == model and result["parameters"] > 1000
    metadata = safetensors.read(model / "model.safetensors")[1]
    assert metadata["epoch"] == "step 4"
    with_head = results.with_head(table, model, options)
    assert (align.has_head(with_head) and not align.has_head(model) and results.with_head(table, model, options)
            == with_head)
    assert ("4 updates, in the last 2 of which" in tables.describe(table)
            and "one vocabulary of 620" in tables.describe(table))
    table.definition["steps"], options.until = 5, 0.0
    with pytest.raises(results.Unfinished):  # a model of another length is trained separately
        results.trained(table, row, options)


def test_a_run_starts_from_a_model_of_another_pair(recipe: Path, corpora: Path, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    broad.Run(recipe, corpora, tmp_path / "first", None, tmp_path / "cache").run(1e9, 1e9, last=1)
    export.export(tmp_path / "first", tmp_path / "model", "float32")
    kept = mixture.cache(corpora, "en-fr", tmp_path / "cache")
    monkeypatch.setattr(mixture, "cache", lambda *_: kept)
    monkeypatch.setattr(mixture, "held_out", lambda *_: {})
    content = json.loads(recipe.read_text(encoding="utf-8")) | {"target": "de"}
    content["training"] |= {"pair": "en-de", "vocabulary": 600}
    recipe.write_text(json.dumps(content), encoding="utf-8")
    started = broad.Run(recipe, corpora, tmp_path / "second", tmp_path / "model", tmp_path / "cache")
    model, old, _ = folder.read(tmp_path / "model")
    assert started.began.startswith("en-fr (1 steps, ") and started.state()["began"] == started.began
    new, rows, expected = started.side, started.model.named_tensors()["decoder.embedding"], model.named_tensors()[
        "decoder.embedding"]
    assert len(new.pieces) == 600 != len(old.pieces)
    both = [piece for piece in new.pieces if old.find(piece) >= 0]
    assert len(both) > 300 and all(torch.equal(rows[new.find(piece)], expected[old.find(piece)]) for piece in both)
    own = [piece for piece in new.pieces[3:] if old.find(piece) < 0]
    assert (own and all(torch.allclose(rows[new.find(piece)],
                                       expected[old.encode(piece.replace("\u2581", " "))].mean(0)) for piece in own))
    assert torch.equal(rows[new.special[2]], expected[old.special[2]])
    assert torch.equal(started.model.named_tensors()["readout.weight"], model.named_tensors()["readout.weight"])


def test_the_rate_rises_stays_and_falls() -> None:
    training = {"warmup": 10, "hold": 100, "learning_rate": 1.0}
    assert [round(broad.learning_rate(step, training), 3) for step in (0, 9, 50, 100, 400)] == [0.1, 1.0, 1.0, 1.0, 0.5]
    # The final decay has not begun.
    assert broad.learning_rate(350, training, (400, 100)) == broad.learning_rate(350, training)
    assert (broad.learning_rate(400, training, (400, 100)) == 0.5 and broad.learning_rate(500, training, (400, 100))
            == pytest.approx(0.01, rel=0.6))


def test_the_stream_as_text(corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["mixture", "--data", str(corpora), "--out", str(tmp_path / "text"), "--count",
                                     "50"])
    mixture.main()
    pairs = data.read_pairs(tmp_path / "text/train.tsv.gz")
    assert len(pairs) >= 50 and all(a and b for a, b in pairs)
    assert set(data.read_pairs(tmp_path / "text/valid.tsv.gz")) <= set(SAMPLE)


def test_words_get_their_mark_back(tmp_path: Path) -> None:
    path = tmp_path / "bytes.spm"
    shutil.copyfile(ROOT / "tests/data/tiny.bytes.spm", path)
    rejoined.rename(path, {})
    assert path.read_bytes() == (ROOT / "tests/data/tiny.bytes.spm").read_bytes()
    side = tokenizer.SentencePiece(path, {})
    piece = next(p for p in side.pieces if p.isalpha() and side.processor.encode(p, out_type=str) == ["\u2581", p])
    line = " ".join([piece] * 40)
    before = side.pieces.index(piece)
    assert rejoined.torn(side.processor, ["a"]) == {}
    assert rejoined.torn(side.processor, [line]) == {piece: "\u2581" + piece}
    rejoined.rename(path, {piece: "\u2581" + piece * 60})  # long enough that its length needs two bytes
    assert (tokenizer.SentencePiece(path, {}).pieces == side.pieces[:before] + ["\u2581" + piece * 60]
            + side.pieces[before + 1:])


class OnProcessor(kernels.Kernels):
    """The kernels of weights/training/gpu.py on the CPU: all rows at once, nothing random, losses as tensors."""

    rows = 1 << 30

    def __init__(self, clock: torch.Tensor) -> None:
        super().__init__(half=False)
        self.clock, self.salt = clock, 0

    def chosen(self, real: torch.Tensor) -> slice:
        return slice(None)

    def draw(self, limit: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(torch.arange(len(out)) % int(limit))

    def adam(self, size: int, *arguments) -> None:
        *tensors, scalars, beta1, beta2, epsilon = arguments
        rate, correction, factor, share = scalars.tolist()
        super().call("adam", size, *tensors, rate, correction, beta1, beta2, epsilon, factor, share)

    def call(self, name: str, *arguments):
        if name != "cross_entropy":
            return super().call(name, *arguments)
        _, size, logits, bias, wanted, smoothing, _, plain = arguments
        real = (wanted >= 0)[:, None]
        logs = (logits + bias).log_softmax(1)
        right = torch.zeros_like(logs).scatter_(1, wanted.clamp_min(0)[:, None], 1.0)
        logits.copy_((logs.exp() - smoothing / size - (1 - smoothing) * right) * real)
        plain.copy_(-(logs * right * real).sum())
        return -(((1 - smoothing) * right + smoothing / size) * logs * real).sum()


def test_an_update_for_the_device_is_that_of_the_processor(corpora: Path, recipe: Path, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """Padded examples on the device give the same gradient as the batch; the update is Adam's; and a run can be
    exported."""
    content = json.loads(recipe.read_text(encoding="utf-8"))
    content["training"] |= {"dropout": 0.0, "hiding": False}
    recipe.write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setitem(sys.modules, "weights.training.gpu", types.SimpleNamespace(GpuKernels=OnProcessor))
    monkeypatch.setattr(torch.cuda, "Stream", lambda: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(graphs, "CAPACITY", 1e7)
    monkeypatch.setattr(graphs, "TOKENS", 240)
    trainee = graphs.Trainee(recipe, corpora, tmp_path / "runs", tmp_path, device="cpu")
    trainee.place()
    length, eos, pool = graphs.LENGTHS[6], trainee.stream.side.special[2], trainee.pools[6]
    batch = [one for one in trainee.stream.encoded(0) if graphs.length_of(one) == 6][:graphs.TOKENS // length]
    assert len(batch) == 12
    pool.add(graphs.rows(batch, length, eos))
    before, embedding = trainee.weights.clone(), dict(trainee.model.named_parameters())["encoder.embedding.weight"]
    trainee.update(pool)
    found = {name: p.grad.clone() for name, p in trainee.model.named_parameters()}  # before the next update
    assert (trainee.weights == before).all()  # the rate is 0
    assert trainee.sums[2] == sum(len(one.target) + 1 for one in batch) and trainee.clock[0] == 1

    ids, lengths = broad.search.pad([one.source for one in batch])
    inputs = broad.search.pad([[broad.BOS] + one.target for one in batch])[0]
    wanted = broad.search.pad([one.target + [broad.EOS] for one in batch], value=-100)[0]
    loss, _, attention = fused.Fused(trainee.model, half=False).loss(ids, lengths, inputs, wanted, 0.1)
    guide = broad.guide_of([one._replace(links=[link for k in range(len(one.target) + 1)
                                                for link in [l for l in one.links if l[1] == k][:graphs.LINKS]])
                            for one in batch], inputs.shape[1], ids.shape[1])
    trainee.gradients.zero_()
    ((loss + 0.4 * methods.guided_loss(attention, guide)) / int((wanted != -100).sum())).backward()
    for name, p in trainee.model.named_parameters():
        assert (p.grad - found[name]).abs().max() <= 1e-5 * p.grad.abs().max() + 1e-8, name

    trainee.rate.fill_(0.01)
    first = trainee.validation()
    for _ in range(30):
        trainee.update(pool)
    trainee.steps = 31
    assert trainee.sums[3] == 0 and embedding.abs().sum() > 0
    trainee.report(5.0, 0.01)
    line = json.loads((trainee.out / "log.jsonl").read_text(encoding="utf-8"))
    assert (line["tokens"] == 31 * sum(len(one.target) + 1 for one in batch) and line["held_out"] != sum(first.values())
            / len(first))
    export.export(trainee.out, tmp_path / "model", "int8")
    assert safetensors.read(tmp_path / "model/model.safetensors")[1]["gpu_seconds"] == "5"
    again = graphs.Trainee(recipe, corpora, tmp_path / "again", tmp_path, start=tmp_path / "runs", device="cpu")
    assert (again.out / "joint.spm").read_bytes() == (trainee.out / "joint.spm").read_bytes()
    again.place()
    assert again.validation() == pytest.approx(trainee.validation(), abs=0.01)  # best.pt is float16
    export.export(trainee.out, tmp_path / "models" / trainee.name, "float32")
    exported = graphs.Trainee(recipe, corpora, tmp_path / "exported", tmp_path, start=tmp_path / "models", device="cpu")
    assert exported.before["tokens"] == line["tokens"] and exported.before["gpu_seconds"] == 5
    exported.place()
    assert exported.validation() == pytest.approx(again.validation(), abs=1e-3)

    whole, zero, mean = tmp_path / "models" / trainee.name, tmp_path / "zero", tmp_path / "mean"
    shutil.copytree(whole, zero)
    exported.weights.zero_()
    folder.write(zero, exported.model, "float32", {"tokens": "7"})
    average.average(whole, zero, mean, 0.25, "float32")
    assert safetensors.read(mean / "model.safetensors")[1] == {"tokens": "7"} and (mean / "joint.spm").exists()
    expected = folder.read(whole)[0].state_dict()
    assert all(torch.allclose(tensor, 0.75 * expected[name])
               for name, tensor in folder.read(mean)[0].state_dict().items())
    (zero / "joint.spm").write_bytes(b"")
    with pytest.raises(SystemExit, match="differ in their configuration or vocabulary"):
        average.average(whole, zero, mean, 0.25, "float32")


def test_rows_for_the_device() -> None:
    one = mixture.Encoded([7, 8, 9, 2], [5, 6], [(0, 0), (1, 0), (2, 0), (3, 0), (1, 1), (3, 2)])
    made = graphs.rows([one], 6, 2)
    assert (made.source.tolist() == [[7, 8, 9, 2, 0, 0]] and made.target.tolist() == [[5, 6, 2, -100, -100, -100]]
            and made.lengths.tolist() == [4])
    # At most three links per token.
    assert made.links[0, :4].tolist() == [[0, 1, 2], [1, 255, 255], [3, 255, 255], [255] * 3]
    assert ([graphs.length_of(mixture.Encoded([1] * n, [1] * m, [])) for n, m in ((6, 1), (1, 6), (128, 1), (1, 128))]
            == [0, 1, 14, 15])

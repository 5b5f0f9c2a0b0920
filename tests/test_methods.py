"""Tests of weights/training/methods.py: the computation of each training method, and that a run with all of them
resumes step for step."""

from __future__ import annotations

import copy
import gzip
import json
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from test_weights import RECIPE, _copying_recipe, _losses, corpus  # noqa: E402, F401 (corpus: a fixture)
from weights.model import config, search  # noqa: E402
from weights.training import export, methods, train  # noqa: E402
from weights.model.copies import Source  # noqa: E402
from weights.model.network import Model  # noqa: E402
from weights.model.tokenizer import BOS, EOS  # noqa: E402

import torch  # noqa: E402 (after weights, which sets its threads)

PAIRS = [(Source([4, 5, 6, EOS], [], []), [7, 8]), (Source([5, EOS], [], []), [9, 10, 11])]


def _model() -> Model:
    torch.manual_seed(7)
    model = Model(config.validate({key: value for key, value in RECIPE.items() if key != "training"}), 12, 12)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 1)
    return model


def _methods(**training) -> methods.Methods:
    return methods.Methods(_model().config, train.DEFAULTS | RECIPE["training"] | training, PAIRS)


def test_own_words_are_those_of_greedy_search():
    model = _model()
    inputs = torch.full((2, 6), BOS)
    model.train()
    mixed = methods.own_words(model, PAIRS, inputs, 1.0)
    assert model.training
    model.eval()
    for row, found in zip(mixed.tolist(), search.greedy(model, [s.ids for s, _ in PAIRS])):
        known = found.tokens[:5]
        assert row[0] == BOS and row[1:1 + len(known)] == known


def test_scheduled_sampling_grows():
    model, method = _model(), _methods(scheduled_sampling=0.5)
    batch = PAIRS[:1] * 60
    inputs = torch.full((60, 21), 11)
    inputs[:, 0] = BOS
    assert method.inputs(model, batch, inputs, 0.0) is inputs
    shares = []
    for progress in (0.2, 1.0):
        torch.manual_seed(1)
        shares.append((method.inputs(model, batch, inputs, progress) != inputs).float().mean().item() * 21 / 20)
    assert 0.02 < shares[0] < 0.13 and 0.3 < shares[1] < 0.55  # a model's word can equal the reference's


def test_coverage_loss_by_hand():
    weights = torch.tensor([[[.5, .5], [.8, .2], [.1, .9]], [[1., .0], [.6, .4], [.0, 1.]]])
    # First: min(.8, .5) + min(.2, .5) = .7; min(.1, 1.3) + min(.9, .7) = .8.
    # Second: min(.6, 1) + min(.4, 0) = .6; its third step is padding.
    real = torch.tensor([[True, True, True], [True, True, False]])
    assert methods.coverage_loss(weights, real).item() == pytest.approx(0.7 + 0.8 + 0.6)


def test_guided_loss_by_hand():
    weights = torch.tensor([[[.5, .5], [.8, .2], [.1, .9]]])
    guide = torch.tensor([[[1., .0], [.5, .5], [.0, .0]]])
    wanted = -(numpy.log(.5) + .5 * numpy.log(.8) + .5 * numpy.log(.2))
    assert methods.guided_loss(weights, guide).item() == pytest.approx(wanted, abs=1e-6)


def test_guide_covers_words_and_the_end_alone():
    guide = _methods(guided_attention=1.0).guide_of(PAIRS, torch.Size([2, 4, 4]))
    assert (guide[0].sum(dim=1).tolist() == pytest.approx([1, 1, 1, 0]) and guide[0, 2, 3] == 1
            and guide[0, :2, 3].sum() == 0)
    assert (guide[1].sum(dim=1).tolist() == pytest.approx([1, 1, 1, 1]) and guide[1, 3, 1] == 1
            and guide[1, :3, 0].tolist() == [1, 1, 1])


@pytest.mark.parametrize("key", ["coverage_loss", "guided_attention"])
def test_method_adds_its_weighted_loss(key):
    model, device = _model().eval(), torch.device("cpu")
    plain, tokens = train.loss_of(model, PAIRS, _methods(label_smoothing=0.0), 0.0, device)
    once, _ = train.loss_of(model, PAIRS, _methods(label_smoothing=0.0, **{key: 1.0}), 0.0, device)
    twice, _ = train.loss_of(model, PAIRS, _methods(label_smoothing=0.0, **{key: 2.0}), 0.0, device)
    assert tokens == 7 and once > plain and (twice - plain).item() == pytest.approx(2 * (once - plain).item(), rel=1e-4)


def test_coverage_loss_begins_where_the_recipe_says():
    model, late = _model().eval(), _methods(label_smoothing=0.0, coverage_loss=1.0, coverage_loss_from=0.75)
    losses = [train.loss_of(model, PAIRS, method, progress, torch.device("cpu"))[0].item()
              for method, progress in ((_methods(label_smoothing=0.0), 0.0), (late, 0.74), (late, 0.75), (late, 1.0))]
    assert losses[0] == losses[1] < losses[2] == losses[3]


def test_every_method_trains_words_that_are_spelled(corpus, tmp_path):  # noqa: F811
    recipe = copy.deepcopy(RECIPE) | {"tokenizer": {"type": "words", "source": "source.vocab",
                                                    "target": "target.vocab"},
                                      "output": {"type": "characters", "character_embedding": 8}}
    recipe["training"] |= {"vocabulary": 7, "epochs": 1, "scheduled_sampling": 0.8, "coverage_loss": 0.5,
                           "guided_attention": 0.5, "guide": "lexical"}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    trainer = train.Trainer(tmp_path / "recipe.json", corpus, tmp_path / "run", False)
    assert any(word >= trainer.target.size for _, target in trainer.pairs for word in target)
    trainer.run(save_every=300)
    assert trainer.finished()


@pytest.mark.parametrize("out", ["pointer", "pointer_generator", "copy"])
def test_every_method_trains_words_that_are_copied(tmp_path, out):
    """Also if the model's own word, which the decoder reads, is outside the vocabulary."""
    for name in ("train", "valid"):
        text = "".join(f"say n{i} now\tn{i} now\n" for i in range(60))
        (tmp_path / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    recipe = _copying_recipe(out)
    recipe["training"] |= {"epochs": 2, "scheduled_sampling": 0.8, "coverage_loss": 0.5, "guided_attention": 0.5,
                           "guide": "lexical"}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    trainer = train.Trainer(tmp_path / "recipe.json", tmp_path, tmp_path / "run", False)
    assert any(word >= trainer.target.size for _, target in trainer.pairs for word in target)
    trainer.run(save_every=300)
    assert trainer.finished()


def test_guided_attention_is_learned():
    """A few training steps with the guide alone move the attention to it."""
    model, method = _model(), _methods(guided_attention=1.0, guide="lexical")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        source, lengths = search.pad([s.ids for s, _ in PAIRS])
        _, weights = model.readouts(source, lengths, search.pad([[BOS] + t for _, t in PAIRS])[0])
        loss = method.attention_loss(weights, PAIRS, torch.ones(weights.shape[:2], dtype=torch.bool), 0.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("edit, message", [
    ({"scheduled_samplng": 0.1}, "training.scheduled_samplng: unknown key"),
    ({"corpus": "moon"}, "training.corpus: must be one of tsv, "),
    ({"guide": "moon"}, "training.guide: must be one of diagonal, lexical, aligner, got moon"),
])
def test_recipe_refuses(corpus, tmp_path, edit, message):  # noqa: F811
    recipe = copy.deepcopy(RECIPE)
    recipe["training"] |= edit
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    with pytest.raises(SystemExit, match=message):
        train.Trainer(tmp_path / "recipe.json", corpus, tmp_path / "run", False)


def test_averaging_is_a_plain_mean_at_first():
    model = _model()
    average = train.averaged(model, 0.25)
    weights = []
    for _ in range(6):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter))
        average.update_parameters(model)
        weights.append(copy.deepcopy(model.state_dict()))
    for name, mean in average.module.state_dict().items():
        wanted = sum(w[name] for w in weights[:4]) / 4
        for w in weights[4:]:
            wanted = 0.75 * wanted + 0.25 * w[name]
        assert torch.allclose(mean, wanted, atol=1e-6), name
    assert average.module.output.weight is average.module.decoder.embedding.weight  # tied like the model's weights


def test_averaging_is_validated_and_exported(corpus, tmp_path, monkeypatch):  # noqa: F811
    recipe = copy.deepcopy(RECIPE)
    recipe["training"] |= {"epochs": 1, "averaging": 0.1}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    trainer = train.Trainer(tmp_path / "recipe.json", corpus, tmp_path / "run", False)
    validated = []
    monkeypatch.setattr(train, "validate", lambda model, *_: validated.append(model) or 1.0)
    trainer.run(save_every=1000)
    best = torch.load(tmp_path / "run" / "best.pt")["model"]
    assert validated == [trainer.average.module]
    for name, weight in trainer.model.state_dict().items():
        assert (torch.equal(best[name], trainer.average.module.state_dict()[name])
                and not torch.equal(best[name], weight))


@pytest.mark.parametrize("before, after, message", [(0.0, 0.1, "without averaging"), (0.1, 0.0, "with averaging")])
def test_averaging_is_not_begun_or_ended_midway(corpus, tmp_path, before, after, message):  # noqa: F811
    for share in (before, after):
        recipe = copy.deepcopy(RECIPE)
        recipe["training"]["averaging"] = share
        (tmp_path / "recipe.json").write_text(json.dumps(recipe))
        trainer = train.Trainer(tmp_path / "recipe.json", corpus, tmp_path / "run", False)
        if share == before:
            trainer.run(save_every=1000, until=0.0)
    with pytest.raises(SystemExit, match=f"was trained {message}"):
        trainer.resume()


@pytest.mark.parametrize("shared", [False, True])
def test_embedding_deviation_scales_the_first_values_once(corpus, tmp_path, shared):  # noqa: F811
    recipe, models = copy.deepcopy(RECIPE), []
    recipe["encoder"]["embedding_shared"] = shared
    recipe["training"]["vocabulary"] += 5 * shared  # the letters of both languages
    for deviation in (1.0, 0.25):
        recipe["training"]["embedding_deviation"] = deviation
        (tmp_path / "recipe.json").write_text(json.dumps(recipe))
        models.append(train.Trainer(tmp_path / "recipe.json", corpus, tmp_path / "run", False).model.state_dict())
    for name, value in models[0].items():
        assert torch.equal(models[1][name], value * 0.25 if "embedding" in name or name == "output.weight" else value)


def test_subword_sampling_needs_pieces(corpus, tmp_path):  # noqa: F811
    recipe = copy.deepcopy(RECIPE) | {"tokenizer": {"type": "words", "source": "source.vocab",
                                                    "target": "target.vocab"}}
    recipe["training"]["subword_sampling"] = 0.3
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    with pytest.raises(SystemExit, match="training.subword_sampling: needs tokenizer.type sentencepiece and "
                                         "output.type vocabulary"):
        train.Trainer(tmp_path / "recipe.json", corpus, tmp_path / "run", False)


def test_recipe_misses_a_key(tmp_path):
    recipe = copy.deepcopy(RECIPE)
    del recipe["training"]["clip"]
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    with pytest.raises(SystemExit, match="training.clip: missing"):
        train.load_recipe(tmp_path / "recipe.json")


def test_methods_resume_step_for_step(corpus, tmp_path, monkeypatch):  # noqa: F811
    recipe = copy.deepcopy(RECIPE)
    recipe["training"] |= {"scheduled_sampling": 0.8, "subword_sampling": 0.1, "vocabulary": 27, "coverage_loss": 0.5,
                           "guided_attention": 0.5, "guide": "lexical", "averaging": 0.1}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    for name in ("train.tsv.gz", "valid.tsv.gz"):
        (tmp_path / name).write_bytes((corpus / name).read_bytes())
    whole = _losses(tmp_path, tmp_path / "whole", monkeypatch)
    parts = []
    for stop in (7, 8, None):
        parts += _losses(tmp_path, tmp_path / "parts", monkeypatch, stop)
    assert len(whole) > 15 and parts == whole
    averages = [torch.load(tmp_path / run / "checkpoint.pt")["average"] for run in ("whole", "parts")]
    assert all(torch.equal(value, averages[1][name]) for name, value in averages[0].items())


def test_subword_sampling_draws_other_pieces_of_the_same_text(corpus, tmp_path):  # noqa: F811
    recipe = copy.deepcopy(RECIPE)
    recipe["training"] |= {"subword_sampling": 0.1, "vocabulary": 27}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    trainer = train.Trainer(tmp_path / "recipe.json", corpus, tmp_path / "run", False)
    (first, batches), (again, _), (second, _) = (trainer.epoch_pairs(epoch) for epoch in (0, 0, 1))
    assert first == again and first != second != trainer.pairs
    assert [trainer.target.decode(t) for _, t in first] == [trainer.target.decode(t) for _, t in trainer.pairs]
    assert [trainer.source.decode(s.ids) for s, _ in first] == [trainer.source.decode(s.ids) for s, _ in trainer.pairs]
    assert sorted(i for batch in batches for i in batch) == list(range(len(first)))


def test_budget_stops_and_goes_on(corpus, tmp_path, monkeypatch):  # noqa: F811
    trainer = train.Trainer(corpus / "recipe.json", corpus, tmp_path, False)
    trainer.run(save_every=1000, until=0.0)
    assert trainer.step == 1 and not trainer.finished()
    again = train.Trainer(corpus / "recipe.json", corpus, tmp_path, False)
    again.resume()
    assert again.step == 1
    again.run(save_every=1000)
    assert again.finished() and again.epoch == 2


def test_resume_and_export_fill_in_what_is_new(corpus, tmp_path):  # noqa: F811
    """A run that is older than a key resumes with the key's default."""
    trainer = train.Trainer(corpus / "recipe.json", corpus, tmp_path, False)
    trainer.run(save_every=1000)
    for name in ("checkpoint.pt", "best.pt"):
        saved = torch.load(tmp_path / name)
        del saved["config"]["decoder"]["input_feeding"]
        torch.save(saved, tmp_path / name)
    again = train.Trainer(corpus / "recipe.json", corpus, tmp_path, False)
    again.resume()
    assert again.finished()
    assert export.export(tmp_path, tmp_path / "model", "float32").exists()

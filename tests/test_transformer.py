"""Transformers in PyTorch: python3 -m pytest -q tests/test_transformer.py

Worked examples, independent formulas, and that stepping and teaching, single sentences and batches agree.
"""

import sys
from pathlib import Path

import numpy
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from weights.model import config as configuration  # noqa: E402
from weights.model import transformer  # noqa: E402
from weights.training import methods, train  # noqa: E402
from weights.model.copies import Source  # noqa: E402
from weights.golden.cases import TRANSFORMERS  # noqa: E402
from weights.model.network import Model  # noqa: E402
from weights.model.transformer import Heads, sinusoids, slopes  # noqa: E402


def heads(size: int, count: int) -> Heads:
    return Heads({"hidden": size, "heads": count, "head_size": 0, "biases": True, "scaled_scores": True, "norm": "post",
                  "norm_type": "layer", "positions": "none", "epsilon": 1e-6}, size, 0.0)


@torch.no_grad()
@pytest.mark.parametrize("training", (False, True))
def test_self_attention_by_hand(training):
    """Two tokens of three numbers; queries, keys and values have two (the third is zero, for which the weights
    compensate in the scale)."""
    tokens = torch.tensor([[[1.0, 0, 1], [0, 2, 0]]])
    attention = heads(3, 1).train(training)
    for linear in (attention.query, attention.key, attention.value, attention.output):
        linear.weight.zero_()
        linear.bias.zero_()
    attention.query.weight[:2] = torch.tensor([[1.0, 1, 0], [0, 0, 1]]) * 1.5**0.5
    attention.key.weight[:2] = torch.tensor([[0.0, 1, 0], [1, 0, 1]])
    attention.value.weight[:2] = torch.tensor([[0.0, 1, 1], [1, 0, 1]])
    attention.output.weight.copy_(torch.eye(3))
    y, weights = attention.look(tokens, attention.key(tokens), attention.value(tokens),
                                torch.ones(1, 1, 2, dtype=torch.bool))
    e = torch.tensor([[2.0, 2], [0, 4]]) / 2**0.5
    torch.testing.assert_close(weights[0, 0], torch.softmax(e, dim=-1))
    torch.testing.assert_close(weights[0, 0], torch.tensor([[0.5, 0.5], [0.0558, 0.9442]]), atol=1e-4, rtol=0)
    torch.testing.assert_close(y[0, :, :2], torch.tensor([[1.5, 1.0], [1.9442, 0.1116]]), atol=1e-4, rtol=0)


@torch.no_grad()
def test_many_heads_are_each_their_own():
    """Each head attends with its own columns, independently of the others."""
    torch.manual_seed(1)
    attention, x = heads(6, 3), torch.randn(1, 4, 6)
    _, weights = attention.look(x, attention.key(x), attention.value(x), torch.ones(1, 1, 4, dtype=torch.bool))
    q, k = attention.query(x)[0], attention.key(x)[0]
    for h in range(3):
        part = slice(2 * h, 2 * h + 2)
        torch.testing.assert_close(weights[0, h], torch.softmax(q[:, part] @ k[:, part].T / 2**0.5, dim=-1))


def test_positions():
    """All sines, then all cosines, with wavelengths up to 2 pi 10000."""
    table = sinusoids(torch.arange(3, dtype=torch.float64), 8)
    for t in range(3):
        angles = t * numpy.array([1, 10000 ** (-1 / 3), 10000 ** (-2 / 3), 1e-4])
        numpy.testing.assert_allclose(table[t], numpy.concatenate([numpy.sin(angles), numpy.cos(angles)]), atol=1e-12)


def test_slopes():
    """Press et al. 2022: for eight heads 1/2 to 1/256; for three heads those of two, and the first of four."""
    numpy.testing.assert_allclose(slopes(8), 0.5 ** numpy.arange(1, 9))
    numpy.testing.assert_allclose(slopes(3), [1 / 16, 1 / 256, 1 / 4])
    numpy.testing.assert_allclose(slopes(6), [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8])


@pytest.mark.parametrize("case", TRANSFORMERS, ids=lambda case: case.name)
@torch.no_grad()
def test_steps_and_company(case):
    """Teacher forcing gives the same as single steps, and neither depends on the other sentences of the batch."""
    torch.manual_seed(3)
    model = Model(case.config, 20, 20, characters=20 if case.config["output"]["type"] == "characters"
                  else 0).double().eval()
    source, lengths = torch.randint(3, 20, (3, 7)), torch.tensor([7, 4, 6])
    inputs = torch.randint(3, 20, (3, 5))
    words = torch.randint(3, 20, (3, 7)) if model.output.copies else None
    memory, start = model.encode(source, lengths, words)
    together = model.teach(inputs, start, memory)
    for row in range(3):
        alone, begin = model.encode(source[row:row + 1, :lengths[row]], lengths[row:row + 1], None if words is None
                                    else words[row:row + 1, :lengths[row]])
        taught, state = model.teach(inputs[row:row + 1], begin, alone), begin
        torch.testing.assert_close(taught.readouts[0], together.readouts[row])
        torch.testing.assert_close(taught.weights[0], together.weights[row, :, :lengths[row]])
        for i in range(5):
            reads, state = model.look(inputs[row:row + 1, i], i == 0, state, alone)
            torch.testing.assert_close(reads.readouts[0, 0], taught.readouts[0, i])
            torch.testing.assert_close(reads.weights[0, 0], taught.weights[0, i])


@pytest.mark.parametrize("case",
                         [case for case in TRANSFORMERS if not Model(case.config, 20, 20, characters=20).output.copies],
                         ids=lambda case: case.name)
def test_training_computes_the_same(case, monkeypatch):
    """The C kernels give the same values and gradients as PyTorch, including those of the attention."""
    torch.manual_seed(3)
    model = Model(case.config, 20, 20, characters=20).train()
    train.shrink_embeddings(model, 0.25)
    source, lengths, inputs = torch.randint(3, 20, (3, 7)), torch.tensor([7, 4, 6]), torch.randint(3, 20, (3, 5))
    reads, weights = torch.randn(3, 5, 1), torch.rand(3, 5, 7)

    def taught() -> list[torch.Tensor]:
        model.zero_grad(set_to_none=True)
        memory, start = model.encode(source, lengths)
        made = model.teach(inputs, start, memory)
        ((made.readouts * reads).sum() + (made.weights * weights).sum()).backward()
        return [made.readouts, made.weights, *(p.grad for p in model.parameters() if p.grad is not None)]

    fast = taught()
    monkeypatch.setattr(transformer, "suits", lambda x: False)
    plain = taught()
    assert len(fast) == len(plain) > 10
    for one, other in zip(fast, plain):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_every_row_has_a_case():
    """Every mixer, activation, norm and kind of positions, and both kinds of hybrids."""
    sections = [section for case in TRANSFORMERS for section in (case.config["encoder"], case.config["decoder"])
                if "heads" in section]
    for key, values in (("mixer", transformer.MIXERS), ("activation", transformer.ACTIVATIONS),
                        ("norm", ("post", "pre")),
                        ("positions", configuration.SECTIONS["encoder"]["positions"].allowed)):
        assert {section[key] for section in sections if key in section} == set(values)
    pairs = {(case.config["encoder"]["type"], case.config["decoder"]["style"]) for case in TRANSFORMERS}
    assert {("transformer", "conditional"), ("recurrent", "transformer"), ("convolutional", "transformer")} <= pairs


def test_guided_attention_trains_the_shown_head():
    """The loss reaches the queries of the reported head in its layer, but not those of the last layer."""
    case = next(case for case in TRANSFORMERS if case.name == "transformer-alignment-layer")
    settings = methods.DEFAULTS | {"guided_attention": 1.0}
    pairs = [(Source([5, 6, 2], [], []), [7, 8])]
    method = methods.Methods(case.config, settings, pairs)
    torch.manual_seed(1)
    model = Model(case.config, 20, 20)
    memory, start = model.encode(torch.tensor([[5, 6, 2]]), torch.tensor([3]))
    reads = model.teach(torch.tensor([[1, 7, 8]]), start, memory)
    method.attention_loss(reads.weights, pairs, torch.ones(1, 3, dtype=torch.bool), 0.5).backward()
    rows = model.decoder.crosses[0].query.weight.grad.abs().sum(1).reshape(4, -1).sum(1)
    assert rows[2] > 0 and rows[[0, 1, 3]].max() == 0
    assert (model.decoder.crosses[2].query.weight.grad is None or model.decoder.crosses[2].query.weight.grad.abs().max()
            == 0)

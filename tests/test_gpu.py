"""Compares the training kernels for a GPU with PyTorch's arithmetic. Skipped without a GPU, as on the machines that
test every change."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("no GPU", allow_module_level=True)

from weights.model.network import Model  # noqa: E402
from weights.training import broad, fused, kernels, methods, train  # noqa: E402
from weights.training.gpu import GpuKernels  # noqa: E402

RECIPE = Path(__file__).parent.parent / "weights/recipes/en-fr-broad.json"


@pytest.fixture
def on_device() -> GpuKernels:
    return GpuKernels(torch.zeros(1, dtype=torch.int64, device="cuda"))


def test_gradients_are_the_models(on_device: GpuKernels) -> None:
    """In bfloat16, the error of each gradient is within 2% of the norm of its tensor's gradient."""
    torch.manual_seed(1)
    model = Model(broad.load_recipe(RECIPE)[0], 8000, 8000, dropout=0.0).train()
    train.shrink_embeddings(model, 0.0625)
    model = model.cuda()
    rows, tokens, steps = 48, 20, 20
    lengths, targets = torch.randint(5, tokens + 1, (rows,)), torch.randint(4, steps + 1, (rows,))
    lengths[0], targets[0] = tokens, steps
    ids, inputs, wanted = (torch.randint(3, 8000, (rows, size)).cuda() for size in (tokens, steps, steps))
    wanted[torch.arange(steps) >= targets[:, None]] = -100
    guide = (torch.rand(rows, steps, tokens) * (torch.arange(tokens) < lengths[:, None])[:, None]).cuda()
    guide = guide / guide.sum(2, keepdim=True) * (wanted != -100)[:, :, None]

    def gradients(loss: torch.Tensor, attention: torch.Tensor) -> dict[str, torch.Tensor]:
        model.zero_grad()
        (loss + methods.guided_loss(attention, guide)).backward()
        return {name: p.grad.clone() for name, p in model.named_parameters()}

    memory, state = model.encode(ids, lengths)
    reads = model.teach(inputs, state, memory)
    plain = train.written_loss(model, reads, wanted, wanted != -100, 0.1)
    expected = gradients(plain, reads.weights)
    loss, _, attention = fused.Fused(model, kernels=on_device).loss(ids, lengths.cuda(), inputs, wanted, 0.1)
    assert loss.item() == pytest.approx(plain.item(), rel=3e-3)
    assert ((attention - reads.weights) * (wanted != -100)[:, :, None]).abs().max() < 1e-3
    for name, gradient in gradients(loss, attention).items():
        assert (gradient - expected[name]).norm() <= 0.02 * expected[name].norm() + 1e-4, name


def test_masks_and_draws_follow_from_the_clock(on_device: GpuKernels) -> None:
    x = torch.randn(4096, 512, device="cuda").bfloat16().requires_grad_()
    y = kernels.Dropped.apply(on_device, x, 0.15)
    y.sum().backward()
    assert (y == 0).float().mean().item() == pytest.approx(0.15, abs=0.003) and ((x.grad == 0) == (y == 0)).all()
    drawn, again = (torch.empty(100_000, dtype=torch.int64, device="cuda") for _ in range(2))
    for out in (drawn, again):
        on_device.salt = 0
        on_device.draw(torch.tensor([1000], dtype=torch.int32, device="cuda"), out)
    assert (drawn == again).all() and 0 <= drawn.min() < 5 and 995 < drawn.max() < 1000
    on_device.clock += 1
    on_device.salt = 0
    on_device.draw(torch.tensor([1000], dtype=torch.int32, device="cuda"), again)
    assert (drawn != again).any()

"""What is known of models."""

from __future__ import annotations

import pytest

from mewcode.core.message import Usage
from mewcode.providers.catalog import Catalog, ModelInfo, ModelOverride, Price


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load()


def test_the_data_file_is_whole(catalog: Catalog) -> None:
    for name in catalog.names():
        model = catalog.find(name)
        assert model.name == name
        assert 0 < model.max_output <= model.context_window
        assert model.price is None or model.price.input <= model.price.output
        assert (model.thinking == "effort") <= name.startswith(("gpt-", "o"))
        assert (model.thinking in ("adaptive", "budget")) == name.startswith("claude-")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("anthropic/claude-opus-4-5", "claude-opus-4-5"),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("openai/gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("GPT-4o", "gpt-4o"),
        ("moonshotai/kimi-k2-thinking", "kimi-k2"),
    ],
)
def test_a_dated_or_prefixed_name_has_its_familys_entry(catalog: Catalog, name: str, family: str) -> None:
    found, known = catalog.find(name), catalog.find(family)
    assert found.name == name
    assert (found.context_window, found.price, found.thinking) == (
        known.context_window, known.price, known.thinking,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", "llama3.2:3b", "gpt-4oo", "o3x", "claude"])
def test_an_unknown_model_has_safe_defaults(catalog: Catalog, name: str) -> None:
    assert catalog.find(name) == ModelInfo(name=name)


def test_the_users_word_counts_most(catalog: Catalog) -> None:
    override = ModelOverride(context_window=32_000, vision=False, schema=False, price=Price(1, 2))
    model = catalog.find("gpt-4o", override)
    assert (model.context_window, model.vision, model.price) == (32_000, False, Price(1, 2))
    assert catalog.find("gpt-4o").schema
    assert not model.schema
    assert model.max_output == catalog.find("gpt-4o").max_output


def test_cost() -> None:
    usage = Usage(1_000_000, 100_000, 2_000_000, 500_000)
    assert ModelInfo().cost(usage) is None
    assert ModelInfo(price=Price(2, 10, 0.2, 2.5)).cost(usage) == pytest.approx(2 + 1 + 0.4 + 1.25)
    assert ModelInfo(price=Price(2, 10)).cost(usage) == pytest.approx(2 + 1 + 4 + 1)

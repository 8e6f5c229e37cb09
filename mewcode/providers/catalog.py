"""What is known of models: a data file (`models.json`), safe defaults for the unknown, the user's own word.

The file is JSON because reading YAML would cost more than twice the start of a bare interpreter. Prices are
US dollars for a million tokens, from the providers' public price lists of November 2026.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from mewcode.core.message import Usage

ThinkingStyle = Literal["none", "adaptive", "budget", "effort"]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0


class ModelInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``context_window`` and ``max_output`` in tokens. ``thinking``: how the model is asked to think
    (Anthropic: adaptive or a budget; Chat Completions: an effort), "none" says nothing about it.
    ``schema``: whether its service holds its answers to a JSON schema.

    The defaults are those of an unknown model: a window every current model has, no images, no price.
    """

    name: str = ""
    context_window: int = 128_000
    max_output: int = 8_192
    vision: bool = False
    thinking: ThinkingStyle = "none"
    temperature: bool = True
    schema: bool = False
    price: Price | None = None

    @property
    def is_unknown(self) -> bool:
        """Neither the catalogue nor the user said anything of this model."""
        return msgspec.structs.replace(self, name="") == ModelInfo()

    def cost(self, usage: Usage) -> float | None:
        """US dollars for ``usage``, None where the price is unknown."""
        if self.price is None:
            return None
        price = self.price
        return (
            usage.input_tokens * price.input
            + usage.output_tokens * price.output
            + usage.cache_read_tokens * (price.cache_read or price.input)
            + usage.cache_write_tokens * (price.cache_write or price.input)
        ) / 1_000_000


class ModelOverride(msgspec.Struct, frozen=True):
    """What the user's config says of a model; None leaves the catalogue's word."""

    context_window: int | None = None
    max_output: int | None = None
    vision: bool | None = None
    thinking: ThinkingStyle | None = None
    temperature: bool | None = None
    schema: bool | None = None
    price: Price | None = None


class Catalog:
    """The models of the data file, found by exact name or by the longest prefix that is a family."""

    def __init__(self, models: dict[str, ModelInfo]) -> None:
        self._models = models

    @classmethod
    def load(cls) -> Catalog:
        data = Path(__file__).with_name("models.json").read_bytes()
        return cls(msgspec.json.decode(data, type=dict[str, ModelInfo]))

    def names(self) -> tuple[str, ...]:
        """Known names, the preferred ones first."""
        return tuple(self._models)

    def find(self, name: str, override: ModelOverride | None = None) -> ModelInfo:
        """What is known of ``name``. A dated or prefixed name (``anthropic/claude-opus-5-5-20261001``)
        has its family's entry."""
        # Bedrock's names begin with a region and the maker: ``eu.anthropic.claude-...``.
        bare = name.rsplit("/", 1)[-1].lower().rpartition("anthropic.")[2]
        family = max(
            (known for known in self._models if bare == known or bare.startswith((f"{known}-", f"{known}@"))),
            key=len,
            default="",
        )
        info = msgspec.structs.replace(self._models.get(family, ModelInfo()), name=name)
        if override is None:
            return info
        said = {
            field: value
            for field in override.__struct_fields__
            if (value := getattr(override, field)) is not None
        }
        return msgspec.structs.replace(info, **said)

"""The system prompt: rendered once, and then the same to the byte, so that the provider's cache holds."""

from __future__ import annotations

from collections.abc import Iterable

from mewcode.prompt.module import PromptModule, section

FIXED_SECTIONS = (
    section("identity", 10),
    section("tone", 20),
    section("work", 30),
    section("tools", 40),
    section("safety", 50),
)


def fixed_modules(replace: str | None, append: str | None) -> tuple[PromptModule, ...]:
    """The parts that are the same for every session. ``replace`` stands in place of ours, ``append`` behind
    them."""
    own = FIXED_SECTIONS if replace is None else (_written("replace", 10, replace),)
    return own if append is None else (*own, _written("append", 55, append))


def _written(key: str, priority: int, text: str) -> PromptModule:
    return PromptModule(f"system_prompt.{key}", priority, "fixed", lambda: text.strip(), "the config")


def build_prompt(modules: Iterable[PromptModule]) -> tuple[str, ...]:
    """Two texts, neither empty: what is the same for everyone, and what belongs to this session. The first
    can be cached across sessions."""
    return join_sections(render_sections(modules))


def render_sections(modules: Iterable[PromptModule]) -> list[tuple[PromptModule, str]]:
    """The modules in their order, each with its text now; it may be empty."""
    ordered = sorted(modules, key=lambda module: (module.priority, module.name))
    return [(module, module.render()) for module in ordered]


def join_sections(sections: Iterable[tuple[PromptModule, str]]) -> tuple[str, ...]:
    """What `build_prompt` gives, of modules that are rendered already."""
    parts = list(sections)
    texts = (
        "\n\n".join(text for module, text in parts if text and module.stability == kind)
        for kind in ("fixed", "session")
    )
    return tuple(text for text in texts if text)

"""The shape of the configuration: every key there is, its type, its default.

Layers are checked against `Settings`. `Config` is the merged result and knows where each value came from.
``description`` of a type is what an error says was expected.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from mewcode.core.access import Mode

Protocol = Literal["anthropic", "openai", "bedrock", "vertex"]
Theme = Literal["auto", "light", "dark", "high-contrast", "no-color"]
Level = Literal["user", "project", "local", "extra", "flags"]

Name = Annotated[str, Meta(min_length=1, description="text")]
Count = Annotated[int, Meta(gt=0, description="a whole number above 0")]
Tokens = Annotated[int, Meta(ge=0, description="a number of tokens, 0 or more")]
Seconds = Annotated[float, Meta(gt=0, description="a number of seconds above 0")]
Usd = Annotated[float, Meta(ge=0, description="a number of US dollars, 0 or more")]
Url = Annotated[str, Meta(pattern="^https?://[^/]", description="a URL that starts with http:// or https://")]
EnvName = Annotated[
    str,
    Meta(
        pattern="^[A-Za-z_][A-Za-z0-9_]*$",
        description="the name of an environment variable (never the key itself)",
    ),
]


class ProviderConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One service that models are reached through. What is None keeps what the name implies.

    ``headers`` are sent with every request; ``api_key_env`` names the variable that holds the key.
    """

    protocol: Protocol | None = None
    base_url: Url | None = None
    api_key_env: EnvName | None = None
    headers: dict[str, str] = {}


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars for a million tokens; None where unknown."""

    input: Usd | None = None
    output: Usd | None = None
    cache_read: Usd | None = None
    cache_write: Usd | None = None


class ModelConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model can do, over what the catalogue says; None keeps the catalogue's word.

    ``context_window`` and ``max_output`` in tokens; ``temperature``: whether the model takes one;
    ``schema``: whether its service holds answers to a JSON schema.
    """

    context_window: Count | None = None
    max_output: Count | None = None
    vision: bool | None = None
    thinking: bool | None = None
    price: Price | None = None
    temperature: bool | None = None
    schema: bool | None = None


class PermissionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules as written, such as ``bash(git *)``; the permission policy knows their syntax."""

    mode: Mode = "default"
    allow: list[Name] = []
    ask: list[Name] = []
    deny: list[Name] = []


class UiConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``title``: the terminal's title says what is worked on. ``notify``: a bell or a notification when a
    long turn ends or asks while the window is not in front. ``plain``: lines only, for screen readers.
    ``vi_mode``: the input is edited with vi's keys."""

    theme: Theme = "auto"
    title: bool = True
    notify: bool = True
    plain: bool = False
    vi_mode: bool = False


class ShellConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Time limits of a command in seconds: where the model names none, and the most it may name."""

    timeout: Seconds = 120
    max_timeout: Seconds = 600


class InstructionsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``include_roots``: folders that instructions may include from, beside their own; only the user's own
    config may name them. ``~`` is the user's home; a relative one counts from the user folder."""

    include_roots: list[Name] = []


class MemoryConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``enabled``: notes are read and written at all. ``daily_token_limit``: tokens a day that may be spent
    on keeping them, 0 for none; ``model``: the model that is asked then, in place of ``small_model``.
    ``max_notes``: how many a level keeps in force. ``guard``: an action that notes or instructions speak
    against is asked about first. ``selector``: whether a model chooses notes beside each turn, or what is
    found without one suffices; by default one does where one is named here or as ``small_model``."""

    enabled: bool = True
    daily_token_limit: Tokens = 200_000
    max_notes: Count = 1_000
    model: Name | None = None
    guard: bool = True
    selector: Literal["model", "local"] | None = None


class KnowledgeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``paths``: files and folders that are searched as documents, those of all levels together. ``~`` is the
    user's home; a relative one counts from the workspace's root."""

    paths: list[Name] = []


class SystemPromptConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``append``: text behind the system prompt's fixed part. ``replace``: text in place of that part."""

    append: Name | None = None
    replace: Name | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All keys a config file may hold.

    The mappings of any content belong to parts that check them themselves.
    """

    model: Name | None = None
    small_model: Name | None = None
    provider: Name | None = None
    providers: dict[str, ProviderConfig] = {}
    models: dict[str, ModelConfig] = {}
    permissions: PermissionConfig = PermissionConfig()
    memory: MemoryConfig = MemoryConfig()
    sessions: dict[str, Any] = {}
    instructions: InstructionsConfig = InstructionsConfig()
    system_prompt: SystemPromptConfig = SystemPromptConfig()
    knowledge: KnowledgeConfig = KnowledgeConfig()
    sandbox: dict[str, Any] = {}
    hooks: dict[str, Any] = {}
    ui: UiConfig = UiConfig()
    shell: ShellConfig = ShellConfig()
    max_turns: Count = 100


class Config(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The layers merged. ``permissions.allow``, ``ask`` and ``deny`` hold the rules of all levels, lowest
    level first; ``permissions_by_level`` holds each level's own (``mode`` there is that level's word or the
    default: what counts is ``permissions.mode``).
    """

    permissions_by_level: dict[Level, PermissionConfig] = {}
    origins: dict[tuple[str, ...], str] = {}

    def origin(self, key: str) -> str:
        """Where a value was set: ``user config ~/.mewcode/config.yaml:3``, ``flag --model``, ``default``.

        ``key`` is dotted; a rule is found by its place (``permissions.deny.0``). For a mapping or a list,
        the places of all that is in it; for a part of one value, the place of that value.
        """
        places = {".".join(path): place for path, place in self.origins.items()}
        if key in places:
            return places[key]
        # Names of models and providers may hold dots: parts are compared as parts.
        below = dict.fromkeys(
            place
            for path, place in self.origins.items()
            if any(".".join(path[:size]) == key for size in range(1, len(path)))
        )
        if below:
            return ", ".join(below)
        while "." in key:
            key = key.rpartition(".")[0]
            if key in places:
                return places[key]
        return "default"

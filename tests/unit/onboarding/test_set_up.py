"""The set-up's questions, with a person in memory: what is asked, tried and kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.config.key_store import KeyStore
from mewcode.config.schema import Config, ProviderConfig
from mewcode.infra.paths import Places
from mewcode.onboarding.console import Left, choose
from mewcode.onboarding.model_choice import choose_model, ordered
from mewcode.onboarding.screen import Chosen, SetupScreen
from mewcode.onboarding.service_choice import address_problem, name_of
from mewcode.onboarding.try_key import Trial, list_models, send_message
from mewcode.providers.base import Endpoint
from mewcode.providers.presets import presets
from mewcode.providers.registry import BUILT_IN, Service
from tests.support.fake_llm import FakeLLM, Reply


class Person:
    """Answers by the words of the question: a list of (part of the question or option, answer). For a list
    of options the answer is the text of one."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.said: list[str] = []
        self.hidden: list[str] = []

    def say(self, text: str = "") -> None:
        self.said += text.split("\n")

    def ask(self, question: str) -> str:
        self.said.append(question)
        if not self.answers:
            raise Left
        wanted = self.answers.pop(0)
        numbers = [line.split()[0] for line in self.said if line.lstrip()[:1].isdigit() and wanted in line]
        return numbers[-1] if wanted and question.startswith("Number") and numbers else wanted

    def ask_hidden(self, question: str) -> str:
        self.hidden.append(question)
        if not self.answers:
            raise Left
        return self.answers.pop(0)


def set_up(
    tmp_path: Path, person: Person, *, environ=None, config: Config | None = None, local: str | None = None
) -> Chosen:
    places = Places(tmp_path, tmp_path, tmp_path / "user", tmp_path / ".mewcode")
    keys = KeyStore(places.user, None)
    return SetupScreen(person, places, environ or {}, config or Config(), keys, lambda: local).run()


def kept(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "user/credentials.json"
    if not path.exists():
        return {}
    return {name: entry["key"] for name, entry in json.loads(path.read_text())["keys"].items()}


def written(tmp_path: Path) -> str:
    return (tmp_path / "user/config.yaml").read_text()


def at(url: str, name: str = "deepseek", **more: str) -> Config:
    return Config(providers={name: ProviderConfig(base_url=url, **more)})


def test_the_local_server_that_answers_is_offered_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mewcode.onboarding.screen.list_models", lambda service, limit: Trial(("qwen3",)))
    person = Person("", "")
    chosen = set_up(tmp_path, person, local="http://127.0.0.1:11434/v1")
    assert person.said[2].strip().startswith("1  Ollama on this machine: it answers at")
    assert chosen == Chosen("ollama", "qwen3")
    assert written(tmp_path) == "provider: ollama\nmodel: qwen3\n"


def test_a_known_service_with_a_typed_key(tmp_path: Path, fake_llm: FakeLLM) -> None:
    fake_llm.api_key = "sk-1"
    person = Person("Another service", "DeepSeek", "sk-1", "fake-small")
    assert set_up(tmp_path, person, config=at(fake_llm.openai_url)) == Chosen("deepseek", "fake-small")
    assert person.hidden == ["API key of DeepSeek (not shown): "]
    assert kept(tmp_path) == {"deepseek": "sk-1"}
    assert written(tmp_path) == "provider: deepseek\nmodel: fake-small\n"
    assert not any("sk-1" in line for line in person.said)


def test_a_key_of_the_environment_is_used_and_not_kept(tmp_path: Path, fake_llm: FakeLLM) -> None:
    person = Person("Another service", "DeepSeek", "")
    environ = {"DEEPSEEK_API_KEY": "sk-env"}
    assert set_up(tmp_path, person, environ=environ, config=at(fake_llm.openai_url)).model == "fake-large"
    assert (person.hidden, kept(tmp_path)) == ([], {})
    assert "The key is taken from DEEPSEEK_API_KEY." in person.said
    assert fake_llm.requests[-1].headers["authorization"] == "Bearer sk-env"


def test_a_kept_key_is_kept_by_enter(tmp_path: Path, fake_llm: FakeLLM) -> None:
    fake_llm.api_key = "sk-1"
    KeyStore(tmp_path / "user", None).keep("deepseek", fake_llm.openai_url, "sk-1")
    person = Person("Another service", "DeepSeek", "", "")
    assert set_up(tmp_path, person, config=at(fake_llm.openai_url)).provider == "deepseek"
    assert person.hidden == ["API key of DeepSeek (not shown; Enter: the one that is kept): "]


def test_a_refused_key_is_asked_for_again_in_two_lines(tmp_path: Path, fake_llm: FakeLLM) -> None:
    fake_llm.api_key = "sk-right"
    person = Person("Another service", "DeepSeek", "sk-wrong", "", "sk-right", "")
    assert set_up(tmp_path, person, config=at(fake_llm.openai_url)).provider == "deepseek"
    [place] = [number for number, line in enumerate(person.said) if "HTTP 401" in line]
    assert person.said[place + 1] == "Is it whole, and of this service?"
    assert kept(tmp_path) == {"deepseek": "sk-right"}


def test_another_service_can_be_taken_instead(tmp_path: Path, fake_llm: FakeLLM) -> None:
    config = at("http://127.0.0.1:9/v1")
    person = Person("Another service", "DeepSeek", "k", "Choose another service", "The demo")
    assert set_up(tmp_path, person, config=config) == Chosen(demo=True)
    assert not (tmp_path / "user").exists()


def test_an_account_elsewhere_has_another_address(tmp_path: Path) -> None:
    environ = {"MOONSHOT_API_KEY": "k", "HTTPS_PROXY": "http://127.0.0.1:9"}
    person = Person("Another service", "Moonshot", "in mainland China", "Keep it as it is", "kimi-k2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nothing leaves this machine
        assert set_up(tmp_path, person, environ=environ) == Chosen("moonshot", "kimi-k2")
    assert written(tmp_path).endswith("providers:\n  moonshot:\n    base_url: https://api.moonshot.cn/v1\n")


def test_the_key_of_another_service_is_not_sent_unasked(tmp_path: Path, fake_llm: FakeLLM) -> None:
    environ = {"OPENAI_API_KEY": "sk-openai"}
    person = Person("Any OpenAI-compatible", fake_llm.openai_url, "sk-own", "")
    set_up(tmp_path, person, environ=environ)
    assert person.hidden[0].endswith("(not shown; Enter: the one of OPENAI_API_KEY): ")
    assert {request.headers["authorization"] for request in fake_llm.requests} == {"Bearer sk-own"}


def test_where_the_list_is_public_a_word_is_asked_for(tmp_path: Path, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("hi"))
    person = Person("Another service", "OpenRouter", "sk-1", "fake-small")
    set_up(tmp_path, person, config=at(fake_llm.openai_url, "openrouter"))
    assert [request.model for request in fake_llm.generations] == ["fake-small"]


def test_leaving_keeps_nothing(tmp_path: Path) -> None:
    for answers in ((), ("q",), ("Anthropic",), ("Anthropic", "", "y"), ("Any OpenAI", "", "q")):
        with pytest.raises(Left):
            set_up(tmp_path, Person(*answers))
        assert not (tmp_path / "user").exists()


# The pieces.


def test_every_preset_is_complete() -> None:
    known = presets()
    assert set(known) == {
        "openai", "deepseek", "moonshot", "dashscope", "zhipu", "openrouter", "groq", "mistral", "gemini",
        "ollama", "lmstudio", "llamacpp", "vllm",
    }  # fmt: skip
    for preset in known.values():
        for url in (preset.base_url, *preset.elsewhere.values()):
            assert address_problem(url) == ""
            assert not url.endswith("/")
            assert url.startswith("https://" if preset.needs_key else "http://127.0.0.1:")
        assert preset.key_variable.endswith("_API_KEY")


@pytest.mark.parametrize(
    "url",
    ["", "models.example.com", "ftp://h/v1", "https://", "https://u:p@h/v1", "https://h/v1?key=1",
     "https://h/v1/chat/completions", "https://h:port/v1", "https://h /v1", "https://h/\x1b[2J"],
)  # fmt: skip
def test_what_is_no_address_is_told(url: str) -> None:
    assert address_problem(url)


@given(st.text(max_size=30))
def test_a_name_for_an_address_is_one_of_its_own(text: str) -> None:
    for url in (f"http://{text}/v1", text, f"https://{text}.example.com:8443"):
        if address_problem(url):
            continue
        name = name_of(url)
        assert name
        assert name[0].isalpha()
        assert name.replace("-", "").isalnum()
        assert name not in BUILT_IN
        assert name not in presets()


def test_a_services_own_name_is_not_taken() -> None:
    assert name_of("http://ollama/v1") == "my-ollama"
    assert name_of("http://openai:8000/v1") == "openai-8000"
    assert name_of("https://models.example.com/v1") == "models-example-com"


def test_models_for_conversation_come_first() -> None:
    models = ("text-embedding-3", "zz-chat", "gpt-5", "whisper-1", "claude-opus-5-5")
    assert ordered(models) == ["claude-opus-5-5", "gpt-5", "zz-chat", "text-embedding-3", "whisper-1"]


def test_a_model_by_number_name_or_part_of_it() -> None:
    models = [f"model-{number}" for number in range(40)]
    for answer, chosen in (("", "model-0"), ("3", "model-2"), ("model-17", "model-17"), ("-39", "model-39")):
        assert choose_model(Person(answer), models, "x") == chosen
    person = Person("model-3", "nonsense", "n", "new-one", "y")
    assert choose_model(person, models, "x") == "model-3"
    person = Person("1x", "n", "-2", "new-one", "y")
    assert choose_model(person, models, "x") == "new-one"
    assert any(line.startswith("Which: ") for line in person.said)
    assert "      and 28 more: type a name, or a part of one" in person.said
    assert choose_model(Person("typed"), (), "x") == "typed"
    assert choose_model(Person(), ("only",), "x") == "only"


@pytest.mark.parametrize("wrong", ["0", "4", "-1", "x", "²", "１"])
def test_a_number_that_is_none_is_asked_for_again(wrong: str) -> None:
    person = Person(wrong, "2")
    assert choose(person, "Which?", ("a", "b", "c")) == 1
    assert "Type a number from 1 to 3, or q to leave." in person.said


@pytest.fixture
def services(fake_llm: FakeLLM) -> list[Service]:
    return [
        Service("a", "anthropic", Endpoint(fake_llm.url, "k")),
        Service("o", "openai", Endpoint(fake_llm.openai_url, "k")),
    ]


def test_a_service_is_tried_with_one_small_request(services: list[Service], fake_llm: FakeLLM) -> None:
    for service in services:
        assert list_models(service, 10).models == ("fake-large", "fake-small")
        fake_llm.script(Reply.text("hi"))
        assert send_message(service, "fake-small", 10).error is None
    assert len(fake_llm.generations) == 2


def test_no_network_is_an_error_that_is_told() -> None:
    trial = list_models(Service("o", "openai", Endpoint("http://127.0.0.1:9/v1")), 10)
    assert trial.error is not None
    assert trial.error.hint
    assert send_message(Service("o", "openai", Endpoint("http://127.0.0.1:9/v1")), "m", 10).error is not None

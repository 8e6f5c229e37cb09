"""The tools by name, their schemas, and arguments as models send them."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from mewcode.core.errors import ToolError
from mewcode.core.outcome import ToolOutcome
from mewcode.tools.base import Tool
from mewcode.tools.edit_file import EditFileTool
from mewcode.tools.grep import GrepTool
from mewcode.tools.registry import Registry, builtin_tools, decode_args
from mewcode.tools.schema import MADE, schema_of
from tests.support.tool_schemas import made_schemas

NAMES = [
    "ask_user",
    "bash",
    "bash_output",
    "bash_stop",
    "edit_file",
    "glob",
    "grep",
    "list_dir",
    "read_file",
    "todo",
    "web_fetch",
    "write_file",
]


class Inner(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(description="What it is called.")]
    size: float = 1.0


class SampleArgs(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="A name.", min_length=1, max_length=5)]
    count: Annotated[int, Meta(description="How many.", ge=1, le=9)] | None = None
    inner: Annotated[list[Inner], Meta(max_length=2)] = []
    mode: Literal["fast", "slow"] = "fast"
    flag: bool = False
    one: Inner | None = None


class SampleTool(Tool[SampleArgs]):
    name = "sample"
    args_type = SampleArgs
    description = "A sample."

    async def run(self, args, context):
        return ToolOutcome.text("")


SAMPLE = SampleTool()


def decode(**args):
    return decode_args(SAMPLE, args)


def refused(**args):
    with pytest.raises(ToolError) as caught:
        decode(**args)
    return caught.value.message


def test_the_tools_are_sorted_and_frozen():
    registry = Registry(builtin_tools())
    assert [spec.name for spec in registry.specs()] == NAMES
    assert registry.specs() is registry.specs()
    assert Registry(reversed(builtin_tools())).specs() == registry.specs()


def test_two_tools_of_one_name_are_a_mistake():
    with pytest.raises(ValueError, match="sample"):
        Registry([SAMPLE, SampleTool()])


def walk(node):
    yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(value)


def test_schemas_are_inlined_and_closed():
    for spec in Registry(builtin_tools()).specs():
        assert spec.description
        assert spec.input_schema["type"] == "object"
        for node in walk(spec.input_schema):
            if not isinstance(node, dict):
                continue
            assert "$ref" not in node
            assert "anyOf" not in node
            if node.get("type") == "object":
                assert node["additionalProperties"] is False
        for name, field in spec.input_schema["properties"].items():
            assert field.get("description"), f"{spec.name}.{name} says nothing"


def test_a_schema_in_full():
    assert schema_of(SampleArgs) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "A name.", "minLength": 1, "maxLength": 5},
            "count": {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 9},
            "inner": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "description": "What it is called."},
                        "size": {"type": "number", "default": 1.0},
                    },
                    "required": ["title"],
                    "additionalProperties": False,
                },
                "maxItems": 2,
                "default": [],
            },
            "mode": {"enum": ["fast", "slow"], "default": "fast", "type": "string"},
            "flag": {"type": "boolean", "default": False},
            "one": {
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "What it is called."},
                    "size": {"type": "number", "default": 1.0},
                },
                "required": ["title"],
                "additionalProperties": False,
            },
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_get_and_nearest():
    registry = Registry(builtin_tools())
    assert registry.get("read_file").name == "read_file"
    assert registry.get("Read") is None
    assert registry.nearest("ReadFile") == "read_file"
    assert registry.nearest("Read") == "read_file"
    assert registry.nearest("str_replace") == "edit_file"
    assert registry.nearest("list-dir") == "list_dir"
    assert registry.nearest("qqqq") is None


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"count": "3"}, {"count": 3}),
        ({"count": 3.0}, {"count": 3}),
        ({"count": "3.0"}, {"count": 3}),
        ({"count": None, "inner": None, "flag": None}, {}),
        ({"name": 404}, {"name": "404"}),
        ({"flag": "true"}, {"flag": True}),
        ({"flag": "False"}, {"flag": False}),
        ({"inner": '[{"title": "t"}]'}, {"inner": [Inner("t")]}),
        ({"inner": {"title": "t"}}, {"inner": [Inner("t")]}),
        ({"inner": '{"title": "t"}'}, {"inner": [Inner("t")]}),
        ({"inner": ['{"title": "t", "size": "2"}']}, {"inner": [Inner("t", 2.0)]}),
        ({"one": '{"title": "t", "size": null}'}, {"one": Inner("t")}),
        ({"unknown": None}, {}),
    ],
)
def test_harmless_forms_are_taken(args, expected):
    assert decode(**{"name": "n", **args}) == SampleArgs(**{"name": "n", **expected})


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"name": None}, "name: expected text, got null"),
        ({"name": {"a": 1}}, "name: expected text, got an object; write it as text"),
        ({"name": ""}, "name: must not be empty"),
        ({"name": "toolong"}, "name: may hold at most 5 characters, got 7"),
        ({"count": "three"}, "count: expected a whole number, got text"),
        ({"count": 1.5}, "count: expected a whole number, got a number"),
        ({"count": True}, "count: expected a whole number, got true or false"),
        ({"count": 0}, "count: must be at least 1, got 0"),
        ({"count": "10"}, "count: must be at most 9, got 10"),
        ({"inner": "[oops"}, "inner: expected a list, got text"),
        ({"inner": [{"titel": "t"}]}, "inner[0].titel: no such field; did you mean title?"),
        ({"inner": [{"size": 1}]}, "inner[0].title: missing"),
        ({"inner": [{"title": "t"}] * 3}, "inner: may hold at most 2 items, got 3"),
        ({"mode": "quick"}, "mode: expected one of fast, slow, got quick"),
        ({"flag": "yes"}, "flag: expected true or false, got text"),
        ({"nam": "x"}, "nam: no such field; did you mean name? The fields are: name, count"),
        ({"qqq": 1}, "qqq: no such field. The fields are: name"),
    ],
)
def test_mistakes_are_named(args, words):
    said = refused(**{"name": "n", **args})
    assert words in said
    assert "Expected: sample(name: string, count?: integer, inner?: [{title: string, size?: number}]" in said


def test_several_mistakes_at_once():
    said = refused(file_name="x", count="many")
    assert "file_name: no such field; did you mean name?" in said
    assert "count: expected" in said
    assert "name: missing" in said


def test_real_tools():
    with pytest.raises(ToolError, match="did you mean path"):
        decode_args(EditFileTool(), {"file_path": "x", "edits": []})
    args = decode_args(GrepTool(), {"pattern": "x", "context": "2", "ignore_case": "true"})
    assert (args.context, args.ignore_case) == (2, True)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["name", "count", "inner", "mode", "flag", "one", "x"]), json_values))
def test_any_arguments_give_a_struct_or_words(args):
    try:
        assert isinstance(decode_args(SAMPLE, args), SampleArgs)
    except ToolError as error:
        assert "Expected: sample(" in error.message  # noqa: PT017 (either outcome is right)


def test_the_schemas_that_are_kept_are_those_of_the_tools() -> None:
    assert MADE.read_bytes() == made_schemas(), "make them anew: python -m tests.support.tool_schemas"

"""A first MEWCODE.md from what a project says of itself."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.instructions.first_draft import first_draft


def test_an_empty_folder_gives_a_title_and_a_question(tmp_path):
    root = tmp_path / "空项目"
    root.mkdir()
    assert first_draft(root) == (
        "# 空项目\n\n## Rules\n\n- (What must every change keep to? What was got wrong before?)\n"
    )


def test_a_python_project(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "shop"\n[tool.pytest.ini_options]\n[tool.ruff]\n'
    )
    (tmp_path / "README.md").write_text("# Shop\n\n![badge](x)\n\nSells things\nto people.\n\nMore.")
    (tmp_path / "Makefile").write_text("VAR := 1\ntest: build\n\tpytest\ndeploy:\n\trm\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / ".git").mkdir()
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "ci.yml").write_text("jobs: {a: {steps: [{run: 'pip install .\n\n# no\n\npytest -q'}]}}")
    draft = first_draft(tmp_path)
    assert draft.startswith("# shop\n\nSells things to people.\n\n## Commands\n\n- `make test`\n- `pytest`\n")
    assert "- `ruff check .`" in draft
    assert "deploy" not in draft
    assert "## What CI runs\n\n- `pip install .`\n- `pytest -q`\n" in draft
    assert "## Layout\n\n- `src/`\n\n## Rules" in draft


def test_a_node_project(tmp_path):
    scripts = {"test": "vitest `run`", "prepare": "husky", "dev": "vite"}
    (tmp_path / "package.json").write_text(json.dumps({"name": "web", "scripts": scripts}))
    (tmp_path / "yarn.lock").write_text("")
    draft = first_draft(tmp_path)
    assert "- `yarn test`: `` vitest `run` ``\n- `yarn dev`: `vite`" in draft
    assert "husky" not in draft


def test_what_is_broken_is_left_out(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project\n")
    (tmp_path / "package.json").write_text("[" * 100_000)
    (tmp_path / ".gitlab-ci.yml").write_text("a: [")
    (tmp_path / "README.md").mkdir()
    assert first_draft(tmp_path).startswith(f"# {tmp_path.name}\n")
    (tmp_path / "pyproject.toml").write_text("a = " + "9" * 10_000)
    assert first_draft(tmp_path).startswith(f"# {tmp_path.name}\n")


def test_a_link_out_of_the_project_is_not_read(tmp_path):
    (tmp_path / "secret").write_text("My words of nothing.")
    root = tmp_path / "project"
    root.mkdir()
    (root / "README.md").symlink_to(tmp_path / "secret")
    (root / "Makefile").symlink_to(root / "Makefile")
    assert "My words" not in first_draft(root)
    (root / "own").write_text("Sells things.")
    (root / "README.md").unlink()
    (root / "README.md").symlink_to("own")
    assert "Sells things." in first_draft(root)


def test_a_few_lines_that_name_a_value_a_billion_times(tmp_path):
    lines = ["a0: &a0 [{run: 'pytest'}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (tmp_path / ".gitlab-ci.yml").write_text("\n".join(lines))
    assert "## What CI runs\n\n- `pytest`\n\n" in first_draft(tmp_path)
    (tmp_path / ".gitlab-ci.yml").write_text("[" * 600 + "]" * 600)
    assert "CI" not in first_draft(tmp_path)


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from(["package.json", "Makefile", "README", "pyproject.toml"]), st.text(max_size=60)
    )
)
def test_any_content_gives_a_draft_of_printable_lines(tmp_path_factory, contents):
    root = tmp_path_factory.getbasetemp() / "draft"
    root.mkdir(exist_ok=True)
    for name in ["package.json", "Makefile", "README", "pyproject.toml"]:
        (root / name).write_text(contents.get(name, ""), encoding="utf-8", errors="replace")
    draft = first_draft(root)
    assert draft.startswith("# ")
    assert "\x1b" not in draft

"""The policy: the word on each tool call, before it runs.

In this order, the first that applies decides:

1. a deny rule of any level: denied, in every mode;
2. mode bypass: allowed;
3. mode plan: what may change something is denied;
4. an ask rule of any level: asked;
5. what is guarded (git's folder, MewCode's settings, start-up files): asked;
6. an allow rule, or what is free by default: allowed. Free are reads within the workspace, read-only commands
that stay within it, the to-do list, questions to the user, notes read and saved, documents and past sessions
searched; in mode accept-edits writes within it;
7. everything else: asked.

In mode dont-ask, what would be asked is denied. A deny or ask rule for ``read_file`` is meant for every
read of such a path, by any tool; one for ``write_file`` or ``edit_file`` for every write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mewcode.core.access import Access, CommandAccess, FetchAccess, Mode, ReadAccess, Verdict, WriteAccess
from mewcode.permissions.finding import Question, one_question
from mewcode.permissions.host_rules import HostPattern, parse_host_pattern, split_host
from mewcode.permissions.modes import PLAN_REASON
from mewcode.permissions.path_judge import WRITERS, ask_read, ask_write, hits_path
from mewcode.permissions.path_rules import PathPattern
from mewcode.permissions.rules import Rule, RuleSet
from mewcode.permissions.workspace import Workspace, below

if TYPE_CHECKING:
    from mewcode.permissions.command_judge import CommandJudge
    from mewcode.permissions.command_rules import Hit

SESSION = "session"  # the level of rules that hold until the program ends
# They touch nothing but the screen and what this session itself started; a note can be taken back.
_FREE_TOOLS = ("todo", "ask_user", "bash_output", "bash_stop", "save_note")
_FREE_IN_PLAN = ("todo", "ask_user", "bash_output")


class Policy:
    """Judges tool calls; see the module. ``mode`` may be set at any time.

    ``rules`` are by level, lowest first, as the config has them (user, project, local, flags). ``home`` is
    the user's home folder, ``user_dir`` MewCode's own folder. ``trusted_folder``: the user trusts the
    workspace, so git's read-only commands run freely though they may run what the repository's config
    names. ``results`` may be set to what gives the folder of the session's large tool results: the model may
    read there what it was shown in part, wherever that folder lies.
    """

    def __init__(
        self,
        workspace_root: Path,
        add_dirs: Sequence[Path] = (),
        mode: Mode = "default",
        rules: Mapping[str, RuleSet] | None = None,
        *,
        home: Path,
        user_dir: Path,
        trusted_folder: bool = False,
    ) -> None:
        self.mode: Mode = mode
        self.trusted_folder = trusted_folder
        self.results: Callable[[], Path] | None = None
        self._levels: dict[str, RuleSet] = dict(rules or {})
        self.workspace = Workspace(
            os.path.realpath(workspace_root),
            tuple(os.path.realpath(folder) for folder in add_dirs),
            os.path.realpath(home),
            os.path.realpath(user_dir),
        )

    def add_session_rule(self, rule: str, kind: Literal["allow", "ask", "deny"] = "allow") -> None:
        """Allows what ``rule`` covers until the program ends, or asks for it, or denies it. Raises
        ConfigError where it is no rule."""
        parsed = Rule.parse(rule)
        old = self._levels.get(SESSION, RuleSet())
        rules: tuple[Rule, ...] = getattr(old, kind)
        if parsed not in rules:
            kinds = {"allow": old.allow, "ask": old.ask, "deny": old.deny, kind: (*rules, parsed)}
            self._levels[SESSION] = RuleSet(**kinds)

    def remove_session_rule(self, rule: str) -> bool:
        """Takes a rule of this session back, of whichever kind; False where there is no such rule."""
        old = self._levels.get(SESSION, RuleSet())
        kept = {
            kind: tuple(known for known in getattr(old, kind) if known.text != rule.strip())
            for kind in ("allow", "ask", "deny")
        }
        new = RuleSet(**kept)
        self._levels[SESSION] = new
        return new != old

    def explain(self) -> list[tuple[str, str, str]]:
        """All rules as (level, kind, rule): deny first, then ask, then allow, as they are looked at."""
        return [
            (level, kind, rule.text)
            for kind in ("deny", "ask", "allow")
            for level, rules in self._levels.items()
            for rule in getattr(rules, kind)
        ]

    def judge(self, tool: str, read_only: bool, accesses: Sequence[Access]) -> Verdict:
        """The word on one call. Reads the file system's links and nothing else; never raises."""
        denied = self._hit("deny", tool, accesses)
        if denied and denied[1] == "yes":
            return Verdict(
                "deny", f"The rule {denied[0].text} denies this. Do not try to do it in another way."
            )
        if self.mode == "bypass":
            return Verdict("allow")
        if self.mode == "plan" and not self._fits_plan(tool, read_only, accesses):
            return Verdict("deny", PLAN_REASON)
        asked = denied or self._hit("ask", tool, accesses)
        if asked:
            doubt = "may apply" if asked[1] == "maybe" or denied else "asks first"
            question: Question | None = Question(f"the rule {asked[0].text} {doubt}")
        else:
            question = one_question(self._questions(tool, read_only, accesses))
        if question is None:
            return Verdict("allow")
        if self.mode == "dont-ask":
            return Verdict("deny", _not_asked(question))
        return Verdict("ask", question.reason, question.rule)

    def only_reads(self, accesses: Sequence[Access]) -> bool:
        """Whether a call runs nothing but built-in read-only commands, wherever they read. Never raises."""
        judge = self._command_judge([])
        return all(isinstance(access, CommandAccess) and judge.only_reads(access) for access in accesses)

    def may_show(self, path: str) -> bool:
        """Whether a search that was allowed may show text of the file at ``path`` (resolved): not where a
        deny or ask rule names it. Never raises."""
        accesses = [ReadAccess(path)]
        if self._hit("deny", "grep", accesses):
            return False
        return self.mode == "bypass" or not self._hit("ask", "grep", accesses)

    # --- what is wanted -----------------------------------------------------------------------------------

    def _questions(self, tool: str, read_only: bool, accesses: Sequence[Access]) -> Iterator[Question]:
        allow = list(self._rules("allow"))
        if not accesses:
            if tool not in _FREE_TOOLS and not (read_only and not tool.startswith("mcp__")):
                named = any(rule.names(tool) and rule.pattern is None for rule in allow)
                if not named:
                    yield Question(f"no rule allows the tool {tool}", tool if _is_rule(tool) else "")
            return
        for access in accesses:
            if isinstance(access, CommandAccess):
                yield from self._command_judge(allow).questions(access)
            elif isinstance(access, FetchAccess):
                if question := _ask_fetch(tool, access, allow):
                    yield question
            elif question := self._ask_path(tool, access, allow):
                yield question

    def _ask_path(self, tool: str, access: ReadAccess | WriteAccess, allow: list[Rule]) -> Question | None:
        path = self.workspace.resolve(access.path)
        if path is None or not os.path.isabs(access.path):
            return Question(f"{access.path!r} is no absolute path")
        is_result = self._is_result(path)
        if isinstance(access, ReadAccess):
            return None if is_result else ask_read(tool, path, allow, self.workspace)
        if is_result:
            return Question(f"{self.workspace.display(path)} is MewCode's record of your conversations")
        return ask_write(tool, path, allow, self.workspace, edits_free=self.mode == "accept-edits")

    def _is_result(self, path: str) -> bool:
        """Whether a resolved path lies in the folder of this session's results. That folder itself may have
        been put there as a link by whoever made the workspace: it is not followed."""
        if self.results is None:
            return False
        folder = self.results()
        return below(path, os.path.join(os.path.realpath(folder.parent), folder.name))

    def _command_judge(self, allow: list[Rule]) -> CommandJudge:
        # The reading of commands takes several milliseconds to import; the first request does not need it.
        from mewcode.permissions.command_judge import CommandJudge

        restricted = any(
            rule.tool == "read_file" and isinstance(rule.pattern, PathPattern)
            for kind in ("deny", "ask")
            for rule in self._rules(kind)
        )
        return CommandJudge(
            self.workspace, self.trusted_folder, allow, restricted, self.mode == "accept-edits"
        )

    def _fits_plan(self, tool: str, read_only: bool, accesses: Sequence[Access]) -> bool:
        commands = [access for access in accesses if isinstance(access, CommandAccess)]
        if commands:
            judge = self._command_judge([])
            return all(judge.only_reads(access) for access in commands) and len(commands) == len(accesses)
        if any(isinstance(access, WriteAccess) for access in accesses):
            return False
        return read_only or tool in _FREE_IN_PLAN

    # --- rules ----------------------------------------------------------------------------------------------

    def _rules(self, kind: str) -> Iterator[Rule]:
        for rules in self._levels.values():
            yield from getattr(rules, kind)

    def _hit(self, kind: str, tool: str, accesses: Sequence[Access]) -> tuple[Rule, Hit] | None:
        """The first rule of this kind that surely hits, else the first that may."""
        maybe: Rule | None = None
        for rule in self._rules(kind):
            hit = self._rule_hit(rule, tool, accesses)
            if hit == "yes":
                return rule, hit
            if hit == "maybe":
                maybe = maybe or rule
        return (maybe, "maybe") if maybe else None

    def _rule_hit(self, rule: Rule, tool: str, accesses: Sequence[Access]) -> Hit:
        if rule.names(tool) and rule.pattern is None:
            return "yes"
        found: Hit = "no"
        for access in accesses:
            hit = self._access_hit(rule, tool, access)
            if hit == "yes":
                return hit
            found = hit if hit == "maybe" else found
        return found

    def _access_hit(self, rule: Rule, tool: str, access: Access) -> Hit:
        if isinstance(access, CommandAccess):
            return self._command_judge([]).hit(rule, access)
        if isinstance(access, FetchAccess):
            hosts = {access.host, _host_of(access.url)}
            pattern = rule.pattern
            hit = isinstance(pattern, HostPattern) and any(pattern.hits(host) for host in hosts if host)
            return "yes" if hit else "no"
        tools = (tool, "read_file") if isinstance(access, ReadAccess) else (tool, *WRITERS)
        resolved = self.workspace.resolve(access.path)
        paths = {os.path.normpath(access.path), resolved or access.path}
        return "yes" if hits_path(rule, tools, paths, self.workspace) else "no"


def _is_rule(text: str) -> bool:
    from mewcode.core.errors import ConfigError

    try:
        Rule.parse(text)
    except ConfigError:
        return False
    return True


def _ask_fetch(tool: str, access: FetchAccess, allow: list[Rule]) -> Question | None:
    if not access.host or split_host(_host_of(access.url)) != split_host(access.host):
        return Question(f"the address does not belong to the host {access.host!r}")
    for rule in allow:
        if rule.names(tool) and (
            rule.pattern is None
            or (isinstance(rule.pattern, HostPattern) and rule.pattern.covers(access.host))
        ):
            return None
    rule_text = f"{tool}({access.host})"
    try:
        covers = parse_host_pattern(access.host).covers(access.host) and _is_rule(rule_text)
    except ValueError:
        covers = False
    return Question(
        f"a page of {access.host} would be fetched", rule_text if covers and "*" not in rule_text else ""
    )


def _host_of(url: str) -> str:
    """Host, with the port where it is not the default; empty where the address has none."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
    except ValueError:  # a bracket, a port or a name that is none
        return ""
    if ":" in host:
        host = f"[{host}]"
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return host if port in (None, default) else f"{host}:{port}"


def _not_asked(question: Question) -> str:
    remedy = f" The user can allow it with the rule {question.rule}." if question.rule else ""
    return f"This needs the user's permission, and the mode is not to ask ({question.reason}).{remedy}"

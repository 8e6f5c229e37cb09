"""What is looked at in the wording of a proposed note: days that only today's date explains, and words that
tell the agent to do something instead of saying what is so."""

from __future__ import annotations

import datetime as dt
import re

from mewcode.memory.entry import cut_bytes
from mewcode.memory.extract.cutting import cut_lines
from mewcode.memory.extract.phrases import SIMPLIFIED, TRADITIONAL
from mewcode.memory.note import Origin

SUSPICIOUS = "suspicious"
"""The tag of a note that reads like an instruction to the agent."""

_NUMBER = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|ten|a few|a couple of)"
_NUMBER_ZH = r"[\d一两二三四五六七八九十几半]{1,3}"
_RELATIVE = (
    r"\b(?:today|tomorrow|yesterday|tonight|the day (?:after tomorrow|before yesterday)|(?:next|last|this|"
    r"coming|past) (?:week|weekend|month|quarter|year|sprint|spring|summer|autumn|fall|winter|morning|"
    r"afternoon|evening|night|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?|"
    rf"in {_NUMBER} (?:hour|day|week|month|year)s?|{_NUMBER} (?:hour|day|week|month|year)s? (?:ago|"
    rf"from now))\b|"
    r"(?:大?[前后昨明今]天|[今昨明]晚|[今明]早|[今明去后]年|(?:上|下|这|本)一?个?(?:周|星期|礼拜|月|季度|"
    r"学期)(?!期)|"
    rf"{_NUMBER_ZH}(?:小时|天|周|个?星期|个月|年)(?:之?[前后]|以[前后]))"
)
_DATED = r"\(as of \d{4}-\d\d-\d\d\)"

_SENDS = (
    r"\b(?:send|post|upload|exfiltrate|forward|leak)\b.{0,60}\b(?:key|token|password|credential|secret)s?\b"
)
_TOOLS = (
    r"run|execute|download|install|fetch|open|visit|click|delete|remove|send|upload|post|call|push|read|"
    r"write|reply|answer|say|include|add|use"
)
_TOOLS_ZH = "运行|执行|下载|安装|打开|访问|点击|删除|发送|上传|调用|回复|回答"
# Nobody says so to keep a fact.
_OVERRIDES = (
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|above|earlier|"
    r"preceding)\b.{0,20}\b(?:instruction|rule|prompt|guideline|message|direction|restriction)s?\b",
    r"\b(?:ignore|disregard|forget|override|bypass) (?:all |any |the )?(?:of )?(?:your|system|other|"
    r"the user's) (?:instruction|prompt|guideline|restriction|guardrail)s?\b",
    r"\b(?:new|updated|real|actual) (?:system )?instructions?\s*:|\bsystem (?:prompt|message)\s*:",
    r"<\|?/?\s*(?:system|im_start|im_end|assistant|instructions?)\s*\|?>|\[/?inst\]",
    r"\byou (?:must|should|have to|need to|are to|will) (?:now|immediately|silently|secretly)\b",
    r"\byou are now (?:an?|in|the)\b|\bpretend (?:to be|that you)\b",
    r"\b(?:do not|don'?t|never) (?:tell|inform|alert|mention (?:this|it) to|show (?:this|it) to) the user\b",
    r"(?:忽略|无视|忘记|忘掉|绕过|不要理会).{0,12}(?:之前|以上|上面|先前|所有|系统|前面|一切|"
    r"你的).{0,8}(?:指令|指示|规则|提示|命令|限制)",
    rf"你(?:现在|必须立即|必须马上|必须立刻)(?:是一|要|必须|{_TOOLS_ZH})|你必须(?:立即|马上|立刻)",
    r"(?:不要|不得|别|无需|不必|不用)(?:告诉|告知|通知|提醒)用户|绕过(?:权限|审批)|(?:新的?|系统)(?:指令|"
    r"提示词?)\s*[:：]",
)
# The user may want it so. From others it is what an attack would have the agent do.
_HARMFUL = (
    rf"\b(?:curl|wget)\b.{{0,200}}\|\s*(?:sudo )?(?:ba|z|da)?sh\b|\bbase64 (?:-d|--decode)\b|--dangerously|"
    rf"{_SENDS}",
    r"\brm -rf? (?:/|~)(?:\s|\*|\Z)|\b(?:do not|don'?t|never) ask the user\b|(?:不要|别|无需|不必|"
    r"不用)(?:询问|征求)用户",
    r"(?:\A|[.;!] )(?![^.;!]{0,100}\b(?:never|not|don't|no)\b)[^.;!]{0,100}\bwithout (?:asking|telling|"
    r"informing|notifying|consent|approval|permission|confirmation)\b",
    r"\b(?:bypass|disable|turn off|skip|ignore) (?:the |all |any )?(?:permission|approval|confirmation|"
    r"safety|security|sandbox)",
)
# In a tool's output or on a page nobody has anything to order.
_ORDERS = (
    rf"\byou (?:must|should|have to|need to|are required to)(?: always| first| also)? (?:{_TOOLS})\b",
    r"\b(?:run|execute|paste|enter|type) (?:the following|this|these|the command)\b",
    r"\b(?:ai|llm|assistant|agent|model|bot|claude|gpt|mewcode)s?\b[,:]? (?:must|should|please|has to|"
    r"have to|need to|are to)\b",
    rf"\b(?:always|never|please|remember to|make sure to) (?:{_TOOLS})\b|\bimportant\s*:",
    rf"(?:请|你(?:必须|应该|需要|要))(?:先|立即|始终|总是)?(?:{_TOOLS_ZH})",
)


def is_instruction(text: str, origin: Origin) -> bool:
    """Whether a text that is that one's word tells the agent to do something, instead of saying what is so.
    The user may: of theirs only what would undo other rules, or deceive the user, counts."""
    text = re.sub(r"\s+", " ", text.casefold().translate(str.maketrans(TRADITIONAL, SIMPLIFIED)))
    patterns: tuple[str, ...] = _OVERRIDES
    if origin != "user":
        patterns += _HARMFUL
    if origin in ("tool", "web"):
        patterns += _ORDERS
    return any(re.search(pattern, text) for pattern in patterns)


def dated(text: str, today: dt.date) -> str:
    """The text with the day on which it was said, where a word in it needs that."""
    return text + _mark(text, today)


def dated_line(text: str, today: dt.date, limit: int) -> str:
    """The same for a line of at most so many bytes."""
    mark = _mark(text, today)
    return cut_bytes(text, limit - len(mark)) + mark


def dated_body(text: str, today: dt.date, limit: int) -> str:
    """The same for a text of several lines."""
    mark = _mark(text, today)
    return cut_lines(text, limit - len(mark)) + mark


def _mark(text: str, today: dt.date) -> str:
    plain = text.casefold().translate(str.maketrans(TRADITIONAL, SIMPLIFIED))
    if not re.search(_RELATIVE, plain) or re.search(_DATED, plain):
        return ""
    return f" (as of {today.isoformat()})"

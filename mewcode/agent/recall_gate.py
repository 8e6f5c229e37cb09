"""Whether a text says enough to look for notes by it. Pure, and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MOST_READ = 2_000
"""Characters of a text that are looked at."""
_LEAST_LATIN = 4
"""Letters of a word that is something to look for by itself."""
_DENSE = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORDS = r"[^\W_]+"
_DENSE_RUNS = f"[{_DENSE}]+"
_OTHER_WORDS = rf"[^\W_{_DENSE}]+"
_EMPTY = frozenset({
    "a", "again", "alright", "and", "any", "aye", "bye", "can", "continue", "cool", "could", "do", "done",
    "exactly", "fine", "go", "good", "great", "hello", "hey", "hi", "hm", "hmm", "i", "it", "just", "k",
    "kk", "keep", "let", "lets", "more", "nah", "next", "no", "nope", "now", "of", "ok", "okay", "on",
    "one", "perfect", "please", "pls", "proceed", "retry", "right", "say", "so", "start", "stop", "sure",
    "thank", "thanks", "that", "the", "then", "there", "this", "thx", "try", "ty", "undo", "up", "wait",
    "well", "yeah", "yep", "yes", "you", "your",
})  # fmt: skip
"""Words that say yes, no, thanks or go on, and those that stand around them."""
_EMPTY_RUN = (
    "(?:继续|繼續|接着|接著|下一步|下一个|下一個|开始|開始|再来|再來|再试|再試|重试|重試|一下|一次|好的|可以|没问题|"
    "沒問題|没事|明白|知道了|谢谢|謝謝|多谢|你好|您好|不用|不要|不是|不行|确认|確認|同意|停止|停下|取消|执行|執行|"
    "続けて|続き|はい|いいえ|ありがとう|계속|네|아니요|"
    "[好行对對是嗯哦噢啊呀吧嘛呢了的请請不没沒我你您就那这這再走做来來去要])+"
)


def has_content(text: str) -> bool:
    """Whether anything is left to look for once yes, thanks and go on are taken away: two characters of a
    script without blanks, a word of four letters, or two shorter ones."""
    text = text[:_MOST_READ].casefold()
    if text.isascii():  # patterns of large sets of characters take milliseconds to compile
        return _has_words(re.findall(_WORDS, text))
    runs = re.findall(_DENSE_RUNS, text)
    if sum(len(run) for run in runs if not re.fullmatch(_EMPTY_RUN, run)) > 1:
        return True
    return _has_words(re.findall(_OTHER_WORDS, text))


def _has_words(words: Iterable[str]) -> bool:
    said = [word for word in words if word not in _EMPTY]
    return len(said) > 1 or any(len(word) >= _LEAST_LATIN for word in said)

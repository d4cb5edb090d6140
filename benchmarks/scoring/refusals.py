"""Phrases with which an answer says that the conversation doesn't hold what was asked."""

import re
from typing import Final

__all__ = ["REFUSALS_EN", "REFUSALS_ZH", "declines", "refuses", "without_refusals"]

# The two that LoCoMo's own evaluation accepts.
REFUSALS_EN: Final = ("no information available", "not mentioned")
REFUSALS_ZH: Final = (
    "没有提到", "没有提及", "没有提过", "没有谈到", "没有说过", "没有说明", "没有记录", "没提到", "没提及",
    "没提过", "未提到", "未提及", "未曾提及", "未曾提到", "并未提", "没有相关信息", "无相关信息", "没有相关记录",
    "无相关记录", "没有这方面的信息", "没有可用信息", "无可用信息", "没有信息", "信息不足", "无法得知", "无从得知",
)  # fmt: skip

# What people also say; only this project's own metrics know them.
_MORE_REFUSALS: Final = (
    "no information", "not enough information", "insufficient information", "never mentioned", "wasn't mentioned",
    "isn't mentioned", "weren't mentioned", "not been mentioned", "not specified", "cannot be answered",
    "can't be answered", "can not be answered", "i don't know", "i do not know", "无法回答", "不知道",
    "无法确定", "没有这方面的记录",
)  # fmt: skip
_REFUSALS: Final = re.compile("|".join(map(re.escape, (*REFUSALS_EN, *REFUSALS_ZH, *_MORE_REFUSALS))), re.IGNORECASE)


def refuses(text: str, *, chinese: bool = True) -> bool:
    """Tell whether `text` holds a refusal, in English or, with `chinese`, in Chinese."""
    lowered = text.lower()
    return any(phrase in lowered for phrase in (REFUSALS_EN + REFUSALS_ZH if chinese else REFUSALS_EN))


def declines(text: str) -> bool:
    """Tell whether `text` says, in one of many ways, that what was asked isn't known; English and Chinese."""
    return _REFUSALS.search(text.replace("’", "'")) is not None


def without_refusals(text: str) -> str:
    """Return `text` without the phrases by which it declines, whose words would count as an answer's."""
    return _REFUSALS.sub(" ", text.replace("’", "'"))

"""Phrases with which an answer says that the conversation doesn't hold what was asked."""

from typing import Final

__all__ = ["REFUSALS_EN", "REFUSALS_ZH", "refuses"]

# The two that LoCoMo's own evaluation accepts.
REFUSALS_EN: Final = ("no information available", "not mentioned")
REFUSALS_ZH: Final = (
    "没有提到", "没有提及", "没有提过", "没有谈到", "没有说过", "没有说明", "没有记录", "没提到", "没提及",
    "没提过", "未提到", "未提及", "未曾提及", "未曾提到", "并未提", "没有相关信息", "无相关信息", "没有相关记录",
    "无相关记录", "没有这方面的信息", "没有可用信息", "无可用信息", "没有信息", "信息不足", "无法得知", "无从得知",
)  # fmt: skip


def refuses(text: str, *, chinese: bool = True) -> bool:
    """Tell whether `text` holds a refusal, in English or, with `chinese`, in Chinese."""
    lowered = text.lower()
    return any(phrase in lowered for phrase in (REFUSALS_EN + REFUSALS_ZH if chinese else REFUSALS_EN))

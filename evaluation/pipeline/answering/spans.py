"""The part of a sentence that answers a question of a given kind; English and Chinese."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from benchmarks.scoring.stopwords import STOP_CHARACTERS, STOP_WORDS
from benchmarks.scoring.terms import is_han, terms_of

__all__ = ["Kind", "asks_for_list", "kind_of", "pick_span"]

Kind = Literal["when", "duration", "count", "who", "where", "yes_no", "what"]

_KINDS: Final[tuple[tuple[Kind, str], ...]] = (
    ("duration", r"^(?:for )?how long(?! ago)|多久(?!之?以?前)|多长时间|几年了|几个月了|多少年|多少天"),
    (
        "when",
        r"^(?:in |on |around |since )?(?:when|how long ago|(?:what|which) (?:date|day|month|year|time|weekend|week))\b"
        r"|什么时候|何时|哪一?[年月天日周]|几[月号]|什么日子|哪个月|星期几|周几|多久之?以?前",
    ),
    (
        "count",
        r"^how (?:many|much|old|often)|多少|几(?![点时月号乎])[一-鿿]|多大",
    ),
    ("who", r"^(?:who|whose|whom)\b|谁|哪位|什么人"),
    (
        "where",
        r"^where\b|^(?:in |at |to |from )?(?:what|which) (?:city|country|state|place|town|area)\b"
        r"|哪里|哪儿|哪个城市|什么地方",
    ),
    (
        "yes_no",
        r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b|吗[？?]?$|是否|有没有",
    ),
)
_LIST: Final = re.compile(
    r"^(?:in )?(?:what|which)(?: (?:are|were))?(?: (?!is|was|does|did|has)[\w'’-]+){0,3}"
    r" (?!is\b|was\b|does\b|this\b)[a-z]{3,}(?<!s)s\b|哪些|哪几|分别",
    re.IGNORECASE,
)
_MAX_WORDS: Final = 10
_MAX_HAN: Final = 14

_TOKEN: Final = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_NAME: Final = re.compile(r"\b[A-Z][\w'’-]*(?:\s+(?:of\s+|the\s+|de\s+)?[A-Z][\w'’-]*)*")
_ONES: Final = "one|two|three|four|five|six|seven|eight|nine"
_TENS: Final = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_SMALL: Final = (
    rf"(?:(?:{_TENS})(?:[- ](?:{_ONES}))?|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen"
    rf"|nineteen|{_ONES})"
)
_IN_WORDS: Final = (
    rf"(?:(?:an? |{_SMALL} )?(?:hundred|thousand|million)(?: (?:and )?{_SMALL})?|{_SMALL}|a dozen|half a dozen)"
)
_NUMBER_WORD: Final = (
    rf"(?:\d[\d,.]*|{_IN_WORDS}|half an?|(?:an?|one) (?:couple|few)(?: of)?|(?:a )?couple of|several|few|an?)"
)
_UNIT: Final = r"(?:second|minute|hour|day|night|week|weekend|fortnight|month|semester|year|decade)s?"
_DURATION: Final = re.compile(
    rf"\b{_NUMBER_WORD}(?:(?: and a half| or {_NUMBER_WORD}| to {_NUMBER_WORD}| more|-)* ?)\b{_UNIT}\b(?: and a half)?"
    rf"(?:,? and {_NUMBER_WORD} {_UNIT}\b)?",
    re.I,
)
_COUNT: Final = re.compile(rf"[$£€]?\b\d[\d,.]*\d%?|[$£€]?\b\d%?|\b(?:once|twice|{_IN_WORDS})\b", re.I)
_ZH_NUMBER: Final = r"[\d零一二两三四五六七八九十百千万半]+"
_ZH_UNIT: Final = (
    "个人|个|只|块钱?|美元|元|公斤|斤|克|吨|岁|次|条|本|张|台|年|天|位|名|人|口|间|层|楼|排|杯|盒|瓶|公里|厘米|米|里|小时"
    "|分钟|场|把|套|棵|颗|粒|盆|件|万|号|平方米|平米?|节|站|页|份|家|头|匹|辆|部|幅|座|栋|幢|篇|首|双|对|袋|包|碗|桌|桶"
    "|组|支|枝|朵|箱|轮|门|圈|步|升|度|倍|分|遍|趟|回|周|星期|个月|月"
)
_ZH_COUNT: Final = re.compile(rf"(?<![周期拜第]){_ZH_NUMBER}多?(?:{_ZH_UNIT})|\d[\d.]*")
_ZH_ASKED_UNIT: Final = re.compile(r"(?:几|多少)([一-鿿])")
# What is asked for, and how people count it.
_ZH_UNITS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "钱": ("元", "块", "块钱", "美元", "万"),
    "人": ("人", "位", "名", "口"),
    "书": ("本", "册"),
    "树": ("棵",),
    "花": ("朵", "盆", "枝"),
    "猫": ("只",),
    "狗": ("只", "条"),
    "鱼": ("条",),
}
_ZH_ASKS_WHAT: Final = re.compile("什么|哪[一种个家支]")
_ZH_DURATION: Final = re.compile(rf"{_ZH_NUMBER}(?:多)?(?:个半?)?(?:小时|分钟|天|周|星期|礼拜|月|年|钟头)(?:半|多)?")
_ZH_CLAUSE: Final = re.compile(r"[^，。！？；、：,.!?;:\s“”\"（）()]+")
_ZH_ASKS_NAME: Final = re.compile("叫什么|什么名字|哪[一]?[首本部]|书名|歌名")
_ZH_CALLED: Final = re.compile(r"《([^》]{1,20})》|(?:叫做?|名字是|取名)[“\"「]?([一-鿿]{2,4})")
_ZH_PLACE: Final = re.compile(r"(?:在|去了?|到了?|回了?|搬到了?|住在?|来自|从|飞)([^，。！？；、：\s“”的了]{2,10})")
_ZH_TITLE: Final = "老师|师傅|医生|大夫|阿姨|叔叔?|姐姐?|哥哥?|姨|婶|伯|爷爷?|奶奶?|总|经理|主任|教练|科长|班长"
_ZH_KIN: Final = (
    "妈妈?|爸爸?|爷爷|奶奶|外婆|外公|姥姥|姥爷|姐姐?|哥哥?|妹妹?|弟弟?|表[姐妹哥弟]|堂[姐妹哥弟]|姑姑?|舅舅?|婆婆"
    "|丈母娘|老婆|老公|女儿|儿子|邻居|同事|同学"
)
_ZH_SURNAMES: Final = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范"
    "金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
_ZH_PERSON: Final = re.compile(
    rf"[老小阿][一-鿿](?![一-鿿]?[的时])|[{_ZH_SURNAMES}][一-鿿]?(?:{_ZH_TITLE})|我?(?:{_ZH_KIN})|(?<=叫)[一-鿿]{{2,3}}"
)


def kind_of(question: str) -> Kind:
    """Return what kind of answer a question asks for."""
    text = question.strip()
    return next((kind for kind, pattern in _KINDS if re.search(pattern, text, re.IGNORECASE)), "what")


def asks_for_list(question: str) -> bool:
    """Tell whether a question asks for several things: "what books", "which of", "哪些"."""
    return _LIST.search(question.strip()) is not None


def pick_span(kind: Kind, sentence: str, question: str) -> str:
    """Return the part of `sentence` that answers `question`; empty if it has none of that kind."""
    if is_han(sentence):
        return _pick_chinese(kind, sentence, question)
    if kind == "duration":
        return _first(_DURATION, sentence)
    if kind == "count":
        return _first(_COUNT, sentence)
    if kind in {"who", "where"}:
        return _name(sentence, question)
    return _content_words(sentence, question)


def _first(pattern: re.Pattern[str], sentence: str) -> str:
    match = pattern.search(sentence)
    return match[0].strip() if match else ""


def _name(sentence: str, question: str) -> str:
    """Return the capitalised span nearest to a word that the question has too, of those that it lacks."""
    asked = {word.lower() for word in _TOKEN.findall(question)}
    terms = terms_of(question)
    shared = [match.start() for match in _TOKEN.finditer(sentence) if terms_of(match[0]) & terms]
    found = [
        (min((abs(match.start() - at) for at in shared), default=0), name)
        for match in _NAME.finditer(sentence)
        if (name := _fresh_name(match, asked))
    ]
    return min(found, key=lambda item: item[0])[1] if found else ""


def _fresh_name(match: re.Match[str], asked: set[str]) -> str:
    """Return a capitalised span without the word that only begins the sentence; empty where nothing new is left."""
    words = match[0].split()
    if match.start() == 0 and words[0].lower() in STOP_WORDS:
        words = words[1:]
    plain = [re.split(r"['’]", word)[0].lower() for word in words]
    if all(word in STOP_WORDS or word in asked for word in plain) or (match.start() == 0 and len(words) == 1):
        return ""
    return " ".join(words)


def _content_words(sentence: str, question: str) -> str:
    """Return up to eight words of the sentence that the question lacks, those behind the last shared word first."""
    asked = terms_of(question)
    tokens = _TOKEN.findall(sentence)
    shared = [at for at, token in enumerate(tokens) if terms_of(token) & asked]
    fresh = [(at, token) for at, token in enumerate(tokens) if terms_of(token) and not terms_of(token) & asked]
    last = shared[-1] if shared else -1
    behind = [item for item in fresh if item[0] > last]
    before = [item for item in fresh if item[0] < last]
    chosen = behind[:_MAX_WORDS]
    if len(chosen) < _MAX_WORDS // 2:
        chosen = before[-(_MAX_WORDS - len(chosen)) :] + chosen
    return " ".join(token for _, token in chosen)


def _pick_chinese(kind: Kind, sentence: str, question: str) -> str:
    if kind == "duration":
        return _first(_ZH_DURATION, sentence)
    if kind == "count":
        return _count_zh(sentence, question)
    if kind == "who":
        return next((match[0] for match in _ZH_PERSON.finditer(sentence) if match[0] not in question), "")
    if kind == "where":
        return next((match[1] for match in _ZH_PLACE.finditer(sentence) if match[1] not in question), "")
    return _clause(sentence, question)


def _count_zh(sentence: str, question: str) -> str:
    """Return the first number with its unit, one in the unit that the question asks for before any other."""
    asked = _ZH_ASKED_UNIT.search(question)
    found = [match[0] for match in _ZH_COUNT.finditer(sentence)]
    units = _ZH_UNITS_OF.get(asked[1], (asked[1],)) if asked else ()
    fitting = [text for text in found if text.endswith(units)] if units else []
    return next((text for text in (*fitting, *found) if text != "一个"), "")


def _clause(sentence: str, question: str) -> str:
    """Return a title or a name where one is asked for, else what stands behind the match with the question."""
    named = _ZH_CALLED.search(sentence) if _ZH_ASKS_NAME.search(question) else None
    if named:
        return named[1] or named[2]
    behind = _behind_verb(sentence, question)
    if behind:
        return behind
    asked = terms_of(question)
    clauses = [match[0] for match in _ZH_CLAUSE.finditer(sentence)]
    if not clauses:
        return ""
    best = max(range(len(clauses)), key=lambda at: (len(terms_of(clauses[at]) & asked), -at))
    rest = _behind_shared(clauses[best], question)
    if len(rest) < 2 and best + 1 < len(clauses):
        rest = clauses[best + 1]
    return (rest if len(rest) >= 2 else clauses[best])[:_MAX_HAN]


def _behind_verb(sentence: str, question: str) -> str:
    """Return what stands behind the word to which the question's "什么" belongs: 养了什么 asks what follows 养了."""
    asked = _ZH_ASKS_WHAT.search(question)
    if not asked:
        return ""
    before = question[max(asked.start() - 4, 0) : asked.start()].rstrip("的是了过着")
    for length in (2, 1):
        verb = before[-length:]
        if len(verb) == length and not set(verb) <= STOP_CHARACTERS and verb in sentence:
            rest = sentence[sentence.rindex(verb) + length :].lstrip("的了是在过着")
            clause = _ZH_CLAUSE.match(rest)
            if clause and len(clause[0]) >= 2:
                return clause[0][:_MAX_HAN].rstrip("的了呢吧啊呀")
    return ""


def _behind_shared(clause: str, question: str) -> str:
    last = 0
    for at in range(len(clause) - 1):
        pair = clause[at : at + 2]
        if pair in question and not set(pair) <= STOP_CHARACTERS:
            last = at + 2
    return clause[last:].lstrip("的了是在叫着过")

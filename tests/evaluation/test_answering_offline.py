"""The offline answerer: dates, names, numbers, words and refusals from memories, in English and Chinese."""

import asyncio
import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.datasets.locomo import load_locomo
from benchmarks.datasets.model import Question, Scope
from benchmarks.scoring.refusals import refuses
from benchmarks.scoring.registry import score
from contract.answers import Memory
from contract.messages import TextPart
from evaluation.pipeline.answering.dates import find_moment
from evaluation.pipeline.answering.offline import NOTHING_KNOWN, NOTHING_KNOWN_ZH, OfflineAnswerer
from evaluation.pipeline.answering.passages import read_passage
from evaluation.pipeline.answering.spans import kind_of

ANSWERER = OfflineAnswerer()
ENGLISH = [
    "[2023-05-25 13:00] Ada: I ran a charity race for mental health last Saturday, what a day!",
    "[2023-05-25 13:01] Ben: That's wonderful! I adopted two rabbits from the shelter in Lisbon.",
    "[2023-06-09 19:00] Ada: We stayed in Porto for three weeks and I learned surfing from Marta.",
    "[2023-06-09 19:05] Ben: My workshop repairs old violins these days.",
    "[2023-06-10 08:00] Ada: Did you ever repair a cello?",
]
CHINESE = [
    "[2024-03-15 20:10] 小林: 我上周六去参加了单位组织的植树活动，种了三棵银杏。",
    "[2024-03-15 20:11] 阿珍: 我女儿昨天在少年宫拿了围棋比赛第二名。",
    "[2024-04-02 09:00] 小林: 老家的房子租给了王师傅，他在镇上开修车铺。",
    "[2024-04-02 09:02] 阿珍: 我们打算五一坐高铁去洛阳看牡丹。",
]


def memories(texts: list[str]) -> list[Memory]:
    return [Memory(f"m{at}", text) for at, text in enumerate(texts)]


def ask(query: str, texts: list[str]) -> str:
    return ANSWERER.extract(Question("q", query, None, "", "4", "A", ()), memories(texts)).text


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("When did Ada run a charity race?", "20 May 2023"),
        ("How many rabbits did Ben adopt?", "two"),
        ("Where did Ben adopt the rabbits?", "Lisbon"),
        ("How long did Ada stay in Porto?", "three weeks"),
        ("Who did Ada learn surfing from?", "Marta"),
        ("What does Ben's workshop repair?", "old violins days"),
    ],
)
def test_an_english_question_is_answered_in_its_kind(query: str, answer: str) -> None:
    assert ask(query, ENGLISH) == answer


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("小林什么时候参加植树活动的？", "2024年3月9日"),
        ("小林种了几棵银杏？", "三棵"),
        ("阿珍的女儿什么时候拿了围棋比赛的名次？", "2024年3月14日"),
        ("小林老家的房子租给了谁？", "王师傅"),
        ("阿珍打算去哪里看牡丹？", "洛阳看牡丹"),
    ],
)
def test_a_chinese_question_is_answered_in_its_kind(query: str, answer: str) -> None:
    assert ask(query, CHINESE) == answer


@pytest.mark.parametrize(
    ("query", "said", "answer"),
    [
        ("How many jars did Ada fill?", "Ada: Eighty-seven jars of plum jam, I filled them all.", "Eighty-seven"),
        ("How many guests came?", "Ada: A hundred and twenty guests came to the barn.", "A hundred and twenty"),
        ("How many stamps does Ben own?", "Ben: I own 1,204 stamps now.", "1,204"),
        ("How long did the flight take?", "Ada: The flight took three and a half hours.", "three and a half hours"),
        ("How long has Ben lived in Oslo?", "Ben: I have lived in Oslo for twenty-two years.", "twenty-two years"),
        ("How long was the break?", "Ada: The break was a couple of weeks.", "a couple of weeks"),
        ("How long was the talk?", "Ada: The talk was an hour and a half.", "an hour and a half"),
        ("How long was the trip?", "Ada: It was a 10-day trip along the coast.", "10-day"),
        ("小林的自行车多少钱？", "小林: 自行车是我上个月买的，花了三千二百块。", "三千二百块"),
        ("小林家来了多少人？", "小林: 周六家里来了十二位亲戚，做了八个菜。", "十二位"),
        ("阿珍养了什么？", "阿珍: 我去年养了一只橘猫，特别粘人。", "一只橘猫"),
        ("小林喜欢喝什么茶？", "小林: 我喜欢喝凤凰单丛，不放糖。", "凤凰单丛"),
        ("小林在上海待了多久？", "小林: 我在上海待了一年半，然后搬回来。", "一年半"),
    ],
)
def test_numbers_durations_and_things_are_taken_whole(query: str, said: str, answer: str) -> None:
    assert ask(query, [f"[2024-03-15 10:00] {said}"]) == answer


def choice(query: str, options: tuple[str, ...], texts: list[str], kind: str = "single_choice") -> str:
    return ANSWERER.extract(Question("q", query, options, "", "", "A", (), kind), memories(texts)).text


@pytest.mark.parametrize(
    ("kind", "query", "options", "texts", "answer"),
    [
        ("single_choice", "What does Ben repair?", ("clocks", "old violins", "bikes"), ENGLISH, "(B)"),
        ("single_choice", "王师傅开什么铺子？", ("面馆", "修车铺", "书店"), CHINESE, "(B)"),
        ("single_choice", "What does Ben repair?", ("clocks", "bikes"), ENGLISH, NOTHING_KNOWN),
        ("single_choice", "What does Ben repair?", ("clocks", "It is not mentioned"), ENGLISH, "(B)"),
        ("single_choice", "What does Ben repair?", ("clocks", "old violins"), [], NOTHING_KNOWN),
        ("single_choice", "王师傅开什么铺子？", ("面馆", "修车铺"), [], NOTHING_KNOWN_ZH),
        ("multi_select", "Where were they?", ("Lisbon", "Rome", "Porto"), ENGLISH, "(A, C)"),
        ("ordering", "In which order?", ("learned surfing", "repair a cello", "a charity race"), ENGLISH, "(C, A, B)"),
        ("ordering", "先后顺序？", ("洛阳看牡丹", "植树活动"), CHINESE, "(B, A)"),
        ("ordering", "In which order?", ("learned surfing", "a charity race"), [], NOTHING_KNOWN),
    ],
)
def test_a_choice_goes_by_what_the_memories_speak_of(
    kind: str, query: str, options: tuple[str, ...], texts: list[str], answer: str
) -> None:
    assert choice(query, options, texts, kind) == answer


def test_of_two_options_that_were_both_said_the_later_one_holds() -> None:
    texts = ["[2024-03-01] Ada: My desk is in room seven.", "[2024-05-01] Ada: My desk is in room nine."]
    assert choice("Where is Ada's desk?", ("room seven", "room nine"), texts) == "(B)"
    assert choice("Where is Ada's desk?", ("room seven", "room nine"), texts[::-1]) == "(B)"


def test_a_question_that_wants_sentences_gets_them_whole_and_events_in_order() -> None:
    long = Question("q", "What did Ada say about Porto and surfing?", None, "", "", "A", (), "long_form")
    assert "We stayed in Porto for three weeks and I learned surfing from Marta." in ANSWERER.extract(
        long, memories(ENGLISH)
    ).text.split("\n")
    texts = ["[2024-05-02] Ada: The roof garden got a pond.", "[2024-03-02] Ada: The roof garden got its first figs."]
    order = Question("q", "In which order did Ada's roof garden grow?", None, "", "", "C", (), "ordering")
    assert ANSWERER.extract(order, memories(texts)).text == (
        "1. The roof garden got its first figs.\n2. The roof garden got a pond."
    )
    assert ANSWERER.extract(order, []).text == NOTHING_KNOWN


@pytest.mark.parametrize("unit", ["I grow figs. ", "a", "养了一只猫，", "(", "1 ", "\n", "an hour and a half "])
def test_a_memory_of_a_megabyte_is_read_to_a_bound(unit: str) -> None:
    began = time.process_time()
    for query in ("How long did Ada grow figs?", "阿珍养了什么？", "When was it?"):
        ask(query, [unit * (1_000_000 // len(unit))])
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("query", "texts", "refusal"),
    [
        ("What does Ada grow on her roof?", ENGLISH, NOTHING_KNOWN),
        ("When did Ben run a charity race for mental health?", ENGLISH, NOTHING_KNOWN),
        ("阿珍种了几棵银杏？", CHINESE, NOTHING_KNOWN_ZH),
        ("小林的游泳教练是谁？", CHINESE, NOTHING_KNOWN_ZH),
        ("What does Ada grow?", [], NOTHING_KNOWN),
        ("???", ENGLISH, NOTHING_KNOWN),
    ],
)
def test_what_was_not_said_or_said_by_somebody_else_is_refused(query: str, texts: list[str], refusal: str) -> None:
    assert ask(query, texts) == refusal
    assert refuses(refusal)


@pytest.mark.parametrize(
    ("sentence", "said_on", "expected"),
    [
        ("I saw her yesterday.", date(2023, 3, 1), "28 February 2023"),
        ("I went last night.", date(2023, 1, 1), "31 December 2022"),
        ("The show is tomorrow!", date(2023, 12, 31), "1 January 2024"),
        ("We met last Saturday.", date(2023, 5, 27), "20 May 2023"),
        ("We met last Friday.", date(2023, 5, 27), "26 May 2023"),
        ("See you next Monday.", date(2023, 5, 27), "29 May 2023"),
        ("It was two weeks ago.", date(2023, 5, 15), "the week of 1 May 2023"),
        ("It was 3 days ago.", date(2023, 5, 2), "29 April 2023"),
        ("Two months ago we moved.", date(2023, 1, 20), "November 2022"),
        ("We moved a year ago.", date(2023, 1, 20), "2022"),
        ("That was last month.", date(2023, 1, 20), "December 2022"),
        ("Next month I start.", date(2023, 12, 20), "January 2024"),
        ("I painted it last year.", date(2023, 5, 8), "2022"),
        ("Last weekend was fun.", date(2023, 5, 24), "20 May 2023"),
        ("It opens on 5 July.", date(2023, 5, 24), "5 July 2023"),
        ("It opened July 5th, 2021.", date(2023, 5, 24), "5 July 2021"),
        ("It opened in July 2021.", date(2023, 5, 24), "July 2021"),
        ("It opened last July.", date(2023, 5, 24), "July 2022"),
        ("She was born in 1987.", None, "1987"),
        ("I will go there.", date(2023, 5, 24), None),
        ("I saw her yesterday.", None, None),
        ("It fell 31 February.", date(2023, 5, 24), None),
        ("It was 900 years ago.", date(400, 1, 1), None),
    ],
)
def test_a_date_is_worked_out_from_the_day_it_was_said(
    sentence: str, said_on: date | None, expected: str | None
) -> None:
    moment = find_moment(sentence, said_on)
    assert (moment.text(chinese=False) if moment else None) == expected


@pytest.mark.parametrize(
    ("sentence", "said_on", "expected"),
    [
        ("我昨天去了", date(2024, 3, 1), "2024年2月29日"),
        ("大前天下雨", date(2024, 3, 3), "2024年2月29日"),
        ("上周六回老家", date(2024, 3, 15), "2024年3月9日"),
        ("上个星期天", date(2024, 3, 15), "2024年3月10日"),
        ("下周三开会", date(2024, 3, 15), "2024年3月20日"),
        ("这周五聚餐", date(2024, 3, 13), "2024年3月15日"),
        ("上周末爬山", date(2024, 3, 13), "2024年3月9日"),
        ("五天前", date(2024, 3, 3), "2024年2月27日"),
        ("两个月前", date(2024, 1, 3), "2023年11月"),
        ("半年前", date(2024, 3, 3), "2023年9月"),
        ("三年前", date(2024, 3, 3), "2021年"),
        ("十二天前", date(2024, 3, 13), "2024年3月1日"),
        ("上个月", date(2024, 1, 13), "2023年12月"),
        ("去年", date(2024, 1, 13), "2023年"),
        ("去年5月搬的", date(2024, 1, 13), "2023年5月"),
        ("5月7号", date(2024, 1, 13), "2024年5月7日"),
        ("2019年5月7日", None, "2019年5月7日"),
        ("没有时间", date(2024, 1, 13), None),
    ],
)
def test_a_chinese_date_is_worked_out_from_the_day_it_was_said(
    sentence: str, said_on: date | None, expected: str | None
) -> None:
    moment = find_moment(sentence, said_on)
    assert (moment.text(chinese=True) if moment else None) == expected


@pytest.mark.parametrize(
    ("created_at", "day"),
    [
        ("2023-05-25T10:00:00Z", date(2023, 5, 25)),
        (1685000000, date(2023, 5, 25)),
        (1685000000000.0, date(2023, 5, 25)),
        ("last week", None),
        ("2023-13-45", None),
        (-5, None),
        (1e300, None),
        (None, None),
    ],
)
def test_a_memory_without_a_date_in_its_text_has_that_of_created_at(
    created_at: str | float | None, day: date | None
) -> None:
    assert read_passage(Memory("m", "Ada: I ran yesterday.", None, created_at)).day == day


def test_a_date_in_the_text_goes_before_created_at_and_the_speaker_is_known() -> None:
    passage = read_passage(Memory("m", "[2023-05-25 13:00] Ada: I ran. Then I slept!", None, "2020-01-01"))
    assert (passage.day, passage.speaker) == (date(2023, 5, 25), "Ada")
    assert [sentence.text for sentence in passage.sentences] == ["I ran.", "Then I slept!"]


def test_text_parts_are_read() -> None:
    memory = Memory("m", (TextPart("[2023-05-25] Ada: I grow figs"), TextPart("on the roof")))
    answer = ANSWERER.extract(Question("q", "Where does Ada grow figs?", None, "", "4", "A", ()), [memory])
    assert "roof" in answer.text


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("When was it?", "when"),
        ("What year was it?", "when"),
        ("How long ago was it?", "when"),
        ("哪一年搬的？", "when"),
        ("How long did it take?", "duration"),
        ("住了多久？", "duration"),
        ("How many cats?", "count"),
        ("多少钱？", "count"),
        ("Whose cat?", "who"),
        ("是谁说的？", "who"),
        ("Which city is it?", "where"),
        ("住在哪里？", "where"),
        ("Is it true?", "yes_no"),
        ("她去过吗？", "yes_no"),
        ("What is it?", "what"),
        ("养了什么？", "what"),
    ],
)
def test_a_question_tells_its_kind(query: str, kind: str) -> None:
    assert kind_of(query) == kind


def test_an_answer_says_that_no_model_made_it_and_that_all_memories_were_read() -> None:
    question = Question("q", "When did Ada run a charity race?", None, "", "2", "C", ())
    answer = asyncio.run(ANSWERER.answer(question, memories(ENGLISH)))
    assert (answer.model, answer.prompt_sha256, answer.prompt_tokens) == ("offline.extract.v1", "", 0)
    assert (answer.memories_used, answer.memories_cut) == (5, 0)


def test_another_process_gives_the_same_answers() -> None:
    script = (
        "from tests.evaluation.test_answering_offline import CHINESE, ENGLISH, ask\n"
        "for texts in (ENGLISH, CHINESE):\n"
        "    for text in texts:\n"
        "        print(ask('What about ' + text.partition(': ')[2], texts))\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == len(ENGLISH) + len(CHINESE)


@given(st.text(), st.lists(st.text() | st.from_regex(r"\[\d{4}-\d\d-\d\d\] \w+: .{0,40}", fullmatch=True), max_size=8))
@settings(deadline=None)
def test_no_text_makes_it_fail_and_the_same_text_gives_the_same_answer(query: str, texts: list[str]) -> None:
    first = ask(query, texts)
    assert first
    assert first == ask(query, texts)


@given(st.text(st.sampled_from("0123456789 年月日天前上下个周半十三年日agoyersmonthwkdJuly,")), st.dates())
def test_no_text_makes_a_date_fail(text: str, said_on: date) -> None:
    find_moment(text, said_on)


def evidence_of(scope: Scope, question: Question) -> list[Memory]:
    turns = {turn.turn_id: turn for session in scope.sessions for turn in session.turns}
    return [Memory(turn_id, turns[turn_id].content, None, turns[turn_id].timestamp_ms) for turn_id in question.evidence]


@pytest.mark.data
def test_on_the_real_file_evidence_is_worth_more_than_nothing(data_dir: Path) -> None:
    with_evidence, without = [], []
    for scope in load_locomo(data_dir / "locomo" / "locomo10.json"):
        for question in scope.questions:
            if question.answerable:
                given_evidence = ANSWERER.extract(question, evidence_of(scope, question)).text
                with_evidence.append(score("locomo.f1.v1", question, given_evidence))
                without.append(score("locomo.f1.v1", question, ANSWERER.extract(question, []).text))
    assert fmean(without) < 0.02
    assert fmean(with_evidence) > 0.25


@pytest.mark.data
def test_a_real_conversation_is_answered_quickly_from_a_hundred_memories(data_dir: Path) -> None:
    scope = next(load_locomo(data_dir / "locomo" / "locomo10.json"))
    turns = [turn for session in scope.sessions for turn in session.turns]
    hundred = [Memory(turn.turn_id, turn.content) for turn in turns[:100]]
    began = time.process_time()
    for question in scope.questions:
        ANSWERER.extract(question, hundred)
    assert time.process_time() - began < 0.015 * len(scope.questions) + 3

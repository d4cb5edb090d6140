"""A small file in LoCoMo's format, to be changed in one place by a test."""

import json
from pathlib import Path
from typing import Any


def sample(sample_id: str = "chat-1") -> dict[str, Any]:
    """A conversation of two sessions, given out of order and with every oddity that a loader must survive."""
    return {
        "sample_id": sample_id,
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_10_date_time": "12:05 am on 9 May, 2023",
            "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "Back again."}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ada", "dia_id": "D2:1", "text": "I grow figs."},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a photo of a boat"},
            ],
            "session_11_date_time": "12:00 pm on 10 May, 2023",
        },
        "qa": [
            {"question": "What does Ada grow?", "answer": "figs", "evidence": ["D2:1"], "category": 4},
            {"question": "When?", "answer": 2023, "evidence": ["D2:1; D10:01", "D:2:2", "D99:1", "D"], "category": 2},
            {"question": "Would Ada sail?", "answer": "No; figs", "evidence": [], "category": 3},
            {"question": "What does Ben grow?", "adversarial_answer": "figs", "evidence": ["D2:1"], "category": 5},
            {"question": "Is it Ben's?", "answer": "No", "adversarial_answer": "Yes", "evidence": [], "category": 5},
        ],
    }


def write(path: Path, value: object) -> Path:
    """Write `value` as JSON and return the path."""
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path

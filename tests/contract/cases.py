"""Case files with their right answers, kept beside the repository; `AML_CASES_DIR` says where."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CASES_DIR = Path(os.environ.get("AML_CASES_DIR") or ROOT.parent / "shared" / "cases")
MISSING = f"no case file in {CASES_DIR}; set AML_CASES_DIR to the folder that holds it"
MAGIC = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/webp": b"RIFF\x00\x00\x00\x00WEBP",
}


def load(name: str) -> list[dict[str, Any]]:
    """Return the cases of a file, none when the folder is absent."""
    path = CASES_DIR / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def body_of(case: dict[str, Any]) -> bytes:
    """Return the body of a response case, its markers expanded."""
    if case.get("body_base64"):
        return base64.b64decode(case["body_base64"])
    text = case.get("body_text") or ""
    for marker, how in (case.get("expand") or {}).items():
        text = text.replace(marker, _expanded(how))
    return text.encode("utf-8", "surrogatepass")


def _expanded(how: dict[str, Any]) -> str:
    if "repeat" in how:
        return str(how["repeat"]) * int(how["count"])
    media_type = str(how["data_uri"])
    picture = MAGIC[media_type].ljust(int(how["decoded_bytes"]), b"\0")
    return f"data:{media_type};base64,{base64.b64encode(picture).decode()}"

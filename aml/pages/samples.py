"""Programs that the API guide shows. A test takes them off the page and runs them against the reference server."""

from __future__ import annotations

import json

from django.conf import settings

from aml.pages import wire

YOURS = "https://memory.example.org"


def add_calls() -> list[dict[str, str]]:
    """The sample Add, sent to a server of your own."""
    return [
        _tab("curl", "curl", _curl("/add", wire.pretty(wire.ADD))),
        _tab("python", "Python", _python("/add", wire.pretty(wire.ADD), "print(answer)")),
    ]


def search_calls() -> list[dict[str, str]]:
    """The sample Search."""
    show = 'for memory in answer["data"]:\n    print(memory["id"], memory["content"])'
    return [
        _tab("curl", "curl", _curl("/search", wire.pretty(wire.SEARCH))),
        _tab("python", "Python", _python("/search", wire.pretty(wire.SEARCH), show)),
    ]


def status_calls() -> list[dict[str, str]]:
    """Asking how a write stands that was answered with 202."""
    curl = "\n".join(
        [
            f"curl --silent {YOURS}/add-status/$TASK_ID \\",
            '  --header "Authorization: Bearer $MEMORY_SYSTEM_KEY"',
        ]
    )
    program = f"""import json, os, time, urllib.request

request = urllib.request.Request(
    "{YOURS}/add-status/" + os.environ["TASK_ID"],
    headers={{"Authorization": "Bearer " + os.environ["MEMORY_SYSTEM_KEY"]}},
)
while True:
    with urllib.request.urlopen(request) as response:
        if response.status != 202:
            print(json.load(response))
            break
        time.sleep(float(response.headers.get("Retry-After", 2)))"""
    return [_tab("curl", "curl", curl), _tab("python", "Python", program)]


def home_calls() -> list[dict[str, str]]:
    """What a participant can run at home: the example server, and the check of one's own."""
    return [
        _tab("serve", "agentmem serve", "agentmem serve --port 8801"),
        _tab("check", "agentmem check", "agentmem check http://127.0.0.1:8801 --track textual"),
    ]


def platform_calls() -> list[dict[str, str]]:
    """Reading the contract through this site's own API."""
    address = f"{settings.AML_SITE_URL}/api/v1/contract"
    program = f"""import json, urllib.request

with urllib.request.urlopen("{address}") as response:
    print(json.dumps(json.load(response), indent=2))"""
    return [_tab("curl", "curl", f"curl --silent {address}"), _tab("python", "Python", program)]


def _tab(language: str, title: str, text: str) -> dict[str, str]:
    return {"language": language, "title": title, "text": text}


def _curl(path: str, body: str) -> str:
    return "\n".join(
        [
            f"curl --silent {YOURS}{path} \\",
            '  --header "Authorization: Bearer $MEMORY_SYSTEM_KEY" \\',
            '  --header "Content-Type: application/json" \\',
            f"  --data '{body}'",
        ]
    )


def _python(path: str, body: str, show: str) -> str:
    literal = json.dumps(json.loads(body), ensure_ascii=False, indent=4)
    return f"""import json, os, urllib.request

body = {literal}
request = urllib.request.Request(
    "{YOURS}{path}",
    data=json.dumps(body).encode(),
    headers={{
        "Authorization": "Bearer " + os.environ["MEMORY_SYSTEM_KEY"],
        "Content-Type": "application/json",
    }},
)
with urllib.request.urlopen(request) as response:
    answer = json.load(response)
{show}"""

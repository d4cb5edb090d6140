"""The guard's lines, each with an edit that turns it off and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MUTATIONS", "Edit", "Mutation"]

CLIENT = "tests/contract/test_client.py"
BOUNDS = "tests/contract/test_bounds_of_a_call.py"
ANY_INPUT = "tests/contract/test_any_input.py"
ADDRESSES = "tests/contract/test_addresses.py"
FAULT = f"{CLIENT}::test_a_hostile_server_costs_bounded_time_and_gets_its_own_reason"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces `old`, which stands exactly once in `file`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """A guard that is turned off; at least one of `tests` (pytest node ids) must fail then."""

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


CALL = "                response = await self._exchange(call, endpoint, method, headers, body, max_body)\n"

MUTATIONS = (
    Mutation(
        "address check of a resolved name",
        (
            Edit(
                "contract/guard/connect.py",
                "if reason := address_reason(address, policy):",
                "if (reason := address_reason(address, policy)) and not reason:",
            ),
        ),
        (f"{CLIENT}::test_a_public_name_that_resolves_to_this_machine_is_denied_even_at_an_allowed_port",),
    ),
    Mutation(
        "address check of a literal",
        (
            Edit(
                "contract/guard/urls.py",
                "if reason := deny_reason(host, port, policy):",
                "if (reason := deny_reason(host, port, policy)) and not reason:",
            ),
        ),
        (f"{ANY_INPUT}::test_an_allowed_target_is_exempt_at_its_port_alone",),
    ),
    Mutation(
        "list of IPv4 networks",
        (Edit("contract/guard/addresses.py", "any(address in network for network in DENY_V4)", "address.is_loopback"),),
        (f"{ADDRESSES}::test_a_private_address_is_refused_as_it_is_and_in_every_numeric_spelling",),
    ),
    Mutation(
        "list of IPv6 networks",
        (Edit("contract/guard/addresses.py", "if address not in ALLOW_V6 or any(", "if any("),),
        (f"{ADDRESSES}::test_no_transition_form_is_dialled_when_a_name_resolves_to_it",),
    ),
    Mutation(
        "ISATAP check",
        (Edit("contract/guard/addresses.py", "packed[8:12] in ISATAP", "packed[8:12] in ()"),),
        (f"{ADDRESSES}::test_no_transition_form_is_dialled_when_a_name_resolves_to_it",),
    ),
    Mutation(
        "numeric forms of IPv4",
        (Edit("contract/guard/urls.py", "if not _IPV4.fullmatch(host):", "if not host:"),),
        (f"{ADDRESSES}::test_a_private_address_is_refused_as_it_is_and_in_every_numeric_spelling",),
    ),
    Mutation(
        "number of addresses",
        (Edit("contract/guard/connect.py", "if len(addresses) > policy.max_addresses:", "if not addresses:"),),
        (f"{CLIENT}::test_a_name_with_more_than_16_addresses_is_denied",),
    ),
    Mutation(
        "peer address check",
        (Edit("contract/guard/connect.py", "if not _same_address(connected, address):", "if not address:"),),
        (f"{CLIENT}::test_a_connection_that_leads_elsewhere_than_the_checked_address_is_dropped",),
    ),
    Mutation(
        "certificate check",
        (
            Edit(
                "contract/guard/connect.py",
                "tls = (self._tls or public_tls()) if endpoint.scheme",
                "tls = ssl._create_unverified_context() if endpoint.scheme",
            ),
        ),
        (f"{CLIENT}::test_tls_asks_for_the_name_and_checks_the_certificate_against_it",),
    ),
    Mutation(
        "redirects are not followed",  # there is no flag to turn, so the edit writes the following
        (
            Edit(
                "contract/client.py",
                CALL,
                CALL
                + "                if 300 <= response.status < 400:\n"
                + "                    endpoint = parse_endpoint(response.headers['location'], self._policy)\n"
                + "    "
                + CALL,
            ),
        ),
        (f"{CLIENT}::test_a_redirect_is_reported_and_not_followed",),
    ),
    Mutation(
        "a redirect is no answer",
        (
            Edit("contract/answers.py", "    if status != 200:\n", "    if status != 200 and status >= 400:\n"),
            Edit("contract/exchange.py", "ANSWERING = (200, 202)", "ANSWERING = (200, 202, *range(300, 400))"),
        ),
        (f"{CLIENT}::test_a_redirect_is_reported_and_not_followed",),
    ),
    Mutation(
        "cookies are not kept",  # nor is there a jar, so the edit makes one
        (
            Edit(
                "contract/client.py",
                CALL,
                "                headers += getattr(self, '_jar', [])\n"
                + CALL
                + "                if 'set-cookie' in response.headers:\n"
                + "                    self._jar = [('Cookie', response.headers['set-cookie'])]\n",
            ),
        ),
        (f"{BOUNDS}::test_a_cookie_that_a_server_sets_is_never_sent_back",),
    ),
    Mutation(
        "one connection a call",
        (
            Edit(
                "contract/client.py",
                "connection = await self._connector.open(endpoint, seconds=self._budget.connect_s)",
                "connection = self.__dict__.setdefault('_kept', {}).get(endpoint.origin) or "
                "await self._connector.open(endpoint, seconds=self._budget.connect_s)\n"
                "            self._kept[endpoint.origin] = connection",
            ),
            Edit("contract/client.py", "            connection.drop()", "            pass"),
        ),
        (f"{CLIENT}::test_a_second_response_behind_the_first_never_answers_the_next_call",),
    ),
    Mutation(
        "cap on a body that comes",
        (Edit("contract/exchange.py", "if size > self.max_body:", "if size < 0:"),),
        (f"{BOUNDS}::test_reading_stops_at_the_cap_of_a_body_and_before_one_that_is_announced",),
    ),
    Mutation(
        "cap on a body that is announced",
        (Edit("contract/exchange.py", "    head.check_announced(max_body)\n", ""),),
        (f"{BOUNDS}::test_reading_stops_at_the_cap_of_a_body_and_before_one_that_is_announced",),
    ),
    Mutation(
        "cap on the number of chunks",
        (Edit("contract/exchange.py", "if chunks > CHUNKS_BEFORE_MEAN and", "if not chunks and"),),
        (f"{FAULT}[tiny chunks]",),
    ),
    Mutation(
        "content coding check",
        (Edit("contract/answers.py", 'if coding not in ("", "identity"):', "if not headers:"),),
        (f"{FAULT}[gzip]",),
    ),
    Mutation(
        "cap on the size of headers",
        (
            Edit(
                "contract/exchange.py",
                "max_incomplete_event_size=MAX_HEADER_BYTES",
                "max_incomplete_event_size=1 << 30",
            ),
        ),
        (f"{FAULT}[endless header]",),
    ),
    Mutation(
        "cap on the number of headers",
        (Edit("contract/exchange.py", "                head.check()\n", ""),),
        (f"{FAULT}[many headers]",),
    ),
    Mutation(
        "deadline of a body",
        (Edit("contract/exchange.py", "async with asyncio.timeout(budget.body_s):", "async with asyncio.timeout(4):"),),
        (f"{CLIENT}::test_a_body_slower_than_its_deadline_is_a_read_timeout",),
    ),
    Mutation(
        "the credential is taken out of what comes back",
        (
            Edit(
                "contract/client.py",
                "return judge(replace(response, body=redactor.data(response.body)))",
                "return judge(response)",
            ),
        ),
        ("tests/contract/test_redaction.py",),
    ),
)

from collections.abc import Callable
from django.http import HttpRequest, HttpResponse


def key_session(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    return get_response

"""Keeps the log readable: what strangers send is no fault of the portal."""

import logging

__all__ = ["StrangersFilter"]

_REFUSED = "aml_host_refused"


class StrangersFilter(logging.Filter):
    """Makes one warning without a traceback of a request under a host name that isn't the site's.

    Scanners send such requests all day; Django logs each as an error with its traceback, and as a bad request besides.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record of the refused host, and drop the second one about the same request."""
        request = getattr(record, "request", None)
        if record.name == "django.security.DisallowedHost":
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.exc_info = record.exc_text = None
            setattr(request, _REFUSED, True)
            return True
        return not getattr(request, _REFUSED, False)

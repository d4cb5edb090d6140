"""Keeps receipts out of the logs: Django logs the address of every request that it refuses, and a receipt stands in it.

Whoever reads a receipt in a log could open the status page and claim the key. Imports no model: logging starts first.
"""

import logging
import re

from contract.redaction import MASK

_RECEIPT = re.compile(r"(/(?:request-access/status|access-requests)/)[^/?\s\"'<>]+")


class ReceiptFilter(logging.Filter):
    """Masks the receipt in every address that a record names, in its message and in its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change `record` in place; never drops one."""
        record.msg, record.args = without_receipts(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = without_receipts(record.exc_text)
        if record.stack_info:
            record.stack_info = without_receipts(record.stack_info)
        return True


def without_receipts(text: str) -> str:
    """`text` with the receipt masked in addresses of status pages and of the API."""
    return _RECEIPT.sub(rf"\1{MASK}", text)

import logging


class RedactingFilter(logging.Filter):
    pass

"""What goes wrong with a model: a fault of the platform's own service, never of a participant."""

__all__ = ["ModelFault"]


class ModelFault(Exception):
    """A model call that gave nothing usable; the item stays unscored, to be done again.

    `code` is one of model_unreachable, model_timeout, model_status, model_malformed, model_empty, verdict_malformed,
    answer_malformed. `message` is an English template with %(name)s placeholders that `values` fill. No secret is in
    either. `transient` tells whether the same call may succeed later without a change of settings.
    """

    def __init__(self, code: str, message: str, *, transient: bool = True, **values: object) -> None:
        self.code = code
        self.message = message
        self.values = values
        self.transient = transient
        super().__init__(f"{code}: {message % values}")

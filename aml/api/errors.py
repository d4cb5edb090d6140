from rest_framework.views import exception_handler as answer_error  # noqa: F401

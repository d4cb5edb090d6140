"""The WSGI application that granian serves."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aml.settings")

_django = get_wsgi_application()

from aml.bodies import with_few_waiting  # noqa: E402  (reads the settings, which the line above has set up)
from aml.pagecache import PageCache  # noqa: E402

application = PageCache(with_few_waiting(_django))

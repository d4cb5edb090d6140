"""Addresses: pages under a language, the API and the admin site beside them."""

from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import URLPattern, URLResolver, path

urlpatterns: list[URLPattern | URLResolver] = [
    *i18n_patterns(path(f"{settings.AML_ADMIN_PATH}/", admin.site.urls)),
]

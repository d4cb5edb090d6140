from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig
from django.utils.translation import gettext_lazy as _


class SiteConfig(AppConfig):
    name = "aml"
    verbose_name = _("site")

    def ready(self) -> None:
        from aml import checks  # noqa: F401  registers the system checks


class AdminConfig(DjangoAdminConfig):
    default_site = "aml.organizer.OrganizerSite"

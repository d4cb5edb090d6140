"""The organizers' admin site: its index is the queue of what waits for a decision."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _


class OrganizerSite(admin.AdminSite):
    site_title = _("Agent Memory Leaderboard")
    site_header = _("Agent Memory Leaderboard")
    index_title = _("What waits for you")

"""What every API view behind a Leaderboard Key shares."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from submissions.authentication import HasLeaderboardKey
from submissions.keys import require_scope
from submissions.models import LeaderboardKey

_READS = {"GET", "HEAD", "OPTIONS"}


class KeyView(APIView):
    """A view that needs a key with the scope `read`, and the one that `write_scope` names to change something."""

    permission_classes = [HasLeaderboardKey]
    write_scope = "read"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        require_scope(self.key, "read" if request.method in _READS else self.write_scope)

    @property
    def key(self) -> LeaderboardKey:
        key = self.request.auth
        assert isinstance(key, LeaderboardKey)
        return key

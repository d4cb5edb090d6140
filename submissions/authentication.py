from rest_framework.authentication import BaseAuthentication


class LeaderboardKeyAuthentication(BaseAuthentication):
    pass

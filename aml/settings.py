"""All settings, read from the environment (and from `.env` beside manage.py); `.env.example` lists them.

A setting that is missing or malformed stops the start with a sentence that names it. With `DEBUG` on, everything has a
default that runs on one machine without a server; with `DEBUG` off, what protects people must be set.
"""

from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from aml.environment import Environment, in_time

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()
if (BASE_DIR / ".env").exists():
    env.read_env(str(BASE_DIR / ".env"))


def _secret(name: str, development: str) -> str:
    """A secret must be set where people rely on it; while developing a public one will do."""
    value = env.str(name, default="")
    if value:
        return value
    if DEBUG:
        return development
    raise ImproperlyConfigured(f"{name} is not set. Expected a secret of your own; .env.example shows how to make one.")


# Where this runs -----------------------------------------------------------------------------------------------------
DEBUG = env.bool("DEBUG", default=True)
VAR_DIR = Path(env.str("AML_VAR_DIR", default=str(BASE_DIR / "var"))).resolve()
try:
    VAR_DIR.mkdir(parents=True, exist_ok=True)
except OSError as error:
    raise ImproperlyConfigured(f"AML_VAR_DIR can't be made ({error.strerror}). Expected a writable folder.") from None

SECRET_KEY = _secret("SECRET_KEY", "development-only-" + "0" * 50)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"] if DEBUG else [])
AML_SITE_URL = env.str("AML_SITE_URL", default="http://127.0.0.1:8000").rstrip("/")
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# Apps ----------------------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "aml.apps.SiteConfig",
    "aml.apps.AdminConfig",
    "leaderboard.apps.LeaderboardConfig",
    "evaluation.apps.EvaluationConfig",
    "benchmarks.apps.BenchmarksConfig",
    "submissions.apps.SubmissionsConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",  # so that the form renderer below finds Django's own widgets
    "django_htmx",
    "django_q",
    "rest_framework",
    "drf_spectacular",
    "simple_history",
]

MIDDLEWARE = [
    "aml.probes.answer_probes",
    "aml.operations.logs.request_log",
    "django.middleware.security.SecurityMiddleware",
    "aml.middleware.content_security_policy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "aml.clock.organizers_time",
    "aml.bodies.refuse_crowded",
    "aml.middleware.refuse_nul",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "submissions.middleware.key_session",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "simple_history.middleware.HistoryRequestMiddleware",
]

ROOT_URLCONF = "aml.urls"
WSGI_APPLICATION = "aml.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "aml.context_processors.site",
            ],
            "builtins": ["aml.templatetags.look"],
        },
    },
]
FORM_RENDERER = "aml.forms.FormRenderer"

# Database ------------------------------------------------------------------------------------------------------------
DATABASES = {"default": env.database("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'aml.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE and WAL: with Django's default, most of many concurrent writers fail with "database is locked".
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
else:
    # Never psycopg's pool: its connections do not survive the forks of the task cluster.
    DATABASES["default"]["CONN_MAX_AGE"] = env.int("CONN_MAX_AGE", default=600)
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {"default": env.cache_at("CACHE_URL", default="locmemcache://")}

# Background work: django-q2 carries wake-ups only, the truth is in our own tables -----------------------------------
# The queue is in the database; redis://:password@host:6379/0 puts it into a Redis of its own (extra "redis").
AML_BROKER_URL = env.str("AML_BROKER_URL", default="")
if AML_BROKER_URL and find_spec("redis") is None:
    raise ImproperlyConfigured("AML_BROKER_URL is set and the package redis is missing. Install the extra redis.")
Q_CLUSTER = {
    "name": "aml",
    **({"redis": in_time(AML_BROKER_URL)} if AML_BROKER_URL else {"orm": "default"}),
    "workers": env.int("AML_WORKERS", default=2),
    "queue_limit": 1,
    "bulk": 1,
    "timeout": 2400,
    "retry": 5400,
    "max_attempts": 1,
    "ack_failures": True,
    "catch_up": False,
    "save_limit": 100,
    "recycle": 200,
    "poll": 0.2,
    "label": "Task queue",
}
AML_LEASE_S = env.float("AML_LEASE_S", default=60.0)
AML_HEARTBEAT_S = env.float("AML_HEARTBEAT_S", default=15.0)
AML_SLICE_S = env.float("AML_SLICE_S", default=240.0)
AML_REAPER_S = env.float("AML_REAPER_S", default=30.0)
# A release may set a number of its own as `limits.evidence_days`.
AML_EVIDENCE_DAYS = env.int("AML_EVIDENCE_DAYS", default=400)

# Languages and time --------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
AML_BOARD_TIME_ZONE = "Asia/Shanghai"

# Files ---------------------------------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = VAR_DIR / "media"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "evidence": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": VAR_DIR / "evidence", "file_permissions_mode": 0o600},
    },
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# Secrets of participants ---------------------------------------------------------------------------------------------
# "k2:base64,k1:base64": the first key encrypts, every key decrypts; 32 bytes each.
AML_SECRETS_KEYS = _secret("AML_SECRETS_KEYS", "dev:" + "A" * 43 + "=")
AML_KEY_PEPPER = _secret("AML_KEY_PEPPER", "development-only-pepper")

# Whom the platform may call ------------------------------------------------------------------------------------------
AML_ALLOWED_PRIVATE_TARGETS = env.list("AML_ALLOWED_PRIVATE_TARGETS", default=[])
AML_ALLOW_PRIVATE_IN_PRODUCTION = env.bool("AML_ALLOW_PRIVATE_IN_PRODUCTION", default=False)
AML_OUTBOUND_ALLOW_IPV6 = env.bool("AML_OUTBOUND_ALLOW_IPV6", default=False)
AML_OUTBOUND_DENY_NETWORKS = env.list("AML_OUTBOUND_DENY_NETWORKS", default=[])
AML_OWN_HOSTS = env.list("AML_OWN_HOSTS", default=[urlsplit(AML_SITE_URL).hostname or "", *ALLOWED_HOSTS])
if AML_ALLOWED_PRIVATE_TARGETS and not DEBUG and not AML_ALLOW_PRIVATE_IN_PRODUCTION:
    raise ImproperlyConfigured(
        "AML_ALLOWED_PRIVATE_TARGETS opens private addresses to submitted URLs and DEBUG is off. "
        "Empty it, or set AML_ALLOW_PRIVATE_IN_PRODUCTION=on for a company's internal board."
    )

# The operator's own models; without an address the offline backend answers and rules score -------------------------
AML_ANSWER_BASE_URL = env.str("AML_ANSWER_BASE_URL", default="")
AML_ANSWER_MODEL = env.str("AML_ANSWER_MODEL", default="")
AML_ANSWER_API_KEY = env.str("AML_ANSWER_API_KEY", default="")
AML_ANSWER_TOKENIZER = env.str("AML_ANSWER_TOKENIZER", default="")
AML_JUDGE_BASE_URL = env.str("AML_JUDGE_BASE_URL", default="")
AML_JUDGE_MODEL = env.str("AML_JUDGE_MODEL", default="")
AML_JUDGE_API_KEY = env.str("AML_JUDGE_API_KEY", default="")
AML_MODEL_TIMEOUT_S = env.float("AML_MODEL_TIMEOUT_S", default=120.0)

# Mail ----------------------------------------------------------------------------------------------------------------
EMAIL_CONFIG = env.mail_at("EMAIL_URL", default=f"filemail:///{VAR_DIR / 'mail'}" if DEBUG else "consolemail://")
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="leaderboard@localhost")
AML_ORGANIZER_EMAILS = env.list("AML_ORGANIZER_EMAILS", default=[])
AML_ORGANIZER_LANGUAGE = env.str("AML_ORGANIZER_LANGUAGE", default="en")

# Security ------------------------------------------------------------------------------------------------------------
AML_ADMIN_PATH = env.str("AML_ADMIN_PATH", default="admin").strip("/")
AML_TRUSTED_PROXY_COUNT = env.int("AML_TRUSTED_PROXY_COUNT", default=0)
AML_HTTPS = env.bool("AML_HTTPS", default=not DEBUG)
SECURE_SSL_REDIRECT = AML_HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if AML_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = AML_HTTPS
SECURE_HSTS_PRELOAD = AML_HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if AML_TRUSTED_PROXY_COUNT else None
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = AML_HTTPS
CSRF_COOKIE_SECURE = AML_HTTPS
SESSION_COOKIE_NAME = "__Host-aml" if AML_HTTPS else "aml"
CSRF_COOKIE_NAME = "__Host-csrf" if AML_HTTPS else "csrf"
SESSION_COOKIE_AGE = 8 * 3600
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
# Every page: own scripts and styles only, nothing inline.
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
    "object-src": ["'none'"],
}

# REST API ------------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["submissions.authentication.LeaderboardKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["aml.api.parsers.JSONObjectParser"],
    "DEFAULT_PAGINATION_CLASS": "aml.api.pagination.CursorPages",
    "DEFAULT_THROTTLE_CLASSES": ["aml.api.throttling.KeyThrottle", "aml.api.throttling.AddressThrottle"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "aml.api.errors.answer_error",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Agent Memory Leaderboard",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "TrackEnum": "submissions.models.Track.choices",
        "DivisionEnum": "submissions.models.Division.choices",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "aml.api.schema.describe_errors",
        "aml.api.schema.forget_database_ranges",
    ],
}

# Figures for Prometheus at /metrics: off while this is empty, else the token that they need
AML_METRICS = env.str("AML_METRICS", default="")

# Logs: never a request's body, never an address with a query ---------------------------------------------------------
AML_LOG_FORMAT = env.str("AML_LOG_FORMAT", default="line")
if AML_LOG_FORMAT not in {"line", "json"}:
    raise ImproperlyConfigured(f"AML_LOG_FORMAT is {AML_LOG_FORMAT!r}. Expected line or json.")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "redact": {"()": "contract.redaction.RedactingFilter"},
        "receipts": {"()": "submissions.logs.ReceiptFilter"},
        "strangers": {"()": "aml.logs.StrangersFilter"},
        "context": {"()": "aml.operations.logs.ContextFilter"},
    },
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name} {context}{message}", "style": "{"},
        "json": {"()": "aml.operations.logs.JsonFormatter"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": AML_LOG_FORMAT,
            "filters": ["context", "redact", "receipts"],
        }
    },
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "django": {"handlers": [], "level": "INFO"},  # Django's own handlers would print and mail what is not redacted
        "django.security.DisallowedHost": {"filters": ["strangers"]},
        "django.request": {"filters": ["strangers"]},
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        "openai": {"level": "WARNING"},
        "django-q": {"handlers": ["console"], "level": "WARNING", "propagate": False},
    },
}

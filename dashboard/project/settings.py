"""Django's settings; everything an operator may choose comes from the environment (deploy/README.md lists it)."""

import secrets
from pathlib import Path
from urllib.parse import urlsplit

from dashboard.project import env, logs
from dashboard.project.datadir import DataFolder, default_data

BASE_DIR = Path(__file__).resolve().parent.parent.parent

# --- Where this installation lives ------------------------------------------------------------------------------
DATA = DataFolder(Path(env.text("ROUNDWATCH_DATA") or default_data()))
PUBLIC_URL = env.web_url("ROUNDWATCH_PUBLIC_URL", DATA.last_url("http://127.0.0.1:8000"))
_public = urlsplit(PUBLIC_URL)
HTTPS = _public.scheme == "https"
# Files made of runs: written by the worker, sent by the web server.
EXPORTS = Path(env.text("ROUNDWATCH_EXPORTS") or DATA.exports)

# --- Security ----------------------------------------------------------------------------------------------------
DEBUG = env.flag("ROUNDWATCH_DEBUG")
# Reading settings never writes: `manage.py up` makes the file. A key of this process alone serves commands that need
# none, and a check says so where it would end everybody's session.
SECRET_KEY_IS_LASTING = bool(env.text("ROUNDWATCH_SECRET_KEY")) or DATA.secret_key.exists()
SECRET_KEY = (
    env.text("ROUNDWATCH_SECRET_KEY")
    or (DATA.secret_key.read_text().strip() if DATA.secret_key.exists() else "")
    or secrets.token_urlsafe(48)
)
_LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}
_public_host = f"[{_public.hostname}]" if ":" in (_public.hostname or "") else str(_public.hostname)
ALLOWED_HOSTS = sorted({*_LOOPBACK, _public_host, *env.hosts("ROUNDWATCH_HOSTS")})
# A browser on this machine may say localhost or 127.0.0.1; both are the same server. No other origin is let in.
ORIGINS = sorted(
    {PUBLIC_URL}
    | ({PUBLIC_URL.replace(_public_host, name, 1) for name in _LOOPBACK} if _public_host in _LOOPBACK else set())
)
CSRF_TRUSTED_ORIGINS = ORIGINS
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "dashboard.project.errors.no_csrf_token"
# Agents and scripts are never redirected, and health is asked on the loopback.
SECURE_REDIRECT_EXEMPT = [r"^api(?:/|$)", r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
# "same-origin" would cut the window that "Open in Perfetto" hands its trace to.
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin-allow-popups"
X_FRAME_OPTIONS = "DENY"
# In front of every route but ingest, which has limits of its own; Django would spool a larger body to disk first.
BODY_LIMIT_BYTES = 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = FILE_UPLOAD_MAX_MEMORY_SIZE = BODY_LIMIT_BYTES

# --- Rooms and parts ---------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "dashboard.project",
    "dashboard.teams",
    "dashboard.runs",
    "dashboard.live",
    "dashboard.alerts",
    "ingest",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "django_filters",
    "django_htmx",
    "heroicons",
    "ninja",
    "servestatic",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "dashboard.project.csp.content_security_policy",
    "dashboard.project.encoding.utf_8",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "dashboard.project.urls"
ASGI_APPLICATION = "dashboard.project.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "dashboard/templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["heroicons.templatetags.heroicons"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- Servers -----------------------------------------------------------------------------------------------------
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        **env.database("DATABASE_URL", DATA.database_url),
        # Under ASGI every request has a thread of its own, so connections that live with a thread would leak.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,  # a Postgres that came back is used at once
        "TEST": {"NAME": env.text("ROUNDWATCH_TEST_DATABASE", "test_roundwatch")},
    }
}
DATABASES["default"]["OPTIONS"]["pool"] = {
    "min_size": 1,
    "max_size": env.number("ROUNDWATCH_DATABASE_CONNECTIONS", 16, least=2),
    "timeout": 10,
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.redis_url("REDIS_URL", DATA.redis_url)
# Holds only what allauth counts: tries to sign in. Redis may be dead while people sign in; Postgres would write a dozen
# rows for each guess of somebody who guesses passwords, beside what ingest writes. The web server is one process, so
# its own memory holds all there is to count, for the minutes that counts live. Too few entries would let a flood of
# addresses push out the counts of others: these are at most some 10 MB.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
    }
}

# --- People ------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "teams.User"
SESSION_ENGINE = "dashboard.teams.sessions"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*"]
ACCOUNT_SIGNUP_ENABLED = False  # people are let in by an owner, never by themselves
ACCOUNT_EMAIL_VERIFICATION = "none"
# Nothing depends on an address but that it signs in: a letter to it would prove it, and there may be no mail server.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_ISSUER = f"Roundwatch {_public.hostname}"
OIDC = env.single_sign_on("ROUNDWATCH_OIDC")
OIDC_NAME = OIDC["name"] if OIDC else ""
SOCIALACCOUNT_ADAPTER = "dashboard.teams.single_sign_on.People"
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [OIDC] if OIDC else []}}
SOCIALACCOUNT_EMAIL_REQUIRED = False
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
EMAIL_HOST = env.text("ROUNDWATCH_SMTP_HOST")
EMAIL_PORT = env.number("ROUNDWATCH_SMTP_PORT", 587, least=1, most=65_535)
EMAIL_HOST_USER = env.text("ROUNDWATCH_SMTP_USER")
EMAIL_HOST_PASSWORD = env.text("ROUNDWATCH_SMTP_PASSWORD")
EMAIL_USE_TLS = env.flag("ROUNDWATCH_SMTP_TLS", default=True)
EMAIL_TIMEOUT = 10
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("ROUNDWATCH_MAIL_FROM", f"roundwatch@{_public.hostname}")

# Where webhooks may go beside the public internet: nowhere, unless the operator names networks.
WEBHOOK_NETWORKS = env.networks("ROUNDWATCH_WEBHOOK_NETWORKS")

# --- Time, words, files ------------------------------------------------------------------------------------------
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-gb"
USE_I18N = False
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "dashboard/static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "dashboard.project.wheels.WheelFiles",
]
STATIC_ROOT = DATA.static
# `up` collects before it serves, and what is collected is answered before Django (dashboard.project.assets). Without
# that (tests, a command before the first start), and to debug, servestatic's middleware takes files straight from the
# apps and wheels, looked up anew for each request.
STATIC_IS_COLLECTED = not DEBUG and (DATA.static / "staticfiles.json").exists()
_as_it_lies = "django.contrib.staticfiles.storage.StaticFilesStorage"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "dashboard.project.static.HashedFiles" if STATIC_IS_COLLECTED else _as_it_lies},
}
SERVESTATIC_USE_FINDERS = SERVESTATIC_AUTOREFRESH = not STATIC_IS_COLLECTED
SERVESTATIC_USE_MANIFEST = SERVESTATIC_USE_STATIC_ROOT = False
SERVESTATIC_KEEP_ONLY_HASHED_FILES = True
SERVESTATIC_ALLOW_ALL_ORIGINS = False
SERVESTATIC_MAX_AGE = 0
LOGGING = logs.logging_of(
    env.choice("ROUNDWATCH_LOG", logs.FORMS), env.choice("ROUNDWATCH_LOG_LEVEL", logs.LEVELS, "INFO")
)

"""Signing in at the organisation's own provider (OpenID Connect), which the operator names in the environment."""

from typing import Any

from allauth.account.utils import filter_users_by_email
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

PROVIDER = "oidc"
# What a provider that is away, or answers nonsense, makes allauth raise; the errors of its HTTP library are OSErrors.
_UNANSWERED = (OSError, OAuth2Error, KeyError, ValueError)


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """Speaks to the provider."""

    def _decode_id_token(self, app: Any, id_token: str) -> Any:
        # allauth leaves the signature unread where the token came straight from the provider; a proxy that opens TLS
        # on the way could then sign anybody in.
        self.did_fetch_access_token = False
        try:
            return super()._decode_id_token(app, id_token)
        except (KeyError, TypeError, ValueError) as error:
            raise OAuth2Error("The provider's keys or its token cannot be read.") from error


class People(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Whom the provider's word lets in: everybody, with an account that belongs to no team."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:  # noqa: ARG002
        """Whoever the provider knows gets an account; others still cannot sign up."""
        return True

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse a newcomer whose address is another account's: nobody has shown that both are one person."""
        request.signed_in_by = settings.OIDC_NAME  # type: ignore[attr-defined]
        told = sociallogin.account.extra_data
        if "userinfo" in told and "id_token" in told and told["userinfo"].get("sub") != told["id_token"].get("sub"):
            # OpenID Connect Core 1.0, 5.3.2: such an answer must not be used.
            raise ImmediateHttpResponse(_broken(request, OAuth2Error("The provider speaks of two people.")))
        if sociallogin.is_existing or sociallogin.state.get("process") == "connect":
            return
        email = sociallogin.user.email
        if email and filter_users_by_email(email):
            raise ImmediateHttpResponse(render(request, "teams/address_taken.html", {"email": email}, status=409))

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:  # noqa: ARG002
        """Back to the account's page."""
        return reverse("account")


@never_cache
@require_POST
def start(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send a person to the provider, to sign in or to connect their account with it.

    By a page that goes on by itself: browsers hold redirects of a form to the form-action of our policy.
    """
    _must_be_configured()
    try:
        answer: HttpResponse = OAuth2LoginView.adapter_view(Adapter(request, provider_id))(request)
    except _UNANSWERED as error:
        return _broken(request, error)
    if answer.status_code != 302:
        return answer
    page = render(request, "teams/leaving.html", {"target": answer["Location"], "name": settings.OIDC_NAME})
    page["Refresh"] = f"0; url={answer['Location']}"
    return page


@never_cache
@require_safe
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Take in whom the provider sends back."""
    _must_be_configured()
    try:
        answer: HttpResponse = OAuth2CallbackView.adapter_view(Adapter(request, provider_id))(request)
    except _UNANSWERED as error:
        return _broken(request, error)
    return answer


def _must_be_configured() -> None:
    if not settings.OIDC_NAME:
        raise Http404("no single sign-on")


def _broken(request: HttpRequest, error: Exception) -> HttpResponse:
    answer: HttpResponse = render_authentication_error(request, None, exception=error)
    return answer

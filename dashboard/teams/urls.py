"""Where people sign in and out, and keep their account and team; of allauth's pages only those that are styled here."""

from allauth.account import views as accounts
from allauth.mfa.base import views as second_factor
from allauth.mfa.recovery_codes import views as recovery
from allauth.mfa.totp import views as totp
from allauth.socialaccount import views as socialaccount
from django.urls import path
from django.views.generic import RedirectView

from dashboard.teams import single_sign_on, views
from dashboard.teams.pages.account import account
from dashboard.teams.pages.audit import audit_page
from dashboard.teams.pages.join import join
from dashboard.teams.pages.team import member, new_team, team
from dashboard.teams.pages.tokens import team_tokens

# allauth finds its pages by these names and this argument; there is one provider.
_PROVIDER = {"provider_id": single_sign_on.PROVIDER}

urlpatterns = [
    # A link that signs in once: GET /login/<secret>/
    path("login/<str:secret>/", views.login_link, name="login_link"),
    # With name or e-mail address and password
    path("accounts/login/", accounts.login, name="account_login"),
    path("accounts/logout/", accounts.logout, name="account_logout"),
    path("accounts/inactive/", accounts.account_inactive, name="account_inactive"),
    path("accounts/reauthenticate/", accounts.reauthenticate, name="account_reauthenticate"),
    path("accounts/password/change/", accounts.password_change, name="account_change_password"),
    path("accounts/password/set/", accounts.password_set, name="account_set_password"),
    # A second factor: an app's codes, and recovery codes
    path("accounts/2fa/", RedirectView.as_view(pattern_name="account"), name="mfa_index"),
    path("accounts/2fa/authenticate/", second_factor.authenticate, name="mfa_authenticate"),
    path("accounts/2fa/reauthenticate/", second_factor.reauthenticate, name="mfa_reauthenticate"),
    path("accounts/2fa/app/", totp.activate_totp, name="mfa_activate_totp"),
    path("accounts/2fa/app/remove/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("accounts/2fa/codes/", recovery.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("accounts/2fa/codes/new/", recovery.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("accounts/2fa/codes/download/", recovery.download_recovery_codes, name="mfa_download_recovery_codes"),
    # Single sign-on, where the operator has named a provider; POST leaves for it
    path("accounts/sso/", single_sign_on.start, _PROVIDER, name="openid_connect_login"),
    path("accounts/sso/callback/", single_sign_on.callback, _PROVIDER, name="openid_connect_callback"),
    path("accounts/sso/cancelled/", socialaccount.login_cancelled, name="socialaccount_login_cancelled"),
    # One's own account; POST changes it
    path("account/", account, name="account"),
    # An invitation; POST accepts it
    path("join/<str:secret>/", join, name="join"),
    # The team and who belongs to it; POST renames, invites, revokes
    path("team/", team, name="team"),
    path("team/members/<int:member_id>/", member, name="member"),
    path("team/tokens/", team_tokens, name="team_tokens"),
    path("team/audit/", audit_page, name="audit"),
    path("team/new/", new_team, name="new_team"),
    # POST: which team the pages show from now on
    path("teams/<slug:slug>/", views.switch_team, name="switch_team"),
]

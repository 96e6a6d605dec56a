"""Where people sign in and out and choose their team; of allauth's pages only those that are styled here."""

from allauth.account import views as accounts
from django.urls import path

from dashboard.teams import views

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
    # POST: which team the pages show from now on
    path("teams/<slug:slug>/", views.switch_team, name="switch_team"),
]

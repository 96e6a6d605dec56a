"""The page behind an invitation: join as who is signed in, sign in first, or make an account."""

from typing import TYPE_CHECKING

from allauth.account.utils import filter_users_by_email
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.password_validation import validate_password
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dashboard.teams import invitations
from dashboard.teams.access import choose_team
from dashboard.teams.models import Invitation, User
from dashboard.teams.names import all_seen

if TYPE_CHECKING:  # Django's own class takes no parameter
    UserModelForm = forms.ModelForm[User]
else:
    UserModelForm = forms.ModelForm
_GONE = 410


class PersonForm(UserModelForm):
    """Name and e-mail address of an account, neither of them another's."""

    class Meta:
        model = User
        fields = ("username", "email")
        labels = {"username": "Name", "email": "E-mail address (optional)"}
        help_texts = {"username": "Letters, digits and @ . + - _"}

    def clean_username(self) -> str:
        """One that can be read, and that nobody has, in capitals either."""
        name: str = self.cleaned_data["username"]
        if not all_seen(name):
            raise forms.ValidationError("It has characters that cannot be seen.")
        if User.objects.filter(username__iexact=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError("Somebody has this name already.")
        return name

    def clean_email(self) -> str:
        """One that nobody has."""
        email: str = self.cleaned_data["email"]
        if email and any(found.pk != self.instance.pk for found in filter_users_by_email(email)):
            raise forms.ValidationError("Somebody has this address already.")
        return email


class SignUpForm(PersonForm):
    """A new account."""

    password = forms.CharField(
        strip=False, max_length=4096, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def clean(self) -> None:
        """Hold the password to the same rules as anywhere."""
        super().clean()
        person = User(username=self.cleaned_data.get("username", ""), email=self.cleaned_data.get("email", ""))
        if "password" in self.cleaned_data:
            try:
                validate_password(self.cleaned_data["password"], person)
            except forms.ValidationError as refusal:
                self.add_error("password", refusal)

    def made(self) -> User:
        """The account, stored."""
        person = self.save(commit=False)
        person.set_password(self.cleaned_data["password"])
        person.save()
        return person


class _GoneError(Exception):
    """The invitation ended meanwhile."""


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Show an invitation; a POST accepts it. To look at it uses nothing up."""
    found = invitations.find(secret)
    if found is None:
        return _gone(request)
    if isinstance(request.user, User) and found.team.memberships.filter(user=request.user).exists():
        choose_team(request, found.team.slug)
        messages.info(request, f"You belong to “{found.team.name}” already. The invitation is still open.")
        return redirect("team")
    form = SignUpForm(request.POST if request.method == "POST" and not request.user.is_authenticated else None,
                      initial={"email": found.email})  # fmt: skip
    if request.method == "POST" and (request.user.is_authenticated or form.is_valid()):
        try:
            return _joined(request, found, form)
        except _GoneError:
            return _gone(request)
        except IntegrityError:
            form.add_error(None, "Somebody took this name or address a moment ago.")
    context = {"invitation": found, "form": form, "single_sign_on": settings.OIDC_NAME}
    return render(request, "teams/join.html", context)


def _joined(request: HttpRequest, invitation: Invitation, form: SignUpForm) -> HttpResponse:
    with transaction.atomic():
        person = request.user if isinstance(request.user, User) else form.made()
        if not invitations.accept(request, invitation, person):
            raise _GoneError
    if not request.user.is_authenticated:
        login(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])
    choose_team(request, invitation.team.slug)
    messages.success(request, f"You belong to “{invitation.team.name}” now.")
    return redirect(settings.LOGIN_REDIRECT_URL)


def _gone(request: HttpRequest) -> HttpResponse:
    return render(request, "teams/invitation_gone.html", status=_GONE)

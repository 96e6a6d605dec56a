"""A team's own pages: who belongs to it and as what, invitations, its name; and making a further team."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.teams import invitations, members
from dashboard.teams.access import choose_team, current_team, owns, person, teams_of
from dashboard.teams.meant import elsewhere
from dashboard.teams.models import Membership, Role, Team
from dashboard.teams.posted import mail_invitation, mails
from dashboard.teams.sign_in import signed_in
from dashboard.teams.teams import checked_name, found_team, rename_team

_MOST_EMAIL_CHARS = 254  # as rows hold; Django's forms would take 320


class NameForm(forms.Form):
    """What a team is called."""

    name = forms.CharField(max_length=128, label="Name of the team")

    def clean_name(self) -> str:
        """One that can be read."""
        return _told(checked_name, self.cleaned_data["name"])


class InvitationForm(forms.Form):
    """Whom to invite, and as what."""

    role = forms.ChoiceField(choices=Role.choices, initial=Role.MEMBER, label="As")
    email = forms.EmailField(required=False, max_length=_MOST_EMAIL_CHARS, label="E-mail address (optional)")


class RoleForm(forms.Form):
    """What a member is to be."""

    role = forms.ChoiceField(choices=Role.choices, label="Role")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def team(request: HttpRequest) -> HttpResponse:
    """Show the team; an owner's POST renames it, invites somebody or revokes an invitation."""
    shown = current_team(request)
    if back := elsewhere(request, shown):
        return back
    context: dict[str, Any] = {"naming": NameForm(initial={"name": shown.name}), "inviting": InvitationForm()}
    if request.method == "POST":
        if not owns(request.user, shown):
            raise PermissionDenied
        answer = _ACTS.get(request.POST.get("do", ""), _nothing)(request, shown)
        if isinstance(answer, HttpResponse):
            return answer
        context |= answer
    return render(request, "teams/team.html", context | _of(request, shown))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def member(request: HttpRequest, member_id: int) -> HttpResponse:
    """Show a member; an owner's POST changes the role or removes them, and everybody may leave."""
    rows = Membership.objects.filter(team__in=teams_of(request.user).order_by()).select_related("team", "user")
    row = get_object_or_404(rows, pk=member_id)
    own, mine = owns(request.user, row.team), row.user_id == request.user.pk
    form = RoleForm(request.POST if request.POST.get("do") == "role" else None, initial={"role": row.role})
    if request.method == "POST":
        leaving = request.POST.get("do") == "remove"
        if not own and not (mine and leaving):
            raise PermissionDenied
        try:
            if leaving:
                return _removed(request, row)
            if form.is_valid():
                members.change_role(request, row, Role(form.cleaned_data["role"]))
                messages.success(request, f"{row.user.username} is {form.cleaned_data['role']} from now on.")
                return redirect("team")
        except members.LastOwnerError as refusal:
            messages.error(request, f"Nothing was changed: {refusal}.")
            return redirect("member", row.pk)
    context = {"row": row, "team": row.team, "form": form, "owns": own, "mine": mine, "tab": "members"}
    return render(request, "teams/member.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new_team(request: HttpRequest) -> HttpResponse:
    """Ask for a name; a POST makes a team that the person owns, and shows it."""
    form = NameForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = found_team(request, person(request), form.cleaned_data["name"])
        except ValueError as refusal:
            form.add_error(None, f"No team was made: {refusal}.")
        else:
            choose_team(request, made.slug)
            messages.success(request, f"“{made.name}” is made, and you own it.")
            return redirect("team")
    return render(request, "teams/new_team.html", {"form": form})


def _removed(request: HttpRequest, row: Membership) -> HttpResponse:
    mine = row.user_id == request.user.pk
    members.remove(request, row)
    said = f"You left “{row.team.name}”." if mine else f"{row.user.username} belongs to the team no more."
    messages.success(request, said)
    return redirect("runs" if mine else "team")


def _rename(request: HttpRequest, shown: Team) -> HttpResponse | dict[str, Any]:
    form = NameForm(request.POST)
    if not form.is_valid():
        return {"naming": form}
    rename_team(request, shown, form.cleaned_data["name"])
    messages.success(request, f"The team is called “{shown.name}” from now on.")
    return redirect("team")


def _invite(request: HttpRequest, shown: Team) -> HttpResponse | dict[str, Any]:
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return {"inviting": form}
    role, email = Role(form.cleaned_data["role"]), form.cleaned_data["email"]
    try:
        link = invitations.make(request, shown, role, email)
    except invitations.TooManyError as refusal:
        form.add_error(None, f"Nobody was invited: {refusal}.")
        return {"inviting": form}
    said = mail_invitation(person(request), shown, role, email, link) if email else ""
    return {"link": link, "said": said, "invited_as": role}


def _revoke(request: HttpRequest, shown: Team) -> HttpResponse:
    key = request.POST.get("invitation", "")
    invitations.revoke(request, shown, int(key) if key.isascii() and key.isdigit() and len(key) < 19 else 0)
    messages.success(request, "That invitation no longer works.")
    return redirect("team")


def _nothing(request: HttpRequest, shown: Team) -> HttpResponse:
    return HttpResponse("There is no such thing to do with a team.", status=400, content_type="text/plain")


_ACTS = {"rename": _rename, "invite": _invite, "revoke": _revoke}


def _of(request: HttpRequest, shown: Team) -> dict[str, Any]:
    own = owns(request.user, shown)
    return {
        "team": shown, "owns": own, "tab": "members", "members": members.of(shown), "mails": mails(),
        "days": invitations.LIFETIME.days,
        "invitations": invitations.open_ones(shown).select_related("made_by") if own else [],
    }  # fmt: skip


def _told(check: Any, value: str) -> str:
    try:
        return str(check(value))
    except ValueError as refusal:
        raise forms.ValidationError(f"{str(refusal).capitalize()}.") from None

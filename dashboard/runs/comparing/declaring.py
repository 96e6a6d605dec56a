"""That conditions which differ are held comparable: said by owners and members, with a reason, and revoked by them."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.runs.comparing.conditions import Fact, conditions_of, with_declared
from dashboard.runs.comparing.sides import href, sides_of
from dashboard.runs.models import Comparable
from dashboard.runs.models.comparables import MOST_CHARS
from dashboard.teams.access import choice_of, may_change, teams_of
from dashboard.teams.audit import audit
from dashboard.teams.models import Area
from dashboard.teams.names import legible
from dashboard.teams.sign_in import signed_in

_MOST = 500  # words of a team that count, the newest
_LONGEST_KEY = (1 << 63) - 1


class ComparableForm(forms.Form):
    """Which of the conditions that differ are held comparable, and why."""

    reason = forms.CharField(
        max_length=MOST_CHARS, label="Why do they not matter here?", widget=forms.Textarea(attrs={"rows": 2})
    )

    def __init__(self, data: Any = None, *, differing: list[Fact]) -> None:
        """`differing` are the conditions that can be chosen."""
        super().__init__(data)
        self.differing = {fact.name: fact for fact in differing}
        self.fields["conditions"] = forms.MultipleChoiceField(
            choices=[(fact.name, legible(fact.label)) for fact in differing], widget=forms.CheckboxSelectMultiple,
            label="Comparable all the same",
        )  # fmt: skip

    @property
    def told(self) -> list[dict[str, Any]]:
        """What was chosen, as a row keeps it."""
        return [
            {"name": fact.name, "label": fact.label,
             "values": [{"key": value.key, "text": value.text} for value in fact.distinct]}
            for fact in map(self.differing.__getitem__, self.cleaned_data["conditions"])
        ]  # fmt: skip


def declared_of(team: UUID) -> list[Comparable]:
    """What a team holds comparable now, the newest word first."""
    rows = Comparable.objects.filter(team=team, revoked_at=None).select_related("made_by")
    return list(rows.order_by("-pk")[:_MOST])


def differing_of(found: list[Fact]) -> list[Fact]:
    """Those that differ, or are not known of a run, without a word that they are comparable."""
    return [fact for fact in found if not fact.equal and fact.declared is None]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def comparables(request: HttpRequest) -> HttpResponse:
    """List what the team holds comparable; a POST with the runs of a comparison in its URL declares it of these."""
    if request.method != "POST":
        return _list(request)
    sides = sides_of(request.user, request.GET)
    runs = [run for side in sides for run in side.runs]
    if not runs:
        raise Http404("no runs")
    team = runs[0].team
    if not may_change(request.user, team):
        raise PermissionDenied
    form = ComparableForm(
        request.POST, differing=differing_of(with_declared(conditions_of(runs), declared_of(team.pk)))
    )
    if form.is_valid():
        Comparable.objects.create(
            team=team, conditions=form.told, reason=form.cleaned_data["reason"], made_by_id=request.user.pk,
            made_at=timezone.now(),
        )  # fmt: skip
        audit(request, team, Area.COMPARABLE, f"held conditions comparable: {form.cleaned_data['reason']}")
        messages.success(request, "Recorded, with your name and reason. Whoever compares such runs sees it.")
        return redirect(href(side.runs for side in sides))
    messages.error(request, "Nothing was recorded: choose the conditions, and say why they do not matter.")
    return redirect(href(side.runs for side in sides))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def comparable(request: HttpRequest, comparable_id: int) -> HttpResponse:
    """Show one such word; a POST revokes it and leads back to the comparison whose query it brings as `back`."""
    rows = Comparable.objects.filter(team__in=teams_of(request.user).order_by(), pk=min(comparable_id, _LONGEST_KEY))
    row = get_object_or_404(rows.select_related("team", "made_by", "revoked_by"))
    allowed = may_change(request.user, row.team)
    if request.method != "POST":
        return render(request, "runs/comparable.html", {"row": row, "allowed": allowed, "tab": "comparables"})
    if not allowed:
        raise PermissionDenied
    fresh = Comparable.objects.filter(pk=row.pk, revoked_at=None)
    if fresh.update(revoked_at=timezone.now(), revoked_by=request.user.pk):
        audit(request, row.team, Area.COMPARABLE, f"revoked that conditions are comparable: {row.reason}")
        messages.success(request, "Revoked: these conditions refuse a speed-up again.")
    back = QueryDict(request.POST.get("back", "")[:4_000]).urlencode()
    return redirect(f"{reverse('compare')}?{back}" if back else reverse("comparables"))


def _list(request: HttpRequest) -> HttpResponse:
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    rows = Comparable.objects.filter(team=team).select_related("made_by", "revoked_by").order_by("-pk")[:_MOST]
    context = {"team": team, "rows": rows, "tab": "comparables", "allowed": may_change(request.user, team)}
    return render(request, "runs/comparables.html", context)

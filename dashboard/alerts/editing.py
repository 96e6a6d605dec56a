"""Pages on which a team edits its rules and channels, and sends a test."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.alerts import channels as ways
from dashboard.alerts import delivering, holding
from dashboard.alerts import rules as known
from dashboard.alerts.access import channel_for, must_change, rule_for
from dashboard.alerts.forms import ChannelForm, RuleForm
from dashboard.alerts.models import Channel
from dashboard.teams.access import current_team, may_change
from dashboard.teams.audit import audit
from dashboard.teams.meant import elsewhere
from dashboard.teams.models import Area, Team
from dashboard.teams.sign_in import signed_in

_Form = TypeVar("_Form", RuleForm, ChannelForm)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def rules(request: HttpRequest) -> HttpResponse:
    """List the team's rules; a POST makes one."""
    team = current_team(request)
    if back := elsewhere(request, team):
        return back
    if request.method == "POST":
        must_change(request, team)
    form, good = _form(RuleForm, request, team=team)
    if good:
        made = form.save()
        audit(request, team, Area.RULE, f"made the rule “{made}”")
        messages.success(request, f"The rule “{made}” holds from now on.")
        return redirect("alerts:rules")
    rows = known.of(team).prefetch_related("channels", "escalate_to")
    context = {"team": team, "rules": rows, "form": form, "allowed": may_change(request.user, team), "tab": "rules"}
    return render(request, "alerts/rules.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def rule(request: HttpRequest, rule_id: int) -> HttpResponse:
    """Show a rule; a POST changes or deletes it."""
    row = rule_for(request, rule_id)
    if request.method == "POST":
        must_change(request, row.team)
    if request.POST.get("do") == "delete":
        row.delete()
        audit(request, row.team, Area.RULE, f"deleted the rule “{row}”")
        messages.success(request, f"The rule “{row}” is gone.")
        return redirect("alerts:rules")
    form, good = _form(RuleForm, request, instance=row, team=row.team)
    if good:
        audit(request, row.team, Area.RULE, f"changed the rule “{form.save()}”")
        messages.success(request, f"The rule “{row}” is changed.")
        return redirect("alerts:rules")
    context = {"rule": row, "form": form, "allowed": may_change(request.user, row.team), "tab": "rules"}
    return render(request, "alerts/rule.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def channels(request: HttpRequest) -> HttpResponse:
    """List the team's channels; a POST makes one."""
    team = current_team(request)
    if back := elsewhere(request, team):
        return back
    if request.method == "POST":
        must_change(request, team)
    form, good = _form(ChannelForm, request, team=team)
    if good:
        made = form.save()
        audit(request, team, Area.CHANNEL, f"made the channel “{made}” ({made.way})")
        messages.success(request, f"“{made}” is kept. Send a test to see that it arrives.")
        return redirect("alerts:channel", made.pk)
    rows = [(row, _shown(row)) for row in _of(team)]
    context = {
        "team": team, "channels": rows, "none_yet": not rows, "form": form,
        "ways": ways.WAYS.values(), "allowed": may_change(request.user, team), "tab": "channels",
    }  # fmt: skip
    return render(request, "alerts/channels.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def channel(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Show a channel; a POST changes it, sends a test, or deletes it with what was sent through it."""
    row = channel_for(request, channel_id)
    if request.method == "POST":
        must_change(request, row.team)
    if (do := request.POST.get("do")) in ("test", "delete"):
        return _test(request, row) if do == "test" else _delete(request, row)
    form, good = _form(ChannelForm, request, instance=row, team=row.team)
    if good:
        audit(request, row.team, Area.CHANNEL, f"changed the channel “{form.save()}”")
        messages.success(request, f"“{row}” is changed.")
        holding.let_go(row)
        return redirect("alerts:channel", row.pk)
    context = {
        "channel": row, "form": form, "shown": _shown(row), "ways": ways.WAYS.values(),
        "allowed": may_change(request.user, row.team), "tab": "channels",
        "deliveries": row.deliveries.select_related("alert__run").prefetch_related("tries").order_by("-pk")[:20],
    }  # fmt: skip
    return render(request, "alerts/channel.html", context)


def _form(make: Callable[..., _Form], request: HttpRequest, **of: Any) -> tuple[_Form, bool]:
    """The form, filled by a POST, and whether it is good to be saved."""
    form = make(request.POST if request.method == "POST" else None, **of)
    return form, form.is_valid()


def _test(request: HttpRequest, row: Channel) -> HttpResponse:
    tried = delivering.send_test(row)
    if tried.delivered:
        messages.success(request, f"The test was delivered: {tried.answer}.")
    else:
        messages.error(request, f"The test was not delivered. {tried.answer}")
    return redirect("alerts:channel", row.pk)


def _delete(request: HttpRequest, row: Channel) -> HttpResponse:
    row.delete()
    audit(request, row.team, Area.CHANNEL, f"deleted the channel “{row}”")
    messages.success(request, f"“{row}” is gone, with what was sent through it.")
    return redirect("alerts:channels")


def _of(team: Team) -> list[Channel]:
    return list(Channel.objects.filter(team=team).order_by("name", "pk"))


def _shown(row: Channel) -> str:
    way = ways.WAYS.get(row.way)
    return way.shown(row.settings.get("to", "")) if way else ""

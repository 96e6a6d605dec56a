"""The parts of the frame around a page that need to know who looks at it."""

from typing import Any

from django import template
from django.conf import settings
from django.forms import BoundField
from django.http import HttpRequest
from django.utils.safestring import SafeString

from dashboard.teams.access import choice_of
from dashboard.teams.models import Team
from dashboard.teams.names import legible

register = template.Library()
_CHOICE = "_choice_of_the_shell"
register.filter("legible", legible)


@register.inclusion_tag("shell/team_menu.html", takes_context=True)
def team_menu(context: dict[str, Any]) -> dict[str, Any]:
    """Show the team looked at with the way to its pages, and a switch where the person belongs to several."""
    request: HttpRequest = context["request"]
    teams, team = _choice(request)
    return {"request": request, "csrf_token": context.get("csrf_token"), "teams": teams, "team": team}


@register.simple_tag(takes_context=True)
def current_team_slug(context: dict[str, Any]) -> str:
    """The slug of the team looked at, empty where there is none."""
    team = _choice(context["request"])[1]
    return "" if team is None else team.slug


def _choice(request: HttpRequest) -> tuple[list[Team], Team | None]:
    """The person's teams and the current one, looked up once for all of a page."""
    found: tuple[list[Team], Team | None] | None = getattr(request, _CHOICE, None)
    if found is None:
        found = choice_of(request)
        setattr(request, _CHOICE, found)
    return found


@register.simple_tag
def single_sign_on() -> str:
    """What the organisation's provider is called; empty where there is none."""
    return str(settings.OIDC_NAME)


@register.filter
def labelled(field: BoundField) -> SafeString:
    """Show the input of a field that has a label, without a placeholder that says the same again."""
    return field.as_widget(attrs={"placeholder": False})


@register.inclusion_tag("shell/columns.html")
def columns(*names: str) -> dict[str, Any]:
    """Show the head of a table."""
    return {"names": names}

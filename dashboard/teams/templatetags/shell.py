"""The parts of the frame around a page that need to know who looks at it."""

from typing import Any

from django import template
from django.http import HttpRequest

from dashboard.teams.access import choice_of

register = template.Library()


@register.inclusion_tag("shell/team_menu.html", takes_context=True)
def team_menu(context: dict[str, Any]) -> dict[str, Any]:
    """Show the team looked at, and a switch where the person belongs to several."""
    request: HttpRequest = context["request"]
    teams, team = choice_of(request)
    return {"request": request, "csrf_token": context.get("csrf_token"), "teams": teams, "team": team}

"""What to paste into a training, as tabs."""

from typing import Any

from django import template

from dashboard.runs import snippets as known

register = template.Library()


@register.inclusion_tag("runs/snippets.html")
def snippets() -> dict[str, Any]:
    """Show all ways, the first of them open."""
    return {"snippets": known.ALL}

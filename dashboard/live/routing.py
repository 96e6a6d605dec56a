"""The websocket path of the live view; `dashboard.project.routing` puts origin and session in front of it."""

from django.urls import re_path

from dashboard.live.consumers import LiveConsumer

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

websocket_urlpatterns = [
    re_path(rf"^ws/runs/(?P<run_id>{_UUID})/$", LiveConsumer.as_asgi()),
]

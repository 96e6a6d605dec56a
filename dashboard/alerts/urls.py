"""Pages of alerts: the inbox, and what is told to whom."""

from django.urls import path

from dashboard.alerts import news, views
from dashboard.alerts.editing import channel, channels, rule, rules

app_name = "alerts"
urlpatterns = [
    # The team's alerts, those that want somebody first
    path("alerts/", views.inbox, name="inbox"),
    # One alert and what was sent of it; POST acknowledges, silences, resolves or reopens it
    path("alerts/<uuid:alert_id>/", views.alert, name="alert"),
    # What has opened since then, for toasts on open pages
    path("alerts/news/", news.news, name="news"),
    # Every message and every try
    path("alerts/deliveries/", views.deliveries, name="deliveries"),
    # What is told; POST makes, changes or deletes
    path("alerts/rules/", rules, name="rules"),
    path("alerts/rules/<int:rule_id>/", rule, name="rule"),
    # Where to; POST makes, changes, tests or deletes
    path("alerts/channels/", channels, name="channels"),
    path("alerts/channels/<int:channel_id>/", channel, name="channel"),
]

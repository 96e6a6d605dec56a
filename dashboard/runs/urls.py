"""Pages for browsing runs."""

from django.urls import path

from dashboard.runs import arrival, conditions, connect, intervals, thresholds, trends, views

urlpatterns = [
    # The team's runs, newest first
    path("", views.run_list, name="runs"),
    # What its hosts are and may use
    path("runs/<uuid:run_id>/conditions/", conditions.conditions, name="conditions"),
    # What is measured between which boundaries of its rounds; POST defines, changes or deletes
    path("runs/<uuid:run_id>/intervals/", intervals.intervals, name="intervals"),
    path("runs/<uuid:run_id>/intervals/<int:interval_id>/", intervals.interval, name="interval"),
    # From when on something is found, in all runs of the team and in one; POST changes it
    path("thresholds/", thresholds.of_team, name="thresholds"),
    path("runs/<uuid:run_id>/thresholds/", thresholds.of_run, name="run_thresholds"),
    # How a project's runs have changed over time
    path("trends/", trends.trends, name="trends"),
    # What to install and paste, and the team's tokens
    path("connect/", connect.connect, name="connect"),
    # Whether the first record that this waits for is there
    path("connect/arrival/", arrival.arrival, name="arrival"),
    path("connect/tokens/<int:token_id>/revoke/", connect.revoke, name="revoke_token"),
]

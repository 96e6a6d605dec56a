"""Pages for browsing runs."""

from django.urls import path
from django.views.generic import RedirectView

from dashboard.runs import (
    arrival,
    conditions,
    connect,
    data,
    editing,
    exporting,
    intervals,
    list_acts,
    metrics,
    overview,
    round_table,
    thresholds,
    trends,
    views,
)
from dashboard.runs.comparing import declaring
from dashboard.runs.comparing import views as comparing
from dashboard.runs.investigating import views as investigating

urlpatterns = [
    # The team's runs, newest first
    path("", views.run_list, name="runs"),
    # Where one gets to who shortens the address of a run by hand
    path("runs/", RedirectView.as_view(pattern_name="runs")),
    # POST: something with several of them, a view saved or deleted, the columns that one sees
    path("runs/act/", list_acts.act, name="act_on_runs"),
    path("runs/views/", list_acts.views, name="run_views"),
    path("runs/columns/", list_acts.choose_columns, name="run_columns"),
    # A run's name, tags, note, star and archive; whether it is to go
    path("runs/<uuid:run_id>/edit/", editing.edit, name="edit_run"),
    path("runs/<uuid:run_id>/delete/", editing.delete, name="delete_run"),
    # A run on one page, its rounds as a table, and numbers over time with the figures of one chart
    path("runs/<uuid:run_id>/overview/", overview.overview, name="run_overview"),
    path("runs/<uuid:run_id>/rounds/", round_table.rounds, name="run_rounds"),
    path("runs/<uuid:run_id>/metrics/", metrics.metrics, name="run_metrics"),
    path("runs/<uuid:run_id>/metrics/figures", metrics.figures, name="run_metric_figures"),
    # What its hosts are and may use
    path("runs/<uuid:run_id>/conditions/", conditions.conditions, name="conditions"),
    # What is measured between which boundaries of its rounds; POST defines, changes or deletes
    path("runs/<uuid:run_id>/intervals/", intervals.intervals, name="intervals"),
    path("runs/<uuid:run_id>/intervals/<int:interval_id>/", intervals.interval, name="interval"),
    # Files of it for other programs; POST has one made
    path("runs/<uuid:run_id>/export/", exporting.exports, name="exports"),
    # What uses the disk, and how long it is kept; POST changes that
    path("data/", data.usage, name="data"),
    path("data/retention/", data.retention, name="retention"),
    # From when on something is found, in all runs of the team and in one; POST changes it
    path("thresholds/", thresholds.of_team, name="thresholds"),
    path("runs/<uuid:run_id>/thresholds/", thresholds.of_run, name="run_thresholds"),
    # Runs side by side, ?run=&run= or in sides of several, ?a=&a=&b=&b=
    path("compare/", comparing.compare, name="compare"),
    # That conditions which differ are held comparable; POST declares (with the runs as above), and revokes
    path("compare/held/", declaring.comparables, name="comparables"),
    path("compare/held/<int:comparable_id>/", declaring.comparable, name="comparable"),
    # What was found and changed, and whether later runs pass the check; POST makes, changes, adds and deletes
    path("investigations/", investigating.investigations, name="investigations"),
    path("investigations/new/", investigating.new, name="new_investigation"),
    path("investigations/<int:investigation_id>/", investigating.investigation, name="investigation"),
    # How a project's runs have changed over time
    path("trends/", trends.trends, name="trends"),
    # What to install and paste, and the team's tokens
    path("connect/", connect.connect, name="connect"),
    # Whether the first record that this waits for is there
    path("connect/arrival/", arrival.arrival, name="arrival"),
    path("connect/tokens/<int:token_id>/revoke/", connect.revoke, name="revoke_token"),
]

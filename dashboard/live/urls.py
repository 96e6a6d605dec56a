"""The map of the live view's paths."""

from django.urls import path

from dashboard.live import analysis, events, heat, stacks, views

app_name = "live"
urlpatterns = [
    path("runs/<uuid:run_id>/", views.page, name="run"),  # what people open
    path("runs/<uuid:run_id>/heat/", heat.page, name="heat"),  # a phase by worker and round, beside the median
    path("runs/<uuid:run_id>/live/heat", heat.figures, name="heat_figures"),  # its figures
    path("runs/<uuid:run_id>/live/snapshot", views.snapshot, name="snapshot"),  # what the page begins with
    path("runs/<uuid:run_id>/live/spans", views.spans, name="spans"),  # older stretches, as one pans
    path("runs/<uuid:run_id>/live/phase", views.phase, name="phase"),  # everything known of one phase
    path("runs/<uuid:run_id>/live/event", events.event, name="event"),  # everything known of one event
    path("runs/<uuid:run_id>/live/step", views.step, name="step"),  # a round by rank and phase
    path("runs/<uuid:run_id>/live/analysis", analysis.analysis, name="analysis"),  # where its time went, and why
    path("runs/<uuid:run_id>/live/stacks", stacks.stacks, name="stacks"),  # its thread stacks; a POST asks for them
]

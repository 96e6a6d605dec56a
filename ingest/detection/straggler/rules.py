"""The rules: who was slow in the judged window alone, and who has been over several rounds."""

from dataclasses import dataclass, replace

import numpy as np

from ingest.detection.facts import Flags, Ints
from ingest.detection.straggler.context import Context


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lasting:
    """An incident over several windows of one cohort's phase.

    `members` are columns that belong to it now (or did when it ended), `hits` the slow cells that it consists
    of; `opened` and `resolved` are rows, `latest` the row that its figures are taken from.
    """

    members: Ints
    hits: Flags
    opened: int
    resolved: int | None
    latest: int


def memberships(context: Context) -> Flags:
    """Who belongs to a lasting incident as of each window (windows x workers).

    A worker joins with its second slow window of three and leaves after three clean ones.
    """
    policy = context.policy
    members = np.zeros_like(context.slower)
    member, clean = members[:1].any(axis=0), np.zeros(context.slower.shape[1], np.int64)
    for at, hit in enumerate(context.slower):
        recent = context.slower[max(0, at - policy.lasting_of + 1) : at + 1].sum(axis=0)
        clean = np.where(hit, 0, clean + 1)
        member = (member & (clean < policy.clean_rounds)) | (hit & (recent >= policy.lasting_hits))
        members[at] = member
    return members


def lasting(context: Context) -> Lasting | None:
    """The newest incident among the known windows, open or over; None where there was none."""
    before = np.zeros(context.slower.shape[1], np.bool_)
    found: Lasting | None = None
    for at, member in enumerate(memberships(context)):
        if member.any() and not before.any():
            found = Lasting(
                members=np.flatnonzero(member), hits=np.zeros_like(context.slower), opened=at, resolved=None, latest=at
            )
        if found is not None and found.resolved is None:
            found = _continued(context, found, member, before, at)
        before = member
    return found


def _continued(context: Context, found: Lasting, member: Flags, before: Flags, at: int) -> Lasting:
    if not member.any():
        return replace(found, members=np.flatnonzero(before), resolved=at)
    joined = np.flatnonzero(member & ~before)
    first = max(0, at - context.policy.lasting_of + 1)
    hits = found.hits.copy()
    hits[at] = member & context.slower[at]
    hits[first : at + 1, joined] = context.slower[first : at + 1, joined]
    latest = at if hits[at].any() else found.latest
    return replace(found, members=np.flatnonzero(member), hits=hits, latest=latest)


def once(context: Context, incident: Lasting | None) -> Ints:
    """Columns that were slow in the newest window and belong to no lasting incident then."""
    slow = context.slow[-1].copy()
    if incident is not None and incident.resolved is None:
        slow[incident.members] = False
    return np.flatnonzero(slow)

"""How far ahead of now a moment of the past may lie: beyond, it was seen by a clock that was set back since."""

import datetime as dt

# Transactions commit in another order than they begin in, and shippers err about the server's clock: by less than that.
MOST_AHEAD = dt.timedelta(minutes=1)

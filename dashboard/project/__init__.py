"""The room that knows all others: settings, routing, embedded servers and the supervisor."""

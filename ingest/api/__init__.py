"""The door for agents: it authenticates, checks, queues and answers."""

"""What is known: the door for agents, the truth in Postgres, and what follows from it."""

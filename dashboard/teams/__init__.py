"""Users, teams and their tokens: who may see what. Nothing crosses teams."""

"""What Roundwatch concludes, as arithmetic on recorded phases: numpy and the standard library, nothing of ours."""

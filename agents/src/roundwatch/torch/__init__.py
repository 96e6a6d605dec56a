"""What is recorded inside a torch training: its modules import torch, and are imported when first used."""

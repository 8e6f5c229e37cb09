"""What the model can do."""

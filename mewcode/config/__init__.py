"""Configuration: its shape, its layers, where each value came from."""

"""The loop, and the ports it stands on."""

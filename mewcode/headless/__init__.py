"""The front ends without a terminal."""

"""Models behind two wire protocols."""

"""The demo: a scripted model drives the real loop, tools, permissions and archive in a throw-away project."""

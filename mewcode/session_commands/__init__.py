"""`mewcode sessions`: finds sessions again and keeps them in order."""

"""`mewcode instructions` and `mewcode prompt`: what the model is told, and where it comes from."""

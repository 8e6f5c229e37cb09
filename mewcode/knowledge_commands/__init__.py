"""`mewcode knowledge`: the documents of a project, from the shell."""

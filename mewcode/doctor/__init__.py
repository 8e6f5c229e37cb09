"""`mewcode doctor`: checks what MewCode needs, and says what to mend."""

"""What a person is answered who asks something of the notes: the same in the shell and within a session."""

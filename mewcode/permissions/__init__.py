"""What the model may do: rules, the reading of shell commands, the policy that judges each tool call."""

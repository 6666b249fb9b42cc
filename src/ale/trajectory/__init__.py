"""What is recorded: the transcript of every call that passed the gateway, and the unified trajectory built from it."""

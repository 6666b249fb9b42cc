"""The door: what an agent reaches of the world. Answers model calls, meters and bounds them, and records every one."""

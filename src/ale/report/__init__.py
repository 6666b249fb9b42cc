"""Pages for people who doubt a number: from the score to its reason to the step."""

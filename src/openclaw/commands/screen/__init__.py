"""What a person sees at a terminal: text that fits its columns, an answer while it comes, and what is waited for."""

"""What a person is asked, by us and by servers, and what becomes of it. Nothing is shown here: surfaces do that."""

"""What a user types: parsing, dispatch, and data rendered as text, table or JSON."""

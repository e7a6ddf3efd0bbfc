"""The methods of both studies: told points and values, asked for the next point."""

"""The lab loop: a space file and a table of results in, the next experiments out."""

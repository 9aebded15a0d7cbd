"""Sockets of other people's tools: each is a module that needs the tool, and that nothing else imports."""

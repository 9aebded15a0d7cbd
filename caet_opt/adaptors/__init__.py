"""Adaptors for other tools: each is a module that needs its tool, and that nothing else imports."""

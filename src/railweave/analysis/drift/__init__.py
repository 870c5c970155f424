"""Running configurations against designed ones: what differs, and what that does to traffic."""

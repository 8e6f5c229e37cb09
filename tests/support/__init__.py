"""What several tests share: stand-ins for the outside world."""

"""What operators need: logs, metrics, a doctor and backups."""

"""What a run rests on: sealed into files, opened by question, computed again, removed when its time is over."""

"""A run kept in a folder instead of a database: the same plan, collecting, answering, scoring and aggregation.

The folder holds `manifest.json` (what the run rests on), `receipts.jsonl` (a line for each attempt on the wire, with
the state of its Add or Search behind it), `retrievals.jsonl.zst` (the memories of a Search as a zstandard frame each;
the receipt says where), `answers.jsonl`, `judgements.jsonl` and, at the end, `result.json`. Nothing is ever rewritten.
A line is kept before the next step is taken, and a last line that was cut off is dropped, so that the program may be
killed at any point and goes on with the same command.
"""

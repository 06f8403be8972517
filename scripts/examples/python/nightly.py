"""Rates the reviews of a CSV overnight, into another CSV. Started again at any time, it goes on where it was.

    python nightly.py reviews.csv rated.csv nightly-2026-11-28

reviews.csv has the columns id and text, and may have others, which are kept. The last word is an id of your own,
which no other job has. The exit code is 0 only if the job succeeded: with at most 2 % of the reviews not rated.
"""

import csv
import os
import sys
from collections.abc import Iterator

from opledger import Opledger, OpledgerError

QUESTION = "Rate this review from 1 to 5. Answer with the digit alone.\n\n"


def requests(path: str) -> Iterator[tuple[str, str]]:
    """Yields a key and a prompt for each row."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if not {"id", "text"} <= set(rows.fieldnames or ()):
            raise ValueError(f"{path} has the columns {rows.fieldnames}, and needs id and text")
        for row in rows:
            yield row["id"], QUESTION + row["text"]


def run(source: str, target: str, job_id: str) -> bool:
    client = Opledger()  # OPLEDGER_URL, or opledger serve on this machine
    job = client.jobs.submit(
        job_id, requests(source), model="gemini-3.5-flash", config={"temperature": 0}, max_failures="2%",
    )
    print(job.key, "was submitted before" if job.known else "submitted", flush=True)
    job = client.jobs.wait(job_id)
    print(job.key, job.state, job.why, dict(job.counts), flush=True)
    results = {result.key: result for result in client.jobs.results(job_id)}
    new = f"{target}.new"
    with open(source, encoding="utf-8-sig", newline="") as file, open(new, "w", encoding="utf-8", newline="") as out:
        rows = csv.DictReader(file)
        rated = csv.DictWriter(out, [*(rows.fieldnames or ()), "rating", "outcome"])
        rated.writeheader()
        for row in rows:
            result = results[row["id"]]
            rated.writerow({**row, "rating": result.text, "outcome": result.outcome})
        out.flush()
        os.fsync(out.fileno())
    os.replace(new, target)  # it is whole, or not there
    return job.succeeded


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        sys.exit(0 if run(*sys.argv[1:]) else 1)
    except (OSError, ValueError, KeyError, OpledgerError) as error:
        sys.exit(f"{type(error).__name__}: {error}")

package firestore

import "time"

// CommitTimeout is how long an unanswered commit is repeated, unless RepeatCommitsFor says otherwise.
const CommitTimeout = commitTimeout

// RepeatCommitsFor sets how long the store repeats an unanswered commit. It is called before the first one.
func (s *Store) RepeatCommitsFor(d time.Duration) { s.commitTimeout = d }

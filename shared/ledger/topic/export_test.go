package topic

import "time"

// PublishTimeout is how long a topic repeats a message, unless RepeatFor says otherwise.
const PublishTimeout = publishTimeout

// RepeatFor sets how long the topic repeats a message. It is called before the first one.
func (t *Topic) RepeatFor(d time.Duration) { t.timeout = d }

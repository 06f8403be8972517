package job

import (
	"strconv"

	"github.com/opledger/opledger/shared/jsonscan"
)

// maxTokens is more tokens than one answer can have. A number that is larger, or negative, counts as 0.
const maxTokens = 1 << 40

// An answer is what a response says. A response of 32 MiB is scanned in place: of a candidate only the text
// is copied, and only for a check.
type answer struct {
	check      Check
	usage      Usage
	object     bool    // the response is an object
	candidates int     // how many there are
	decided    Outcome // by the first candidate, or by one that is done
	reason     string
	blocked    string // the word for why the prompt was blocked
	text       []byte // of the candidate that is being read
	embedded   bool   // the response has an embedding
}

// read scans a response.
func (a *answer) read(response []byte) {
	c := jsonscan.New(response)
	a.object = c.Kind() == '{'
	c.Object(func(key []byte) {
		switch string(key) {
		case "candidates":
			c.List(func(int) { a.candidate(c) })
		case "embedding":
			values := jsonscan.New(c.Member("values"))
			values.List(func(int) { a.embedded, _ = true, values.Value() })
		case "promptFeedback":
			a.blocked = string(jsonscan.Text(c.Member("blockReason")))
		case "usageMetadata":
			a.usage = readUsage(c)
		}
	})
}

// candidate reads a candidate, and lets it decide if it is the first, or the first that is done.
func (a *answer) candidate(c *jsonscan.Cursor) {
	var word, message string
	a.text = a.text[:0]
	c.Object(func(key []byte) {
		switch string(key) {
		case "finishReason":
			word = string(jsonscan.Text(c.Value()))
		case "finishMessage":
			message = string(jsonscan.Text(c.Value()))
		case "content":
			if a.check != nil && a.decided != OutcomeDone {
				a.content(c)
			}
		}
	})
	a.candidates++
	if a.decided == OutcomeDone {
		return
	}
	outcome, reason := a.finished(word, message)
	if a.candidates == 1 || outcome == OutcomeDone {
		a.decided, a.reason = outcome, reason
	}
}

// content reads the text of a candidate's parts, without the model's thoughts.
func (a *answer) content(c *jsonscan.Cursor) {
	part := func(int) {
		var text []byte
		thought := false
		c.Object(func(key []byte) {
			switch string(key) {
			case "text":
				text = jsonscan.Text(c.Value())
			case "thought":
				thought = string(c.Value()) == "true"
			}
		})
		if !thought {
			a.text = append(a.text, text...)
		}
	}
	c.In("parts", func() { c.List(part) })
}

// finished says what a candidate is by its finish reason, and by the check if it is complete.
func (a *answer) finished(word, message string) (Outcome, string) {
	outcome, known := finishReasons(word)
	switch {
	case word == "":
		return OutcomeFailed, "the candidate has no finishReason: it is not complete"
	case !known:
		return OutcomeFailed, "the finishReason is not known: " + word
	case outcome != OutcomeDone && message != "":
		return outcome, "finishReason " + word + ": " + message
	case outcome != OutcomeDone:
		return outcome, "finishReason " + word
	}
	if a.check != nil {
		if problem := a.check(a.text); problem != "" {
			return OutcomeInvalid, problem
		}
	}
	return OutcomeDone, ""
}

// outcome says what a response is.
func (a *answer) outcome() (Outcome, string) {
	blocked, known := blockReasons(a.blocked)
	switch {
	case a.candidates > 0:
		return a.decided, a.reason
	case a.embedded:
		return OutcomeDone, ""
	case known:
		return blocked, "the prompt was blocked: " + a.blocked
	case a.blocked != "":
		return OutcomeFailed, "the prompt was blocked for a reason that is not known: " + a.blocked
	case a.object:
		return OutcomeFailed, "the response has no candidate and no embedding"
	default:
		return OutcomeFailed, "there is no response"
	}
}

// readUsage reads a usageMetadata.
func readUsage(c *jsonscan.Cursor) (u Usage) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "promptTokenCount", "toolUsePromptTokenCount":
			u.Input += tokens(c.Value())
		case "candidatesTokenCount":
			u.Output = tokens(c.Value())
		case "thoughtsTokenCount":
			u.Thinking = tokens(c.Value())
		case "cachedContentTokenCount":
			u.Cached = tokens(c.Value())
		}
	})
	return u
}

// tokens reads a number of tokens: 0 of what can be none.
func tokens(value []byte) int64 {
	n, err := strconv.ParseInt(scalar(value), 10, 64)
	if err != nil || n < 0 || n > maxTokens {
		return 0
	}
	return n
}

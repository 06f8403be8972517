package canary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/gemini"
)

// A Fact is something about what Gemini sends: what is expected, on what ground, and what was seen.
type Fact struct {
	What     string `json:"what"`
	Expected string `json:"expected"`
	// Ground is documented, guessed (from public code, or by inference), or unknown.
	Ground string `json:"ground"`
	Seen   string `json:"seen"`
	// Verdict is as expected, otherwise, not seen, or new: seen for the first time.
	Verdict string `json:"verdict"`
}

// The grounds of an expectation.
const (
	documented = "documented"
	guessed    = "guessed"
	unknown    = "unknown"
)

// A question is a row of the table of what is expected of Gemini.
type question struct {
	what, expected, ground string
	// seen returns what was seen; empty: not this time. fits says whether it is as expected.
	seen func(sight) string
	fits func(seen string) bool
}

// questions are what Google documents about deliveries, and what it leaves open. Of open questions
// the expectation is what this revision relies on least: it takes every form that was ever seen.
var questions = []question{
	{"keys of the envelope", "data, timestamp, type, version", documented, envelopeKeys,
		is("data, timestamp, type, version")},
	{"data of batch.succeeded, inline input", "id, and no output_file_uri", documented, dataKeys, func(seen string) bool {
		return hasWord(seen, "id") && !hasWord(seen, "output_file_uri")
	}},
	{"form of data.id", "batches/ID36 or ID36", guessed, func(s sight) string { return s.first.idForm },
		func(seen string) bool { return seen == "batches/ID36" || seen == "ID36" }},
	{"place of the user metadata", "data.user_metadata", guessed, metadataPlace, is("data.user_metadata")},
	{"signature of a static webhook", "v1", documented, func(s sight) string {
		if s.first.signature == "token" {
			return ""
		}
		return s.first.signature
	}, is("v1")},
	{"headers with the id, the time and the signature", "webhook-id, webhook-signature, webhook-timestamp", documented,
		func(s sight) string { return webhookHeaders(s.first.headers) },
		is("webhook-id, webhook-signature, webhook-timestamp")},
	{"claims of a dynamic webhook's token", "aud, exp, iat, iss, sub", guessed, func(s sight) string {
		return strings.Join(s.first.claims, ", ")
	}, func(seen string) bool { return hasWord(seen, "aud") && hasWord(seen, "exp") }},
	{"a redelivery has the same webhook-id", "yes", documented, func(s sight) string {
		switch {
		case s.again == nil:
			return ""
		case s.again.repeated:
			return "yes"
		}
		return "no"
	}, is("yes")},
	{"a redelivery has a new webhook-timestamp", "yes", guessed, func(s sight) string {
		switch {
		case s.again == nil || s.again.arrivedAt-s.first.arrivedAt < 2*tooClose:
			return ""
		case s.again.timestampAge < s.again.arrivedAt-s.first.arrivedAt-tooClose:
			return "yes"
		}
		return "no"
	}, is("yes")},
	{"headers that only a redelivery has", "", unknown, func(s sight) string {
		if s.again == nil {
			return ""
		}
		return listed(slices.DeleteFunc(slices.Clone(s.again.headers), func(h string) bool {
			return slices.Contains(s.first.headers, h)
		}))
	}, nil},
	{"keys of a ping", "", unknown, func(s sight) string {
		if s.ping == nil {
			return ""
		}
		return listed(s.ping)
	}, nil},
}

// tooClose is below what a timestamp in whole seconds can tell.
const tooClose = 2e9 // 2 s

// compare answers the questions by what was seen.
func compare(s sight) []Fact {
	facts := make([]Fact, len(questions))
	for i, q := range questions {
		seen := q.seen(s)
		fact := Fact{What: q.what, Expected: q.expected, Ground: q.ground, Seen: seen}
		switch {
		case seen == "":
			fact.Verdict = "not seen"
		case q.fits == nil:
			fact.Verdict = "new"
		case q.fits(seen):
			fact.Verdict = "as expected"
		default:
			fact.Verdict = "otherwise"
		}
		facts[i] = fact
	}
	return facts
}

// String returns the fact on one line.
func (f Fact) String() string {
	text := fmt.Sprintf("%s: %s", f.Verdict, f.What)
	if f.Expected != "" {
		text += fmt.Sprintf(" (%s: %s)", f.Ground, f.Expected)
	}
	if f.Seen != "" && f.Seen != f.Expected {
		text += "; seen: " + f.Seen
	}
	return text
}

func is(want string) func(string) bool { return func(seen string) bool { return seen == want } }

func hasWord(text, word string) bool {
	return slices.Contains(strings.FieldsFunc(text, notInWord), word)
}

func notInWord(r rune) bool { return r == ',' || r == ' ' }

func listed(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// keys returns the keys directly below a path; the top for an empty one.
func keys(paths []string, below string) string {
	var found []string
	for _, path := range paths {
		path, _, _ = strings.Cut(path, " ")
		rest, ok := strings.CutPrefix(path, below)
		key, _, _ := strings.Cut(rest, ".")
		if ok && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	return strings.Join(found, ", ")
}

func envelopeKeys(s sight) string { return keys(s.first.paths, "") }
func dataKeys(s sight) string     { return keys(s.first.paths, "data.") }

// metadataPlace is where the correlation id stands.
func metadataPlace(s sight) string {
	for _, from := range []struct {
		paths []string
		words string
	}{{s.first.paths, ""}, {s.first.claims, "the token's "}} {
		for _, path := range from.paths {
			if place, ok := strings.CutSuffix(path, gemini.CorrelationKey+" text"); ok {
				return from.words + strings.TrimSuffix(place, ".")
			}
		}
	}
	return "nowhere"
}

// webhookHeaders are those of Standard Webhooks.
func webhookHeaders(headers []string) string {
	var found []string
	for _, h := range headers {
		if h = strings.ToLower(h); strings.HasPrefix(h, "webhook-") {
			found = append(found, h)
		}
	}
	slices.Sort(found)
	return listed(found)
}

package simulation

import (
	"bytes"
	"encoding/json"

	"github.com/opledger/opledger/shared/job"
)

// A line is one line of an object, as a check reads it: a request of an input, or what became of one.
type line struct {
	Key      string          `json:"key"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
	Outcome  job.Outcome     `json:"outcome"`
	Attempts int             `json:"attempts"`
	Batch    string          `json:"batch"`

	begin, end int64 // in the object
}

// linesOf returns the lines of an object; none of one that is not there.
func (o *objects) linesOf(name string) []line {
	held := o.held[name]
	if held == nil {
		return nil
	}
	if held.lines == nil {
		held.lines = parsed(held.content)
	}
	return held.lines
}

// parsed reads lines. One that is no JSON is a line without a key.
func parsed(content []byte) []line {
	lines := []line{}
	for at := int64(0); at < int64(len(content)); {
		text, _, _ := bytes.Cut(content[at:], []byte("\n"))
		one := line{begin: at}
		at += int64(len(text)) + 1
		one.end = at
		_ = json.Unmarshal(text, &one) // what it then is breaks an invariant
		lines = append(lines, one)
	}
	return lines
}

// requestsOf returns the keys of the requests in sources.
func (o *objects) requestsOf(sources []job.Source) []string {
	var keys []string
	for _, s := range sources {
		for _, l := range o.linesOf(s.Object) {
			if l.begin >= s.Offset && l.end <= s.Offset+s.Length {
				keys = append(keys, l.Key)
			}
		}
	}
	return keys
}

// outcomesOf returns the lines of objects.
func (o *objects) outcomesOf(list []job.Object) []line {
	var lines []line
	for _, named := range list {
		lines = append(lines, o.linesOf(named.Name)...)
	}
	return lines
}

package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A body is what a template of the field body may use. Each text is escaped for a place within the quotes of a JSON
// string; what there is not is empty.
type body struct {
	Operation, Job, State, JobKind string // Job is the id of a job, and else the operation
	Error, OutputFile              string
	Total, Succeeded, Failed       int64   // requests
	Done, Refused                  int64   // of a job
	Invalid, Truncated             int64   // of a job
	Batches, Rounds                int     // of a job
	Tokens                         int64   // of a job: input, output and thinking
	Cost                           float64 // of a job, an estimate in dollars; 0 where the model has no price
	FailedFile                     string  // of a job: the requests that were not done
	Alert, Detail                  string  // of an alert: its name, such as stuck, and what it says
	Item                           string  // the key of the item
	IdempotencyKey                 string
	Metadata                       map[string]string
	// Token is what tokenSecret holds, for receivers that want it in the body.
	Token string
}

// maxBodyBytes bounds what a template makes.
const maxBodyBytes = 1 << 20

// escaped returns a text as it stands within the quotes of a JSON string.
func escaped(text string) string {
	quoted, _ := json.Marshal(text) // a text can be encoded
	return string(quoted[1 : len(quoted)-1])
}

// bodyOf returns what a template gets of a payload.
func bodyOf(payload []byte, token string) (body, error) {
	var p struct {
		ledger.Payload
		Item struct {
			Key string `json:"key"`
		} `json:"item"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return body{}, fmt.Errorf("reading the payload: %w", err)
	}
	b := body{
		Operation: escaped(string(p.Operation)), State: escaped(string(p.State)), JobKind: escaped(p.JobKind),
		Error: escaped(p.Result.ErrorMessage), OutputFile: escaped(p.Result.OutputFile), Item: escaped(p.Item.Key),
		IdempotencyKey: escaped(p.IdempotencyKey), Metadata: map[string]string{}, Token: escaped(token),
	}
	b.Job = strings.TrimPrefix(b.Operation, string(operation.Jobs)+"/")
	if c := p.Result.Counts; c != nil {
		b.Total, b.Succeeded, b.Failed = c.Total, c.Succeeded, c.Failed
	}
	if j := p.Job; j != nil {
		b.Total, b.Succeeded, b.Failed = j.Requests, j.Done, j.NotDone()
		b.Done, b.Refused, b.Invalid, b.Truncated = j.Done, j.Refused, j.Invalid, j.Truncated
		b.Batches, b.Rounds, b.Tokens, b.FailedFile = j.Batches, j.Rounds, j.Tokens.Total(), escaped(j.FailedFile)
		if j.EstimatedCost != nil {
			b.Cost = *j.EstimatedCost
		}
	}
	if p.Alert != nil {
		b.Alert, b.Detail = escaped(p.Alert.Kind), escaped(p.Alert.Detail)
	}
	var metadata map[string]json.RawMessage
	if err := json.Unmarshal([]byte(p.Metadata), &metadata); len(p.Metadata) > 0 && err != nil {
		return body{}, fmt.Errorf("reading the metadata: %w", err)
	}
	for name, value := range metadata {
		text := string(value)
		_ = json.Unmarshal(value, &text) // what is no text stands as JSON
		b.Metadata[name] = escaped(text)
	}
	return b, nil
}

// parseBody reads a template. The error says what is wrong with it: its syntax, a field that there is not, or what
// it makes, which must be JSON for an operation that ended, for one with an alert, and for an item.
func parseBody(text string) (*template.Template, error) {
	parsed, err := template.New("body").Option("missingkey=zero").Parse(text)
	if err != nil {
		return nil, err
	}
	for _, sample := range []string{
		`{}`, `{"operation":"jobs/a","state":"FAILED","result":{"errorMessage":"\"quoted\"","counts":{"total":3}}}`,
		`{"operation":"batches/a","alert":{"kind":"stuck","detail":"for a day"}}`,
		`{"operation":"batches/a","state":"SUCCEEDED","item":{"key":"a"},"metadata":{"a":1}}`,
	} {
		if _, err := render(parsed, []byte(sample), "token"); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

// errNoJSON: a template makes a text that no receiver could read.
var errNoJSON = errors.New("it makes no JSON: put each {{…}} between the quotes of a string, or let it be a number")

// render returns what a template makes of a payload: the same of the same.
func render(t *template.Template, payload []byte, token string) ([]byte, error) {
	values, err := bodyOf(payload, token)
	if err != nil {
		return nil, err
	}
	var made strings.Builder
	if err := t.Execute(&made, values); err != nil {
		return nil, err
	}
	if made.Len() > maxBodyBytes {
		return nil, fmt.Errorf("it makes %d bytes, more than %d", made.Len(), maxBodyBytes)
	}
	if !json.Valid([]byte(made.String())) {
		return nil, errNoJSON
	}
	return []byte(made.String()), nil
}

// content returns what an attempt posts: the payload, or what the template makes of it.
func (o Options) content(task effect.Task, to target) ([]byte, error) {
	if o.Body == nil {
		return task.Payload, nil
	}
	made, err := render(o.Body, task.Payload, strings.TrimPrefix(to.header[authorization], "Bearer "))
	if err != nil {
		return nil, effect.Permanent(fmt.Errorf("making the body of the request: %w", err))
	}
	return made, nil
}

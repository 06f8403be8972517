package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	simulated "github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/operation"
)

// An upload is a file of requests at Gemini.
type upload struct {
	content []byte
	lines   []line
}

// tokens are estimated, one for four bytes.
func (u *upload) tokens() int64 { return int64(len(u.content)) / 4 }

// Made is what a batch is made of, for a job.
type made struct {
	part     operation.Key
	file     string
	requests []line
	answers  []answered // one for each request
	tokens   int64      // of the file, one for four bytes
	output   int64      // tokens of each answer
	// partial: it has a result though it did not succeed. foreign: its result has a line that nothing asked for.
	partial, foreign bool
	// invalid: it ends as FAILED because of what it was asked.
	invalid bool
}

// An answered is what Gemini makes of a request. Where it does so in one batch, it may answer in another.
type answered uint8

const (
	well    answered = iota
	longer           // it reaches the output limit
	blocked          // for good
	fault            // an error that may pass
	nothing          // the result has no line of it
	null             // the line is null
	doubled          // the result has two lines of it
)

// answersOf are what is drawn from: most requests are answered well.
var answersOf = []answered{well, well, well, well, well, well, longer, blocked, fault, nothing, null, doubled}

// differentAnswers is how many requests of a batch have an answer that is drawn.
const differentAnswers = 12

// startUpload starts a session.
func (s *service) startUpload() reply {
	s.sessions++
	session := fmt.Sprintf("%s/upload/v1beta/files?upload_id=%d", base, s.sessions)
	return reply{body: []byte("{}"), header: map[string]string{
		"X-Goog-Upload-Status": "active", "X-Goog-Upload-Url": session,
	}}
}

// finishUpload makes a file of the one piece that it is sent in.
func (s *service) finishUpload(session string, content []byte) reply {
	name := "files/in-" + session
	s.files[name] = &upload{content: content, lines: parsed(content)}
	return reply{header: map[string]string{"X-Goog-Upload-Status": "final"}, body: encoded(map[string]any{
		"file": map[string]any{"name": name, "expirationTime": s.now().Add(48 * time.Hour).UTC().Format(time.RFC3339Nano)},
	})}
}

// A creation is the body of a request that creates a batch.
type creation struct {
	Batch struct {
		DisplayName string `json:"displayName"`
		InputConfig struct {
			FileName string `json:"fileName"`
		} `json:"inputConfig"`
	} `json:"batch"`
}

// createFor creates the batch of a part, or refuses it.
func (s *service) createFor(body []byte, f fate, sent, byStore time.Time) reply {
	var asked creation
	if err := json.Unmarshal(body, &asked); err != nil {
		return failed(http.StatusBadRequest)
	}
	part, name := operation.Key(simulated.CorrelationIn(asked.Batch.DisplayName)), asked.Batch.InputConfig.FileName
	sub := s.w.submissionOf(part)
	if sub == nil {
		s.w.check.violated("a batch is created for %q, which is no part of a job [J3]", part)
		return failed(http.StatusBadRequest)
	}
	sub.creations[part]++
	s.w.check.creates(sub, part)
	s.w.check.sends(sub, part, sent, byStore)
	file := s.files[name]
	switch {
	case f == missing || file == nil:
		return failedAs(http.StatusNotFound, "NOT_FOUND", "there is no such file")
	case f == busy || s.full() || s.crowded(file.tokens()):
		return failed(http.StatusTooManyRequests)
	case f == declined:
		return s.refusal()
	}
	poisoned := slices.ContainsFunc(file.lines, func(l line) bool { return l.Key == sub.poison })
	if poisoned && s.w.gate.choose(Plan, 2) == 0 {
		return failedAs(http.StatusBadRequest, "INVALID_ARGUMENT", "a request is not valid")
	}
	b := s.startFor(sub, part, name, poisoned)
	s.w.check.created(sub, b)
	return reply{body: encoded(map[string]any{"name": b.name.Resource})}
}

// full reports whether as many batches of jobs run as may.
func (s *service) full() bool {
	running := 0
	for _, b := range s.batches {
		if state, _ := b.state(s.now()); b.made != nil && !state.Terminal() {
			running++
		}
	}
	return s.room > 0 && running >= s.room && !s.w.gate.calm
}

// refusal refuses a creation, for one of the reasons that there are.
func (s *service) refusal() reply {
	return []reply{
		failedAs(http.StatusBadRequest, "INVALID_ARGUMENT", "not in this model"),
		failedAs(http.StatusForbidden, "PERMISSION_DENIED", "not in this project"),
		failedAs(http.StatusBadRequest, "INVALID_ARGUMENT", "API key not valid"),
	}[s.w.gate.choose(Plan, 3)]
}

// startFor starts the batch of a part, and decides when and how it ends.
func (s *service) startFor(sub *submission, part operation.Key, file string, poisoned bool) *batch {
	choose := s.w.gate.choose
	ends := []operation.State{
		operation.Succeeded, operation.Succeeded, operation.Succeeded,
		operation.Failed, operation.Cancelled, operation.Expired,
	}
	after := []time.Duration{20 * time.Second, 3 * time.Minute, 9 * time.Minute, 14 * time.Minute, time.Second, 0}
	o := &order{
		id: string(part), runsAfter: 2 * time.Second, endsAfter: after[choose(Plan, len(after))],
		end: ends[choose(Plan, len(ends))], silent: choose(Plan, 3) == 1,
	}
	m := &made{
		part: part, file: file, requests: s.files[file].lines, partial: choose(Plan, 2) == 1, foreign: choose(Plan, 8) == 1,
		invalid: poisoned, tokens: s.files[file].tokens(), output: sub.output,
	}
	for i := range m.requests { // what is behind the first is answered as they are
		if i >= differentAnswers {
			m.answers = append(m.answers, m.answers[i-differentAnswers])
			continue
		}
		m.answers = append(m.answers, answersOf[choose(Plan, len(answersOf))])
	}
	if poisoned {
		o.end, o.endsAfter = operation.Failed, 20*time.Second
	}
	if o.endsAfter > 0 {
		o.endsAfter += o.runsAfter
	}
	b := s.start(o, string(part), m)
	sub.batches = append(sub.batches, b)
	return b
}

// cancelFor is asked to cancel a batch. It may be too late, or take a while.
func (s *service) cancelFor(id string) reply {
	i := slices.IndexFunc(s.batches, func(b *batch) bool { return b.name.Key.ID() == id })
	if i < 0 {
		return failed(http.StatusNotFound)
	}
	b := s.batches[i]
	if state, _ := b.state(s.now()); state.Terminal() {
		return failedAs(http.StatusBadRequest, "FAILED_PRECONDITION", "it has ended")
	}
	after := []time.Duration{2 * time.Second, 40 * time.Second, 0}[s.w.gate.choose(Plan, 3)]
	if after == 0 && !b.ends.IsZero() { // success wins the race
		return reply{body: []byte("{}")}
	}
	b.end, b.ends = operation.Cancelled, s.now().Add(max(after, time.Second))
	s.announce(b, "cancelled", b.end, b.ends, max(after, time.Second))
	return reply{body: []byte("{}")}
}

// described adds to what the API shows of a batch what it was made of, and where its result is.
func (b *batch) described(metadata map[string]any, state operation.State) map[string]any {
	metadata["inputConfig"] = map[string]any{"fileName": b.file}
	shown := map[string]any{"name": b.name.Resource, "metadata": metadata}
	if state == operation.Succeeded || b.partial && (state == operation.Cancelled || state == operation.Expired) {
		metadata["output"] = map[string]any{"responsesFile": "files/batch-" + b.name.Key.ID()}
	}
	if state == operation.Failed && b.invalid {
		shown["error"] = map[string]any{"code": 3, "message": b.result().ErrorMessage}
	}
	return shown
}

// result is what an event says beside the state.
func (b *batch) result() operation.Result {
	if b.made == nil || !b.invalid {
		return operation.Result{}
	}
	return operation.Result{ErrorCode: "INVALID_ARGUMENT", ErrorMessage: "a request is not valid"}
}

// download is the result of a batch: in another order at each read, which follows from the step. It may lack
// a line this time.
func (s *service) download(id string, lacks bool) reply {
	i := slices.IndexFunc(s.batches, func(b *batch) bool { return b.name.Key.ID() == id })
	if i < 0 || s.batches[i].made == nil {
		return failed(http.StatusNotFound)
	}
	b, step := s.batches[i], s.w.gate.steps
	if state, _ := b.state(s.now()); !state.Terminal() {
		return failed(http.StatusNotFound)
	}
	lines := b.lines()
	rand.New(rand.NewPCG(uint64(step), 1)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	if lacks && len(lines) > 0 {
		lines = lines[1:]
	}
	return reply{body: s.w.store.flaw.downloads(lines, b.requests)}
}

// lines are the lines of a batch's result.
func (b *batch) lines() []map[string]any {
	var lines []map[string]any
	for i, request := range b.requests {
		switch b.answers[i] {
		case nothing:
		case null:
			lines = append(lines, nil)
		case doubled:
			lines = append(lines, b.lineOf(request.Key, well), b.lineOf(request.Key, well))
		default:
			lines = append(lines, b.lineOf(request.Key, b.answers[i]))
		}
	}
	if b.foreign {
		lines = append(lines, b.lineOf("elsewhere", well))
	}
	return lines
}

// lineOf is the line of one request.
func (b *batch) lineOf(key string, a answered) map[string]any {
	if a == fault {
		return map[string]any{"key": key, "error": map[string]any{"code": 500, "message": "simulated"}}
	}
	if a == blocked {
		feedback := map[string]any{"blockReason": "SAFETY"}
		return map[string]any{"key": key, "response": map[string]any{
			"promptFeedback": feedback, "usageMetadata": b.reports(a),
		}}
	}
	reason := "STOP"
	if a == longer {
		reason = "MAX_TOKENS"
	}
	parts := []map[string]any{{"text": b.textFor(key)}}
	return map[string]any{"key": key, "response": map[string]any{
		"candidates":    []map[string]any{{"content": map[string]any{"parts": parts}, "finishReason": reason}},
		"usageMetadata": b.reports(a),
	}}
}

// reports returns what Gemini counts of a request.
func (m *made) reports(a answered) map[string]any {
	usage := m.usage(a)
	return map[string]any{"promptTokenCount": usage.Input, "candidatesTokenCount": usage.Output}
}

// textFor is what the batch answers to a request.
func (b *batch) textFor(key string) string { return key + " by " + string(b.name.Key) }

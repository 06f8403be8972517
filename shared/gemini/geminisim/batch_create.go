package geminisim

import (
	"cmp"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// post is what the fault plan does to one creation of a batch. refuses counts for one of an uploaded
// file, and atOnce for one that has Config.Poison: it is refused at its creation, not as its end.
type post struct {
	before, after   time.Duration
	twice, second   bool // second: the answer names the second batch
	refuses, atOnce bool
	limits, denies  bool // for one of an uploaded file, too
}

// newPost draws the faults of the next creation with this label.
func (s *Sim) newPost(label string) post {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, f := s.scriptOf(label)
	r := s.rand("post", strconv.Itoa(s.posts))
	s.posts++
	var p post
	slow, by, early := r.Float64() < f.CreatesSlow, share(r.Float64(), f.CreatesSlowBy), r.Float64() < 0.5
	switch {
	case slow && early:
		p.before = by
	case slow:
		p.after = by
	}
	p.twice, p.second = r.Float64() < f.CreatesTwice, r.Float64() < 0.5
	p.refuses, p.atOnce = r.Float64() < f.RefusedCreate, r.Float64() < 0.5
	p.limits = r.Float64() < f.CreatesLimited
	p.denies = r.Float64() < f.CreatesDenied
	if slow {
		s.countLocked(func(st *Stats) { st.CreatesSlow++ })
	}
	return p
}

func (s *Sim) createBatch(w http.ResponseWriter, r *http.Request, embeds bool) {
	var req createRequest
	if !readJSON(w, r, &req, false) {
		return
	}
	in := &req.Batch.InputConfig
	in.FileName = cmp.Or(in.FileName, in.OtherName)
	if (in.FileName == "") == (len(in.Requests.Requests) == 0) {
		writeError(w, http.StatusBadRequest, "batch.inputConfig needs one of fileName and requests.")
		return
	}
	p := s.newPost(req.Batch.DisplayName)
	s.pause(p.before)
	made, refusal := s.newBatch(&req, "models/"+r.PathValue("id"), embeds, p)
	if p.twice && refusal == nil {
		s.count(func(st *Stats) { st.CreatesTwice++ })
		if again, refusal := s.newBatch(&req, "models/"+r.PathValue("id"), embeds, p); refusal == nil && p.second {
			made = again
		}
	}
	s.pause(p.after)
	if refusal != nil {
		refusal.write(w)
		return
	}
	writeJSON(w, made)
}

// pause waits for a simulated duration, or until the simulator closes.
func (s *Sim) pause(d time.Duration) {
	if d > 0 {
		s.sleep(s.ctx, d)
	}
}

// newBatch creates and starts a batch, and returns it as the API shows it, or why it is refused. It
// reads an uploaded file without Sim.mu.
func (s *Sim) newBatch(req *createRequest, model string, embeds bool, p post) (batchOperation, *Answer) {
	in, hooks := req.Batch.InputConfig, req.Batch.WebhookConfig
	b := &operation{
		kind:         batchKind,
		label:        req.Batch.DisplayName,
		model:        model,
		embeds:       embeds,
		inputFile:    in.FileName,
		requests:     in.Requests.Requests,
		userMetadata: hooks.UserMetadata,
		uris:         hooks.URIs,
	}
	file, refusal := s.inputFile(in.FileName)
	if refusal == nil && file != nil {
		refusal = s.ask(b, file, p)
	}
	if refusal != nil {
		return batchOperation{}, refusal
	}
	s.mu.Lock()
	if refusal = s.overQuota(model, b.inputBytes()); refusal != nil {
		s.mu.Unlock()
		return batchOperation{}, refusal
	}
	s.launch(b)
	s.mu.Unlock()
	if b.tally != nil {
		b.tally() // else the first who asks counts, with s.mu
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.batch(b.now), nil
}

// inputFile returns the uploaded file of that name, or nil for one that was never uploaded here, which a
// batch may have all the same.
func (s *Sim) inputFile(name string) (*upload, *Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[name]
	switch {
	case u == nil:
		return nil, nil
	case s.isOver(u):
		return nil, refuse(http.StatusForbidden, noFile(name[len("files/"):]))
	case !u.final:
		return nil, refuse(http.StatusBadRequest, "the file "+name+" is not uploaded yet: its last bytes are missing.")
	}
	u.named = true
	return u, nil
}

// ask gives a batch what an uploaded file asks, unless that is refused.
func (s *Sim) ask(b *operation, file *upload, p post) *Answer {
	in, err := file.asks(s.cfg.Poison)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	if p.denies {
		s.count(func(st *Stats) { st.CreatesDenied++ })
		return &Answer{Status: http.StatusBadRequest, Body: errorBody(http.StatusBadRequest,
			"API key not valid. Please pass a valid API key.", map[string]any{
				"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
			})}
	}
	if p.limits {
		s.count(func(st *Stats) { st.APIRateLimited++ })
		a := s.rateLimited(OpCreate, 30*time.Second)
		return &a
	}
	b.input = in
	b.tally = sync.OnceValue(func() *tally { return b.count(s.sentKeys) })
	if p.refuses || in.poisoned && p.atOnce {
		s.count(func(st *Stats) { st.CreatesRefused++ })
		return refuse(http.StatusBadRequest, invalidArgument)
	}
	return nil
}

// invalidArgument is what Gemini says about a batch that it refuses as a whole: it names no request.
const invalidArgument = "Request contains an invalid argument."

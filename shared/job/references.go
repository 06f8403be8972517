package job

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/jsonscan"
)

// MostReferences bounds the different files and caches of one job that are looked up. Those beyond are left to Gemini.
const MostReferences = 10_000

// References are the files and caches at Gemini that the requests of a job name: each expires [J15].
type References struct {
	// List is the object of job storage that has each of them, with what Gemini last said of it; Count is how many.
	List  Object `json:"list,omitzero" firestore:"list,omitempty"`
	Count int64  `json:"count,omitempty" firestore:"count,omitempty"`
	// Round is that of the parts before which they were looked up last; 0: they were not yet.
	Round int `json:"round,omitempty" firestore:"round,omitempty"`
	// Gone is how many of them Gemini did not have then, First the first of those.
	Gone  int64  `json:"gone,omitempty" firestore:"gone,omitempty"`
	First string `json:"first,omitempty" firestore:"first,omitempty"`
	// Open is how many requests that were not sent yet named one of those.
	Open int64 `json:"open,omitempty" firestore:"open,omitempty"`
	// Expires is when the first of the others does; zero: none does, as far as Gemini has said.
	Expires time.Time `json:"expires,omitzero" firestore:"expires,omitempty"`
	// Refused is how many requests have ended for what they name, Held with how many the job was last held for that.
	Refused int64 `json:"refused,omitempty" firestore:"refused,omitempty"`
	Held    int64 `json:"held,omitempty" firestore:"held,omitempty"`
}

// A LookUp is how far a part is that has the job's references looked up before it is started.
type LookUp string

// The progress of a look-up; empty: the part needs none, or it is not known yet.
const (
	LookUpPlanned LookUp = "PLANNED" // an effect asks Gemini
	LookUpDone    LookUp = "DONE"    // the job has taken over what was found
)

// reference is how a request names a file or a cache: by its name, or by the address that Gemini gave it.
var reference = diag.Pattern(
	`^(?:https://generativelanguage\.googleapis\.com/(?:download/)?v1\w*/)?` +
		`((?:files|cachedContents)/[\w-]{1,100})(?::download)?(?:\?.*)?$`)

// ReferencesIn calls found with each file and cache at Gemini that a request names, as files/… and cachedContents/….
// Other addresses are none, such as gs://….
func ReferencesIn(body []byte, found func(name string)) {
	if !bytes.Contains(body, []byte("files")) && !bytes.Contains(body, []byte("cachedContents")) {
		return
	}
	r := referring{jsonscan.New(body), func(value []byte) {
		if name := reference().FindSubmatch(jsonscan.Text(value)); name != nil {
			found(string(name[1]))
		}
	}}
	r.Object(func(key []byte) {
		switch plainName(string(key)) {
		case "cachedcontent":
			r.found(r.Value())
		case "contents", "content", "systeminstruction":
			r.each(r.content)
		}
	})
}

// A referring is a request whose references are read.
type referring struct {
	*jsonscan.Cursor
	found func(value []byte)
}

// each reads a list of values, or the one that stands in its place.
func (r referring) each(read func()) {
	if r.Kind() == '[' {
		r.List(func(int) { read() })
	} else {
		read()
	}
}

func (r referring) content() {
	r.member("parts", func() {
		r.each(func() {
			r.Object(func(key []byte) {
				switch plainName(string(key)) {
				case "filedata":
					r.fileData()
				case "functionresponse":
					r.member("parts", func() { r.each(func() { r.member("filedata", r.fileData) }) })
				}
			})
		})
	})
}

func (r referring) fileData() { r.member("fileuri", func() { r.found(r.Value()) }) }

// member reads the members of an object that have a name.
func (r referring) member(name string, read func()) {
	r.Object(func(key []byte) {
		if plainName(string(key)) == name {
			read()
		}
	})
}

// due reports whether the references of the job are to be looked up before a part is started: they were not yet before
// its round, or one of them has expired since.
func (r References) due(p Part, now time.Time) bool {
	expired := !r.Expires.IsZero() && !now.Before(r.Expires)
	return r.Count > 0 && p.LookUp != LookUpDone && (p.Round > r.Round || expired)
}

// references takes over what look-ups have found. Where more requests would end refused than the job tolerates, and
// than it was held for before, it is held: nothing of them was sent yet [J15].
func (n *next) references() {
	if n.Job.Hold != nil && n.Job.Hold.Reason != HeldByCost { // what was found may hold it once it goes on
		return
	}
	n.each(func(p Part) bool {
		if p.LookedUp == nil || p.LookedUp.Round == 0 {
			return true
		}
		found, known := *p.LookedUp, n.Job.References
		p.LookUp, p.LookedUp = LookUpDone, nil
		n.put(p)
		found.Count, found.Refused, found.Held = known.Count, known.Refused, known.Held
		if would := found.Refused + found.Open; found.Open > 0 && would > found.Held && !n.Job.Ending() &&
			n.Job.Options.MaxFailures.Exceeded(would, n.Job.Input.Requests) {
			found.Held = would
			besides := ""
			if found.Refused > 0 {
				besides = fmt.Sprintf(", besides %d that ended so", found.Refused)
			}
			n.hold(HeldByReferences, "%d of %d requests name files or caches that Gemini does not have any more, such as "+
				"%s%s, and --max-failures allows %s", found.Open, n.Job.Input.Requests, found.First, besides,
				n.Job.Options.MaxFailures.orZero())
		}
		n.Job.References = found
		return true
	}, Planned)
}

// refuse counts the requests of a part that end for what they name. The others are another part, of the same round; so
// are all, where what one names has expired since it was looked up [J15].
func (n *next) refuse(p Part) {
	n.Job.Counts = n.Job.Counts.Add(p.Counts)
	n.Job.References.Refused += p.Counts.Refused
	n.fail(p.Failures)
	switch {
	case len(p.Pieces) == 0:
	case n.Job.Ending() || n.full(1):
		n.drop(p.Round, p.Pieces)
	default:
		n.create(p.Round, n.rootOf(p), p.Depth, slices.Clone(p.Pieces))
	}
	p.State = Consumed
	n.put(p)
}

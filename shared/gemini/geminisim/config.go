package geminisim

import (
	"cmp"
	"net/http"
	"time"
)

// Config says what to simulate. The zero value is a Gemini without faults that runs at real speed.
type Config struct {
	// Seed is the random seed of ids, secrets, plans and faults. The same seed gives the nth
	// operation of a kind the same plan and the same ids.
	Seed uint64
	// Faults holds the share of each fault. Zero: no faults.
	Faults Faults
	// Speed divides every duration of the simulator, so that 60 makes a minute pass in a second. 0
	// and below mean 1.
	Speed float64
	// Now is the clock for times on the wire; nil means time.Now. It must be safe for concurrent
	// use. Waiting does not depend on it.
	Now func() time.Time
	// HTTP sends the deliveries. Nil means a client of the simulator's own. With any client,
	// redirects are not followed, and an attempt ends after 10 s divided by Speed, but not before 2
	// s of real time.
	HTTP *http.Client
	// RunTime is the least and the greatest duration of an operation, before Speed. Zero means
	// LeastRunTime and MostRunTime; Google's target is 24 hours.
	RunTime [2]time.Duration
	// ResultsKept is how long a result is there after the end of its operation, by Now. Zero means
	// six weeks, as the batch guide says.
	ResultsKept time.Duration
	// Folder is where uploaded files are kept. Their content stays there until the file is deleted and
	// no creation has named it; the caller removes the folder after Close. Empty: in memory.
	Folder string
	// MaxUpload is how many bytes an uploaded file may have. Zero means 2 GiB in a Folder (documented),
	// and 32 MiB in memory.
	MaxUpload int64
	// Quotas are the limits of the project. Zero: none.
	Quotas Quotas
	// Poison is a text that makes Gemini refuse the whole batch of an uploaded file, at its creation or
	// as its end, where a line has it: a request that is not valid. Script's Hold and Final take
	// precedence. Empty: none does.
	Poison string
	// CountKeys counts how often each key of an uploaded file was sent in a batch: see Sim.Sent. It
	// costs about 60 bytes of memory a key.
	CountKeys bool
	// NineEvents adds batch.cancelled and interaction.cancelled, which only older pages name, to
	// the events that a webhook can subscribe to. By default they are refused, as the live API was
	// reported to do.
	NineEvents bool
	// ShuffleLists lists batches in an order that depends on the seed alone, instead of newest
	// first. The order is undocumented.
	ShuffleLists bool
	// MetadataIn is the place of an operation's user metadata in an event.
	MetadataIn MetadataPlace
	// Audience and Issuer are the aud and iss of the tokens that sign dynamic deliveries. Both are
	// undocumented. An empty Audience means the target uri, an empty Issuer
	// https://accounts.google.com, as public receivers expect.
	Audience string
	Issuer   string
	// Claims returns claims to add to the token for a delivery of this body; a nil value removes a
	// claim. Nil adds nothing, so that the token does not bind the body.
	Claims func(body []byte) map[string]any
}

// resultsKept is how long results are kept by default (documented).
const resultsKept = 6 * 7 * 24 * time.Hour

// gone reports whether the result of an operation that ended then is no longer kept.
func (c Config) gone(ended time.Time) bool {
	return !ended.IsZero() && c.Now().Sub(ended) > cmp.Or(c.ResultsKept, resultsKept)
}

// The bounds of the duration of an operation where Config.RunTime gives none.
const (
	LeastRunTime = time.Minute
	MostRunTime  = 10 * time.Minute
)

// MetadataPlace is a place for an operation's user metadata in its events. Every event has it, but
// its place is undocumented: these are the places that public receivers read.
type MetadataPlace string

const (
	MetadataInData        MetadataPlace = ""            // data.user_metadata
	MetadataAtTop         MetadataPlace = "top"         // user_metadata, beside data
	MetadataInInteraction MetadataPlace = "interaction" // data.interaction.user_metadata
	MetadataInClaims      MetadataPlace = "claims"      // user_metadata, only in the token of a dynamic delivery
)

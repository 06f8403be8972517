package geminisim

import (
	"net/http"
	"time"
)

// Config says what to simulate. The zero value is a Gemini without faults that runs at real speed.
type Config struct {
	// Seed is where all randomness comes from: ids, secrets, plans, faults. The same seed gives the
	// same plan to the nth job of a kind, and the same ids.
	Seed uint64
	// Faults is what goes wrong, and how often. Zero: nothing.
	Faults Faults
	// Speed divides every duration of the simulator, so that 60 makes a minute pass in a second. 0
	// and below mean 1.
	Speed float64
	// Now is the clock for what is written on the wire, nil means time.Now. It must be safe for
	// concurrent use. Waiting does not follow it.
	Now func() time.Time
	// HTTP sends the deliveries. Nil means a client of the simulator's own. Redirects are never
	// followed and an attempt is given up after 10 s divided by Speed, though never before 2 s of
	// real time, whichever client it is.
	HTTP *http.Client
	// RunTime is the least and the greatest time from creation to the end of a job, before Speed.
	// Zero means 1 to 10 minutes; Google's target is 24 hours.
	RunTime [2]time.Duration
	// NineEvents adds batch.cancelled and interaction.cancelled, which only older pages name, to
	// the events that a webhook can subscribe to and that are sent. Without it they are refused, as
	// reported of the live API.
	NineEvents bool
	// ShuffleLists lists batches in an order that follows from the seed alone, instead of newest
	// first. No order is documented.
	ShuffleLists bool
	// MetadataIn is where in an event a job's user metadata stands.
	MetadataIn MetadataPlace
	// Audience and Issuer are the aud and iss of the tokens that sign dynamic deliveries. Both are
	// documented nowhere. An empty Audience means the uri that is delivered to, an empty Issuer
	// https://accounts.google.com: what receivers on public record expect.
	Audience string
	Issuer   string
	// Claims returns what to add to the claims of the token for a delivery of this body, or to take
	// out of them where the value is nil. Nil adds nothing: the token does not say what it signs.
	Claims func(body []byte) map[string]any
}

// MetadataPlace is a place for a job's user metadata in its events. That it is in every event is
// documented, where is not: these are the places where receivers look.
type MetadataPlace string

const (
	MetadataInData        MetadataPlace = ""            // data.user_metadata
	MetadataAtTop         MetadataPlace = "top"         // user_metadata, beside data
	MetadataInInteraction MetadataPlace = "interaction" // data.interaction.user_metadata
	MetadataInClaims      MetadataPlace = "claims"      // user_metadata, only in the token of a dynamic delivery
)

package steps

import (
	"golang.org/x/time/rate"

	"github.com/opledger/opledger/shared/effect"
)

// InChunks returns o with objects of results that are recorded once they have so many bytes.
func (o Options) InChunks(bytes int64) Options {
	o.bounds.chunkBytes = bytes
	return o
}

// WithParts returns o with jobs of at most so many parts, of which one commit creates up to each.
func (o Options) WithParts(most, each int) Options {
	o.bounds.parts, o.bounds.cut = most, each
	return o
}

// WithReferences returns o with jobs of which so many references are looked up.
func (o Options) WithReferences(most int) Options {
	o.bounds.references = most
	return o
}

// WithLookUps returns o with another limit of look-ups.
func (o Options) WithLookUps(limit *rate.Limiter) Options {
	o.lookUps = limit
	return o
}

// LookUps returns the limit of look-ups of a step's handler.
func LookUps(h effect.Handler) *rate.Limiter { return h.(step).lookUps }

package geminisim

import (
	"crypto/sha256"
	"iter"
	"maps"
	"sync"
)

// sentKeys counts how often each key was sent, by 16 bytes of its digest.
type sentKeys struct {
	mu     sync.Mutex // after Sim.mu
	counts map[[16]byte]uint16
	again  map[string]int // those that were sent more than once, in full
}

func newSentKeys(wanted bool) *sentKeys {
	if !wanted {
		return nil
	}
	return &sentKeys{counts: make(map[[16]byte]uint16), again: make(map[string]int)}
}

func keyDigest(key string) [16]byte {
	sum := sha256.Sum256([]byte(key))
	return [16]byte(sum[:16])
}

// add counts a key once more, and returns how often it was sent by now.
func (k *sentKeys) add(key string) uint16 {
	digest := keyDigest(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counts[digest]++
	n := k.counts[digest]
	if n > 1 {
		k.again[key] = int(n)
	}
	return n
}

// Sent returns how often a key of uploaded files was sent, in any batch that was created, whatever
// became of it. Without Config.CountKeys it is 0.
func (s *Sim) Sent(key string) int {
	if s.sentKeys == nil {
		return 0
	}
	s.sentKeys.mu.Lock()
	defer s.sentKeys.mu.Unlock()
	return int(s.sentKeys.counts[keyDigest(key)])
}

// SentAgain returns each key that was sent more than once, in no order, and how often. It shows what was
// sent until SentAgain was called.
func (s *Sim) SentAgain() iter.Seq2[string, int] {
	if s.sentKeys == nil {
		return maps.All(map[string]int(nil))
	}
	s.sentKeys.mu.Lock()
	defer s.sentKeys.mu.Unlock()
	return maps.All(maps.Clone(s.sentKeys.again))
}

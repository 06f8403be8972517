package results

import "github.com/opledger/opledger/shared/storage"

// Buckets is the Cloud Storage that Do with a bucket writes to.
type Buckets = storage.Buckets

// NewBuckets is [storage.NewBuckets].
func NewBuckets(emulator string) *Buckets { return storage.NewBuckets(emulator) }

// ErrNoBucket is [storage.ErrNoBucket].
var ErrNoBucket = storage.ErrNoBucket

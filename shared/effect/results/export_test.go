package results

import "github.com/opledger/opledger/shared/operation"

// InSmallChunks sends objects in the smallest chunks that Cloud Storage takes.
func (b *Buckets) InSmallChunks() *Buckets {
	b.chunk = 256 << 10
	return b
}

// ObjectName returns the name of the object that an effect writes to a bucket without a prefix.
func ObjectName(key operation.Key, effect string) string { return folder{}.object(key, effect) }

package operation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// A KeyHash stands for the key of an item where many are held in memory: the first 16 bytes of its
// SHA-256, which are enough to tell keys apart.
type KeyHash [16]byte

// HashKey returns the hash of an item's key.
func HashKey(key string) KeyHash {
	sum := sha256.Sum256([]byte(key))
	return KeyHash(sum[:16])
}

// A KeySum is a digest of a set of item keys, in which their order does not matter: the sum of their
// hashes. Zero stands for none.
type KeySum struct{ high, low uint64 }

// With returns the digest of the set with one more key, which must not be in it.
func (s KeySum) With(key KeyHash) KeySum {
	low, carry := bits.Add64(s.low, binary.BigEndian.Uint64(key[8:]), 0)
	high, _ := bits.Add64(s.high, binary.BigEndian.Uint64(key[:8]), carry)
	return KeySum{high, low}
}

// String returns 32 hexadecimal digits; empty for no key.
func (s KeySum) String() string {
	if s == (KeySum{}) {
		return ""
	}
	text := binary.BigEndian.AppendUint64(nil, s.high)
	return hex.EncodeToString(binary.BigEndian.AppendUint64(text, s.low))
}

// ParseKeySum returns the digest that String wrote, and the zero KeySum for any other text.
func ParseKeySum(text string) KeySum {
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(KeyHash{}) {
		return KeySum{}
	}
	return KeySum{}.With(KeyHash(sum))
}

package job

import (
	"encoding/binary"

	"github.com/opledger/opledger/shared/operation"
)

// keyLists is into how many lists the keys are divided: of a million keys, some 60 are in each.
const keyLists = 1 << 14

// A keyLines finds the line of each key. Lists hold a million keys in half of a map's memory, and lines are
// read more slowly than a list is searched.
type keyLines [keyLists][]keyLine

type keyLine struct {
	key  operation.KeyHash
	line uint32
}

// add adds a key with its line, unless there is one: then it returns the line of that.
func (k *keyLines) add(key operation.KeyHash, line uint32) (first uint32, repeated bool) {
	list := &k[binary.BigEndian.Uint16(key[:])%keyLists]
	for i := range *list {
		if (*list)[i].key == key {
			return (*list)[i].line, true
		}
	}
	if n := len(*list); n == cap(*list) {
		*list = append(make([]keyLine, 0, n+n/8+4), *list...) // append alone would double it
	}
	*list = append(*list, keyLine{key, line})
	return line, false
}

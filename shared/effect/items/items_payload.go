package items

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// A payload is the effect's, from which that of each item is made.
type payload map[string]json.RawMessage

func (p *payload) parse(frozen []byte) (ledger.Payload, error) {
	var completion ledger.Payload
	if err := errors.Join(json.Unmarshal(frozen, &completion), json.Unmarshal(frozen, p)); err != nil {
		return completion, fmt.Errorf("reading the payload of the effect: %w", err)
	}
	return completion, nil
}

// of returns the payload of one item: the completion's own members as they were frozen, with the
// item's key and the item. The bytes depend on the frozen payload and the result alone, so they are
// the same on every attempt.
func (p payload) of(item results.Item, idempotencyKey string) ([]byte, error) {
	size := len(item.Response) + len(item.Error) + MaxPayloadRest
	for name, value := range p {
		size += len(name) + len(value)
	}
	// One buffer that is large enough, into which the item is copied once: it may have 32 MiB.
	text := bytes.NewBuffer(make([]byte, 0, size))
	about := []Member{{"key", item.Key}, {"response", item.Response}}
	if item.Error != nil {
		about = []Member{{"error", item.Error}, {"key", item.Key}}
	}
	members := []Member{{"idempotencyKey", idempotencyKey}, {"item", about}}
	for name, value := range p {
		if name != "idempotencyKey" && name != "item" {
			members = append(members, Member{name, value})
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	if err := Splice(text, members); err != nil {
		return nil, fmt.Errorf("encoding the payload of item %s: %w", item.Key, err)
	}
	return text.Bytes(), nil
}

// MaxPayloadRest is more than what a payload has beside the item and the frozen members, in bytes.
const MaxPayloadRest = 8 << 10

// A Member is one of a JSON object: its value is a text, JSON, or further members.
type Member struct {
	Name  string
	Value any
}

// Splice writes an object with these members on one line. It copies each value once, where to has
// room for it.
func Splice(to *bytes.Buffer, members []Member) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false) // the model's text stays as it is
	write := func(text string) error {
		err := encoder.Encode(text)
		to.Truncate(to.Len() - len("\n"))
		return err //nolint:wrapcheck // the caller says of what
	}
	for i, m := range members {
		to.WriteByte("{,"[min(i, 1)])
		err := write(m.Name)
		to.WriteByte(':')
		switch value := m.Value.(type) {
		case string:
			err = errors.Join(err, write(value))
		case []Member:
			err = errors.Join(err, Splice(to, value))
		case json.RawMessage:
			if value == nil {
				value = json.RawMessage("null")
			}
			err = errors.Join(err, json.Compact(to, value))
		}
		if err != nil {
			return err
		}
	}
	to.WriteByte('}')
	return nil
}

package results

import (
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/gemini/api"
)

// inline reads the items in a batch's own JSON. The batch has them twice, in metadata.output and in
// response; only the first is read.
type inline struct {
	json *api.JSON
	done bool // the batch has ended, where find found no items
}

func newInline(body io.Reader) *inline { return &inline{json: api.NewJSON(body)} }

// errFound ends the search in the middle of the answer.
var errFound = errors.New("found")

// find enters the first list of items that is not empty. Without one, it returns the file that the
// batch names, if any.
func (i *inline) find() (file string, found bool, err error) {
	output := func(member string) error {
		switch member {
		case "responsesFile":
			return i.json.Text(&file)
		case "inlinedResponses", "inlinedEmbedContentResponses":
			return i.json.Object(func(string) error { return i.enterList() })
		}
		return i.json.Skip()
	}
	err = i.json.Object(func(member string) error {
		switch member {
		case "done":
			return i.json.Bool(&i.done)
		case "metadata":
			return i.json.Object(func(member string) error {
				if member == "output" {
					return i.json.Object(output)
				}
				return i.json.Skip()
			})
		case "response":
			return i.json.Object(output)
		}
		return i.json.Skip()
	})
	if errors.Is(err, errFound) {
		return "", true, nil
	}
	return file, false, err
}

// enterList returns errFound inside a non-empty list, and skips any other value.
func (i *inline) enterList() error {
	found, err := i.json.EnterList()
	if found {
		return errFound
	}
	return err
}

// next returns the text of the next item of the list that find entered.
func (i *inline) next() ([]byte, error) {
	item, err := i.json.Item()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("downloading the results: %w", err)
	}
	return item, err //nolint:wrapcheck // io.EOF must stay io.EOF
}

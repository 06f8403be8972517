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
	items := func(s *api.JSON) error { return s.Object(func(string) error { return i.enterList() }) }
	output := api.Object(api.Members{
		"responsesFile": api.Text(&file), "inlinedResponses": items, "inlinedEmbedContentResponses": items,
	})
	batch := api.Object(api.Members{
		"done": api.Bool(&i.done), "metadata": api.Object(api.Members{"output": output}), "response": output,
	})
	err = batch(i.json)
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

package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Quotas are how many tokens of its input the unfinished batches of a model may have, by the model's name.
type Quotas map[string]int64

// UnmarshalText reads pairs such as gemini-3.5-flash=3000000, separated by white space. The error joins a problem for
// each that is none.
func (q *Quotas) UnmarshalText(text []byte) error {
	read := Quotas{}
	var problems []error
	for _, pair := range strings.Fields(string(text)) {
		model, number, _ := strings.Cut(pair, "=")
		model = ModelName(model)
		tokens, err := strconv.ParseInt(number, 10, 64)
		switch _, twice := read[model]; {
		case err != nil || tokens < 1 || model == "":
			problems = append(problems, fmt.Errorf("%q is not MODEL=TOKENS, such as gemini-3.5-flash=3000000", pair))
		case twice:
			problems = append(problems, fmt.Errorf("%s has two quotas", model))
		default:
			read[model] = tokens
		}
	}
	*q = read
	return errors.Join(problems...)
}

// String returns the quotas in the form that UnmarshalText reads, in one order.
func (q Quotas) String() string {
	var pairs []string
	for _, model := range slices.Sorted(maps.Keys(q)) {
		pairs = append(pairs, model+"="+strconv.FormatInt(q[model], 10))
	}
	return strings.Join(pairs, " ")
}

package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// parseModels reads pairs MODEL=VALUE, separated by white space. form is what a pair must be. The error joins a problem
// for each pair that is malformed, or the second of its model.
func parseModels[V any](text []byte, form string, parse func(string) (V, error)) (map[string]V, error) {
	read := map[string]V{}
	var problems []error
	for _, pair := range strings.Fields(string(text)) {
		model, value, _ := strings.Cut(pair, "=")
		model = ModelName(model)
		parsed, err := parse(value)
		switch _, twice := read[model]; {
		case err != nil || model == "":
			problems = append(problems, fmt.Errorf("%q is not %s", pair, form))
		case twice:
			problems = append(problems, fmt.Errorf("%q is the second of %s", pair, model))
		default:
			read[model] = parsed
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return read, nil
}

// formatModels returns pairs in the form that parseModels reads, in one order.
func formatModels[V any](of map[string]V, format func(V) string) string {
	var pairs []string
	for _, model := range slices.Sorted(maps.Keys(of)) {
		pairs = append(pairs, model+"="+format(of[model]))
	}
	return strings.Join(pairs, " ")
}

package job

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Price is what tokens of a model cost, in dollars per million. What is computed with it is an estimate.
type Price struct {
	Input  float64 `json:"input" firestore:"input"`
	Output float64 `json:"output" firestore:"output"` // and thinking
}

// Cost estimates what tokens cost, in dollars. Thinking is paid as output. Cached input counts at the full price.
func (p Price) Cost(u Usage) float64 {
	return (p.Input*float64(u.Input) + p.Output*float64(u.Output+u.Thinking)) / 1e6
}

// Prices are those of models, by their names. The zero value has none.
type Prices struct{ of map[string]Price }

// ParsePrices reads prices such as "gemini-3.5-flash=1/6", each of input and of output, separated by white space.
// The error joins a problem for each that is malformed.
func ParsePrices(text string) (Prices, error) {
	prices := Prices{of: map[string]Price{}}
	var problems []error
	for _, entry := range strings.Fields(text) {
		model, both, _ := strings.Cut(entry, "=")
		input, output, _ := strings.Cut(both, "/")
		price, known := prices.of[ModelName(model)]
		var inputErr, outputErr error
		price.Input, inputErr = parseDollars(input)
		price.Output, outputErr = parseDollars(output)
		switch {
		case model == "" || inputErr != nil || outputErr != nil:
			problems = append(problems, fmt.Errorf("%q is not MODEL=INPUT/OUTPUT in dollars per million tokens, such as "+
				"gemini-3.5-flash=1/6", entry))
		case known:
			problems = append(problems, fmt.Errorf("%q is the second price of %s", entry, model))
		default:
			prices.of[ModelName(model)] = price
		}
	}
	if len(problems) > 0 {
		return Prices{}, errors.Join(problems...)
	}
	return prices, nil
}

// mostDollars is more than a million tokens cost.
const mostDollars = 1e6

func parseDollars(text string) (float64, error) {
	dollars, err := strconv.ParseFloat(text, 64)
	if err == nil && !(dollars >= 0 && dollars <= mostDollars) { // NaN is neither
		err = strconv.ErrRange
	}
	return dollars, err
}

// UnmarshalText is ParsePrices, for settings.
func (p *Prices) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePrices(string(text))
	return err
}

// String returns the prices in the form that ParsePrices reads, in one order.
func (p Prices) String() string {
	var entries []string
	for model, price := range p.of {
		entries = append(entries, fmt.Sprintf("%s=%v/%v", model, price.Input, price.Output))
	}
	slices.Sort(entries)
	return strings.Join(entries, " ")
}

// Of returns the price of a model; nil where there is none.
func (p Prices) Of(model string) *Price {
	if price, known := p.of[ModelName(model)]; known {
		return &price
	}
	return nil
}

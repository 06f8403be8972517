package job

import (
	"errors"
	"fmt"
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

// Prices are those of models, by their names.
type Prices map[string]Price

// UnmarshalText reads prices such as gemini-3.5-flash=1/6, each of input and of output, separated by white space. The
// error joins a problem for each that is malformed.
func (p *Prices) UnmarshalText(text []byte) (err error) {
	const form = "MODEL=INPUT/OUTPUT in dollars per million tokens, such as gemini-3.5-flash=1/6"
	*p, err = parseModels(text, form, func(value string) (price Price, err error) {
		input, output, _ := strings.Cut(value, "/")
		var inputErr, outputErr error
		price.Input, inputErr = parseDollars(input)
		price.Output, outputErr = parseDollars(output)
		return price, errors.Join(inputErr, outputErr)
	})
	return err
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

// String returns the prices in the form that UnmarshalText reads, in one order.
func (p Prices) String() string {
	return formatModels(p, func(price Price) string { return fmt.Sprintf("%v/%v", price.Input, price.Output) })
}

// Of returns the price of a model; nil where there is none.
func (p Prices) Of(model string) *Price {
	if price, known := p[ModelName(model)]; known {
		return &price
	}
	return nil
}

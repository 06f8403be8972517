package job

import "strconv"

// Quotas are how many tokens of its input the unfinished batches of a model may have, by the model's name.
type Quotas map[string]int64

// UnmarshalText reads pairs such as gemini-3.5-flash=3000000, separated by white space. The error joins a problem for
// each that is none.
func (q *Quotas) UnmarshalText(text []byte) (err error) {
	*q, err = parseModels(text, "MODEL=TOKENS, such as gemini-3.5-flash=3000000", func(value string) (int64, error) {
		tokens, err := strconv.ParseInt(value, 10, 64)
		if err == nil && tokens < 1 {
			err = strconv.ErrRange
		}
		return tokens, err
	})
	return err
}

// String returns the quotas in the form that UnmarshalText reads, in one order.
func (q Quotas) String() string {
	return formatModels(q, func(tokens int64) string { return strconv.FormatInt(tokens, 10) })
}

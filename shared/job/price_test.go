package job_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
)

func TestPrices(t *testing.T) {
	prices, err := parsePrices("  models/b=1/2.5\tgemini-3.5-flash=1/6 free=0/0 ")
	if err != nil || prices.String() != "b=1/2.5 free=0/0 gemini-3.5-flash=1/6" {
		t.Fatalf("%q, %v", prices, err)
	}
	again, err := parsePrices(prices.String())
	if err != nil || again.String() != prices.String() {
		t.Errorf("%q, %v", again, err)
	}
	if p := prices.Of("models/gemini-3.5-flash"); p == nil || *p != (job.Price{Input: 1, Output: 6}) {
		t.Errorf("%+v", p)
	}
	if p := prices.Of("gemini-3.5"); p != nil {
		t.Errorf("of a model without a price: %+v", p)
	}
	if p := (job.Prices{}).Of("b"); p != nil {
		t.Errorf("of none: %+v", p)
	}
	for _, bad := range []string{
		"b", "b=1", "=1/2", "b=1/x", "b=/2", "b=-1/2", "b=1/NaN", "b=1/Inf", "b=1e7/1", "b=1/2/3",
	} {
		if prices, err := parsePrices("a=1/2 " + bad); err == nil || prices.String() != "" ||
			!strings.Contains(err.Error(), `"`+bad+`"`) {
			t.Errorf("%q: %q, %v", bad, prices, err)
		}
	}
	if _, err := parsePrices("a=1/2 models/a=1/2"); err == nil {
		t.Error("two prices of one model")
	}
}

// TestPriceCost: thinking is paid as output, and cached input is input.
func TestPriceCost(t *testing.T) {
	p := job.Price{Input: 1, Output: 4}
	if got := p.Cost(job.Usage{Input: 2_000_000, Output: 500_000, Thinking: 250_000, Cached: 1_000_000}); got != 5 {
		t.Error(got)
	}
}

func parsePrices(text string) (prices job.Prices, err error) {
	err = prices.UnmarshalText([]byte(text))
	return prices, err
}

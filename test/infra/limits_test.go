package infra_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger/ledgertest"
)

const (
	// risingWrites is how many writes a second Firestore takes of documents whose indexed times rise.
	risingWrites = 500
	// writesOfOne is how often the record of an operation with one effect is written, and its effect: by the
	// registration, the delivery, the claim or the finish.
	writesOfOne = 3
	// milliseconds of a processor that an operation takes at most, of the measured deliveries in
	// test/load/README.md, three requests each.
	milliseconds = 4
)

// TestLimits: the table of loads in infra/limits/README.md is computed from the limits that it cites, and
// from what tests count.
func TestLimits(t *testing.T) {
	t.Parallel()
	life := ledgertest.BillRegister.Plus(ledgertest.BillWebhook).Plus(ledgertest.BillClaim).Plus(ledgertest.BillFinish)
	if want := 2*writesOfOne + 1; life.Writes != want { // and the delivery once
		t.Errorf("an operation has %d writes, want %d", life.Writes, want)
	}
	text, prices := read(t, "infra/limits/README.md"), pricesOf(t)
	for _, l := range []struct {
		rate   int
		breaks string
	}{
		{10, "nothing"},
		{100, "nothing"},
		{160, "Firestore is at its limit"},
		{1_000, "Firestore; then the passes"},
		{10_000, "Firestore; the passes; the vCPU of a new project"},
	} {
		day := float64(l.rate) * 24 * 60 * 60
		var dollars float64
		for _, part := range perThousand(t)[:withoutWaiting] {
			value, _ := prices.value(t, part.formula)
			dollars += value * day / 1000
		}
		shards := math.Ceil(float64(l.rate*writesOfOne) / risingWrites)
		row := fmt.Sprintf("\n| %s | %s | %s of %d | %.0f | %s | $%s | %s |\n", comma(l.rate), millions(day),
			comma(l.rate*writesOfOne), risingWrites, shards, vCPU(l.rate), comma(int(math.Round(dollars))), l.breaks)
		if !strings.Contains(text, row) {
			t.Errorf("infra/limits/README.md does not have this row:%s", row)
		}
	}
}

// TestLimitsOfFirestore: what the documents of 10,000 operations a second cost a day.
func TestLimitsOfFirestore(t *testing.T) {
	t.Parallel()
	value, _ := pricesOf(t).value(t, perThousand(t)[0].formula)
	want := fmt.Sprintf("At 10,000 a second Firestore's documents are $%s a day", comma(int(math.Round(value*864_000))))
	if !strings.Contains(read(t, "infra/limits/README.md"), want) {
		t.Errorf("infra/limits/README.md does not say: %s", want)
	}
}

// TestFlood: what a day of 10,000 forged requests a second costs.
func TestFlood(t *testing.T) {
	t.Parallel()
	text, prices := read(t, "infra/limits/README.md"), pricesOf(t)
	instances := one(t, script(t, "common.sh"), `webhook=(\d+)`)[1]
	const second = "1 vCPU-second + 0.5 GiB-seconds"
	for what, formula := range map[string]string{
		"Cloud Run's requests":                                         "864,000,000 requests",
		"their time, at most the eight instances of Webhook":           instances + " × 86,400 × (" + second + ")",
		"Cloud Run's own log of requests, 1 KiB each":                  "864,000,000 log-KiB",
		"what eight instances log of them, 20 lines a minute of 1 KiB": instances + " × 20 × 1,440 log-KiB",
	} {
		dollars, _ := prices.value(t, formula)
		cost := "$" + comma(int(math.Round(dollars)))
		if dollars < 1 {
			cost = money(dollars)
		}
		if row := fmt.Sprintf("\n| %s | %s |\n", what, cost); !strings.Contains(text, row) {
			t.Errorf("infra/limits/README.md does not have this row:%s", row)
		}
	}
}

// millions writes a number as millions, or thousands.
func millions(n float64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.0f thousand", n/1e3)
	}
	return fmt.Sprintf("%.1f million", n/1e6)
}

// vCPU is what operations at this rate take of processors, in whole ones.
func vCPU(rate int) string { return fmt.Sprint(math.Ceil(float64(rate*milliseconds) / 1000)) }

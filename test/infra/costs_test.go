package infra_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/stage/signals"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
)

// A line is one of the lines of costs in infra/README.md. A formula has numbers, the units of
// infra/prices.json, and × + ( ).
type line struct{ what, formula string }

// TestCosts: the lines of costs in infra/README.md are those below. Their counts are the measured ones, those of the
// tables in infra/, and the defaults of Terraform; each cost is its formula with the prices in
// infra/prices.json.
func TestCosts(t *testing.T) {
	t.Parallel()
	text := read(t, "infra/README.md")
	prices := pricesOf(t)
	for _, table := range [][]line{perThousand(t), perMonth(t), perGiB(t)} {
		for _, l := range table {
			if want := fmt.Sprintf("\n| %s | %s | %s |\n", l.what, l.formula, prices.cost(t, l.formula)); !strings.Contains(
				text, want) {
				t.Errorf("infra/README.md does not have this line of costs:%s", want)
			}
		}
	}
	for what, table := range map[string][]line{
		"**together, ended within minutes, without items**": perThousand(t)[:withoutWaiting],
		"**together, without operations, at most**":         perMonth(t),
	} {
		if want := fmt.Sprintf("\n| %s | | **%s** |\n", what, prices.together(t, table)); !strings.Contains(text, want) {
			t.Errorf("infra/README.md does not have this line of costs:%s", want)
		}
	}
	want := fmt.Sprintf("A month costs %s at most without operations, and a thousand of them %s:",
		prices.together(t, perMonth(t)), prices.together(t, perThousand(t)[:withoutWaiting]))
	if !strings.Contains(strings.Join(strings.Fields(read(t, "README.md")), " "), want) {
		t.Errorf("README.md does not say: %s", want)
	}
	measured := read(t, "test/load/README.md")
	for step, bill := range map[string]ledgertest.Bill{
		"register": ledgertest.BillRegister, "webhook": ledgertest.BillWebhook,
		"claim an effect": ledgertest.BillClaim, "finish it": ledgertest.BillFinish,
	} {
		row := fmt.Sprintf(`(?m)^\| %s \| \d \| %d \| %d \|$`, step, bill.Reads, bill.Writes)
		if !regexp.MustCompile(row).MatchString(measured) {
			t.Errorf("test/load/README.md has no row like %s", row)
		}
	}
	lines := 2 + len(perThousand(t)) + len(perMonth(t)) + len(perGiB(t))
	section, _, _ := strings.Cut(text[strings.Index(text, "\n## What it costs\n"):], "\n## Upgrade,")
	if got := strings.Count(section, "\n| ") - 2*3; got != lines { // three heads of tables
		t.Errorf("infra/README.md has %d lines of costs, want %d", got, lines)
	}
}

// comma writes a whole number as infra/README.md does.
func comma(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func documents(b ledgertest.Bill) string {
	return fmt.Sprintf("%s reads + %s writes", comma(b.Reads), comma(b.Writes))
}

// memory is what a request is billed of the memory, in GiB-seconds for each second: the same for all functions.
func memory(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`memory = optional\(string, "(\d+)Mi"\)`).FindAllStringSubmatch(
		read(t, "infra/variables.tf"), -1)
	if len(found) != len(functions) || found[0][1] != found[1][1] || found[0][1] != found[2][1] ||
		found[0][1] != found[3][1] {
		t.Fatalf("the functions have the memory %v, want one for all", found)
	}
	mebibytes, err := strconv.Atoi(found[0][1])
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatFloat(float64(mebibytes)/1024, 'f', -1, 64)
}

// withoutWaiting is how many lines of perThousand every operation has.
const withoutWaiting = 6

// perThousand are the costs of a thousand operations.
func perThousand(t *testing.T) []line {
	t.Helper()
	life := ledgertest.BillRegister.Plus(ledgertest.BillWebhook).Plus(ledgertest.BillClaim).Plus(ledgertest.BillFinish)
	return []line{
		{"Firestore: register, webhook, claim, finish", "1,000 × (" + documents(life) + ")"},
		{"Firestore: TTL deletes record, delivery, effect", "1,000 × 3 deletes"},
		{"requests to Register, Webhook, Effects", "3,000 requests"},
		{"their time: 0.1 s, the least that is billed, one at a time",
			"3,000 × 0.1 × (1 vCPU-second + " + memory(t) + " GiB-seconds)"},
		{"Pub/Sub: 1 KiB, the least that is billed, published and pushed", "2,000 message-KiB"},
		{"log: about 4 KiB an operation", "4,000 log-KiB"},
		{"a thousand items of a batch, each done once; twice that with `results`", fmt.Sprintf(
			"1,000 × %d writes", ledgertest.BillItem.Writes)},
		{"a thousand batches of jobs: documents, 26 written for each, about 60 read", "1,000 × (60 reads + 26 writes)"},
		{"… their time, about a minute of Effects each", "1,000 × (60 vCPU-seconds + " + half(t, 60) + " GiB-seconds)"},
		{"… their objects, about 20 created and 20 read for each", "1,000 × (20 bucket-writes + 20 bucket-reads)"},
		{"each day that they are pending, with a webhook", "1,000 × (" + lookups(t, ledgertest.BillDeliveredDay) + ")"},
		{"each day that they are pending, without", "1,000 × (" + lookups(t, ledgertest.BillPolledDay) + ")"},
		{"each hour that a caller waits for each of them by `?wait=30s`: what it reads", fmt.Sprintf(
			"1,000 × 120 × %d reads", ledgertest.BillWait.Reads)},
	}
}

// lookupsPerSecond is how many look-ups a pass makes in a second, at least.
const lookupsPerSecond = 100

// lookups are the documents of a day's look-ups of one operation, each of which has one read, and the time
// that passes take for them.
func lookups(t *testing.T, b ledgertest.Bill) string {
	t.Helper()
	seconds := float64(b.Reads) / lookupsPerSecond
	return fmt.Sprintf("%s + %.2f vCPU-seconds + %s GiB-seconds", documents(b), seconds, half(t, seconds))
}

// half is the memory that is billed for so many seconds, in GiB-seconds.
func half(t *testing.T, seconds float64) string {
	t.Helper()
	return strconv.FormatFloat(seconds*number(t, memory(t)), 'f', -1, 64)
}

// TestFullPasses: what a month costs in which every pass takes all of its time, beside one that has
// nothing to do.
func TestFullPasses(t *testing.T) {
	t.Parallel()
	minutes := one(t, read(t, "infra/reconcile.tf"), `reconcile_seconds = (\d+)`)[1]
	const pass = 240 // seconds; what is beyond it is for one that does not end by itself
	if minutes != "300" {
		t.Fatalf("a pass may take %s s: has its limit changed?", minutes)
	}
	dollars, _ := pricesOf(t).value(t, fmt.Sprintf("8,640 × %d × (1 vCPU-second + %s GiB-seconds)", pass, memory(t)))
	want := fmt.Sprintf("Passes that are all full, four minutes each, take %s a month.", money(dollars))
	if !strings.Contains(strings.Join(strings.Fields(read(t, "infra/README.md")), " "), want) {
		t.Errorf("infra/README.md does not say: %s", want)
	}
}

// perMonth are the costs of a deployment that does nothing for 30 days.
func perMonth(t *testing.T) []line {
	t.Helper()
	const month, perPass = 30 * 24 * time.Hour, 5 * time.Minute
	passes := comma(int(month / perPass))
	conditions, metrics := watched(t, perPass)
	period, err := time.ParseDuration(one(t, read(t, "infra/monitoring.tf"), `period += "(\w+)"`)[1])
	if err != nil {
		t.Fatal(err)
	}
	probes := comma(6 * int(month/period)) // from six regions, where none is chosen
	kept := one(t, read(t, "infra/images.json"), `"keepCount": (\d+)`)[1]
	gib := memory(t)
	return []line{
		{"passes: what they read and write", "30 × (" + documents(ledgertest.BillIdleDay) + ")"},
		{"passes: requests", passes + " requests"},
		{"passes: time, a second each where nothing is pending", passes + " × (1 vCPU-second + " + gib + " GiB-seconds)"},
		{"passes: log, 1 KiB each", passes + " log-KiB"},
		{"Cloud Scheduler", "1 job"},
		{"secrets: the key and the webhook's; one more with `sign_effects`, or during a rotation", "2 secret-versions"},
		{"alert conditions", fmt.Sprintf("%d conditions", conditions)},
		{"what they evaluate, every 30 s, one time series each",
			fmt.Sprintf("%d × %s points", conditions, comma(int(month/(30*time.Second))))},
		{"uptime check: probes from six regions", probes + " probes"},
		{"uptime check: requests to Webhook", probes + " requests"},
		{"uptime check: their time", probes + " × 0.1 × (1 vCPU-second + " + gib + " GiB-seconds)"},
		{"uptime check: log of requests, 1 KiB each", probes + " log-KiB"},
		{"log-based metrics, at most: a point of 8 bytes a minute each", fmt.Sprintf(
			"%d × %s metric-bytes", metrics, comma(8*int(month/time.Minute)))},
		{"dashboard", "0"},
		{"images: the newest of each function that stay, about 0.1 GB each", "4 × " + kept + " × 0.1 image-GB"},
		{"staged and uploaded source, about 10 MB", "0.01 bucket-GB"},
		{"each deployment: four builds of about 2 minutes", "4 × 2 build-minutes"},
	}
}

// watched counts the conditions of all alerts, and the log-based metrics.
func watched(t *testing.T, interval time.Duration) (conditions, metrics int) {
	t.Helper()
	table, err := signals.Read(root + "/infra")
	if err != nil {
		t.Fatal(err)
	}
	platform, err := signals.ReadPlatform(root + "/infra")
	if err != nil {
		t.Fatal(err)
	}
	policies, err := signals.Policies(root+"/infra", table, platform, signals.Deployment{
		Prefix: "opledger", Region: "r", Interval: interval,
	})
	if err != nil {
		t.Fatal(err)
	}
	conditions = 1 // of the uptime check's alert, which Terraform alone makes
	for _, policy := range policies {
		conditions += len(policy.Conditions)
	}
	return conditions, len(table)
}

// perGiB are the costs of each GiB in the ledger, for 30 days.
func perGiB(t *testing.T) []line {
	t.Helper()
	days := one(t, read(t, "infra/variables.tf"), `variable "backup_days" \{\n.*\n.*\n +default += (\d+)\n`)[1]
	return []line{
		{"what is stored, with its indexes", "1 stored-GiB"},
		{"daily backups, each whole and kept for `backup_days`", days + " backup-GiB"},
		{"each GB of the inputs and results of jobs, in their bucket", "1 bucket-GB"},
		{"`point_in_time_recovery`, which is off: a GiB of versions of the last 7 days", "1 recovery-GiB"},
	}
}

package local

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/operation"
)

// TestTable: it overwrites exactly what it drew, whatever the size of the terminal becomes.
func TestTable(t *testing.T) {
	t.Parallel()
	records := make([]operation.Record, 30)
	for i := range records {
		records[i] = operation.Record{Key: operation.Key("batches/" + strings.Repeat("x", i)), State: operation.Running,
			CreatedAt: time.Unix(int64(i), 0)}
	}
	var screen bytes.Buffer
	width, height := 0, 0
	table := &Table{W: &screen, Rows: 10, Size: func() (int, int) { return width, height }}
	drawn := 0
	for _, size := range [][2]int{{200, 50}, {80, 24}, {20, 5}, {3, 2}, {1, 1}, {80, 24}} {
		width, height = size[0], size[1]
		screen.Reset()
		table.Show(Progress{Wanted: 30, Submitted: 30, Settled: 7, Done: 3, Simulator: geminisim.Stats{Deliveries: 1e6},
			Records: records})
		lines := strings.Count(screen.String(), "\n")
		if lines > max(height-1, drawn, 1) {
			t.Errorf("%d lines on a terminal of %d", lines, height)
		}
		if up := strings.Count(screen.String(), "A"); drawn > 0 && up == 0 {
			t.Error("it did not go back up")
		}
		drawn = lines
	}
	table.End()
	screen.Reset()
	table.Show(Progress{Wanted: 1})
	if strings.Contains(screen.String(), "A") {
		t.Error("it draws over what End left")
	}
}

// TestBar: any combination of counts can be drawn.
func TestBar(t *testing.T) {
	t.Parallel()
	for _, p := range []Progress{
		{}, {Wanted: 3, Submitted: 3, Settled: 2, Done: 1}, {Wanted: 1, Submitted: 5, Settled: 5, Done: 5},
		{Wanted: 7, Submitted: 1, Settled: 3, Done: 9},
	} {
		for _, width := range []int{0, 1, 77} {
			if got := len([]rune(bar(p, width))); got != width+2 {
				t.Errorf("%+v: %d characters, want %d", p, got, width+2)
			}
		}
	}
}

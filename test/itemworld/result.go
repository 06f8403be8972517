package itemworld

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
)

// Lines serves the lines of a result file.
func Lines(texts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Join(texts, "\n")) }
}

// Many serves n items, made as they are read, each of about size bytes.
func Many(n int, size ...int) http.HandlerFunc {
	filler := strings.Repeat("y", append(size, 500)[0])
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := range n {
			if _, err := fmt.Fprintf(w, "{\"key\":\"review-%d\",\"response\":{\"text\":\"%s\"}}\n", i, filler); err != nil {
				return
			}
		}
	}
}

// Numbered are the lines of n items with keys.
func Numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"key":"k-%d","response":%d}`, i, i)
	}
	return all
}

// A Shuffled result comes in another order each time it is read: in a file, or in the batch.
type Shuffled struct {
	Lines []string
	reads atomic.Uint64
}

// ServeHTTP implements http.Handler.
func (s *Shuffled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	random := rand.New(rand.NewPCG(7, s.reads.Add(1)))
	var lines []string
	for _, i := range random.Perm(len(s.Lines)) {
		lines = append(lines, s.Lines[i])
	}
	if strings.Contains(r.URL.Path, "/files/") {
		_, _ = io.WriteString(w, strings.Join(lines, "\n"))
		return
	}
	for i := range lines {
		lines[i] = strings.Replace(lines[i], `"key":`, `"metadata":{"key":`, 1)
		lines[i] = strings.Replace(lines[i], `","response"`, `"},"response"`, 1)
	}
	_, _ = fmt.Fprintf(w, `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[%s]}},`+
		`"batchStats":{"requestCount":"%d"}}}`, strings.Join(lines, ","), len(lines))
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// secret signs the deliveries.
const secret = "whsec_bG9hZC10ZXN0LXNpZ25pbmcta2V5LTAxMjM0NTY3"

// A delivery is one webhook request before it is signed.
type delivery struct {
	id   string
	body []byte
}

// distinct is the first delivery of its operation.
func distinct(n int64) delivery {
	return completion(fmt.Sprintf("msg_distinct_%d", n), fmt.Sprintf("batches/distinct-%d", n))
}

// duplicate is the same delivery each time.
func duplicate(int64) delivery { return completion("msg_duplicate", "batches/duplicate") }

// hot is another delivery of one operation each time.
func hot(n int64) delivery { return completion(fmt.Sprintf("msg_hot_%d", n), "batches/hot") }

func completion(id, operation string) delivery {
	return delivery{id: id, body: fmt.Appendf(nil, `{"type":"batch.succeeded","version":"v1",`+
		`"timestamp":"2026-01-01T00:00:00Z","data":{"id":%q,"output_file_uri":"files/out"}}`, operation)}
}

// request signs a delivery now.
func (d delivery) request(ctx context.Context, url string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.body))
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	now := time.Now()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(geminisim.HeaderID, d.id)
	request.Header.Set(geminisim.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(geminisim.HeaderSignature, geminisim.Sign(secret, d.id, now, d.body))
	return request, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// A sample is what was measured of one target with one number of callers.
type sample struct {
	took    []time.Duration // of each request
	elapsed time.Duration
	cpu     time.Duration // of the server
}

func (s sample) rate() float64 { return float64(len(s.took)) / s.elapsed.Seconds() }

// percentile returns the time within which that many hundredths of the requests were answered.
func (s sample) percentile(n int) time.Duration {
	slices.Sort(s.took)
	return s.took[(len(s.took)-1)*n/100]
}

// measure sends everything to every target, and prints a table for each number of callers. The first
// target is what the others are compared with, the second is the bare commit.
func (p plan) measure(ctx context.Context, targets []target, out io.Writer) error {
	sent := make([]atomic.Int64, len(targets))
	for _, callers := range p.callers {
		samples := make([]sample, len(targets))
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
		for i, t := range targets { // the first delivery of each kind has another outcome, and opens a connection
			if err := t.send(ctx, client, sent[i].Add(1), ""); err != nil {
				return err
			}
		}
		for range p.rounds {
			for i, t := range targets {
				if err := samples[i].add(ctx, t, client, callers, p.duration/time.Duration(p.rounds), &sent[i]); err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
			}
		}
		client.CloseIdleConnections()
		if err := table(out, callers, targets, samples); err != nil {
			return err
		}
	}
	return nil
}

// add sends deliveries by a number of callers at a time, for as long as d.
func (s *sample) add(ctx context.Context, t target, client *http.Client, callers int, d time.Duration,
	sent *atomic.Int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	began, computed := time.Now(), processorTime(t.pid)
	for range callers {
		wg.Go(func() {
			var took []time.Duration
			var err error
			for start := began; err == nil && start.Sub(began) < d; {
				err = t.send(ctx, client, sent.Add(1), t.outcome)
				now := time.Now()
				took = append(took, now.Sub(start))
				start = now
			}
			mu.Lock()
			defer mu.Unlock()
			s.took = append(s.took, took...)
			if err != nil && failed == nil { // the others' are that they were cut off
				failed = err
				cancel()
			}
		})
	}
	wg.Wait()
	s.elapsed += time.Since(began)
	s.cpu += processorTime(t.pid) - computed
	return failed
}

// send sends the nth delivery. An answer other than 200 with the wanted outcome is an error; an empty
// outcome is any.
func (t target) send(ctx context.Context, client *http.Client, n int64, outcome string) error {
	request, err := t.event(n).request(ctx, t.url)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("delivering: %w", err)
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), outcome) {
		return fmt.Errorf("the answer is %d %s, want 200 %s", response.StatusCode, body, outcome)
	}
	return nil
}

func table(out io.Writer, callers int, targets []target, samples []sample) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "callers: %d\tper second\tof bare\tof bare commit\t", callers)
	_, _ = fmt.Fprintln(w, "p50 ms\tp99 ms\tp99 × bare\tCPU µs each\t")
	rate, commitRate, bareP99 := samples[0].rate(), samples[1].rate(), samples[0].percentile(99).Seconds()
	for i, t := range targets {
		s, p99 := samples[i], samples[i].percentile(99).Seconds()
		_, _ = fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\t", t.name, s.rate(), s.rate()/rate, s.rate()/commitRate)
		_, _ = fmt.Fprintf(w, "%.2f\t%.2f\t%.1f\t%.0f\t\n", s.percentile(50).Seconds()*1e3, p99*1e3, p99/bareP99,
			s.cpu.Seconds()*1e6/float64(len(s.took)))
	}
	_, _ = fmt.Fprintln(w)
	return w.Flush()
}

package reconcile_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// create makes a job at Gemini that stays in a state until the test changes it, and returns its
// name.
func (w *world) create(path, body, label string, hold geminisim.State) operation.Name {
	w.Helper()
	answer := w.post(path, body, label, hold)
	var made struct{ Name, ID string }
	if err := json.Unmarshal(answer.Body.Bytes(), &made); err != nil || made.Name+made.ID == "" {
		w.Fatalf("%d %s", answer.Code, answer.Body)
	}
	raw := made.Name
	if raw == "" {
		raw = "interactions/" + made.ID
	}
	return named(w, raw)
}

// post creates a job at Gemini.
func (w *world) post(path, body, label string, hold geminisim.State) *httptest.ResponseRecorder {
	w.Helper()
	w.sim.Script(label, geminisim.Script{Hold: hold})
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/v1beta/"+path, strings.NewReader(body))
	r.Header.Set("X-Goog-Api-Key", "key")
	answer := httptest.NewRecorder()
	w.sim.Handler().ServeHTTP(answer, r)
	return answer
}

// named parses a name.
func named(w *world, raw string) operation.Name {
	w.Helper()
	name, err := operation.ParseName(raw, "")
	if err != nil {
		w.Fatal(err)
	}
	return name
}

const batchPath = "models/m:batchGenerateContent"

func batchBody(display string) string {
	return fmt.Sprintf(`{"batch":{"displayName":%q,"inputConfig":{"fileName":"files/input"}}}`, display)
}

// submit submits a batch.
func (w *world) submit(display string, hold geminisim.State) operation.Name {
	w.Helper()
	return w.create(batchPath, batchBody(display), display, hold)
}

// interaction submits an interaction, which no list shows.
func (w *world) interaction(label string, hold geminisim.State) operation.Name {
	w.Helper()
	return w.create("interactions", fmt.Sprintf(`{"model":"m","input":%q,"background":true,"store":true}`, label), label,
		hold)
}

// video submits a video, which no list shows.
func (w *world) video(label string, hold geminisim.State) operation.Name {
	w.Helper()
	return w.create("models/veo:predictLongRunning", fmt.Sprintf(`{"instances":[{"prompt":%q}]}`, label), label, hold)
}

// registered registers an operation.
func (w *world) registered(name operation.Name) operation.Name {
	w.Helper()
	if _, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{Name: name}); err != nil {
		w.Fatal(err)
	}
	return name
}

// register submits a batch and registers it.
func (w *world) register(display string, hold geminisim.State) operation.Name {
	w.Helper()
	return w.registered(w.submit(display, hold))
}

// many registers n running interactions.
func (w *world) many(n int) []operation.Name {
	w.Helper()
	return w.each(n, func(label string) operation.Name { return w.interaction(label, geminisim.InteractionInProgress) })
}

// manyBatches registers n running batches.
func (w *world) manyBatches(n int) []operation.Name {
	w.Helper()
	return w.each(n, func(label string) operation.Name { return w.submit(label, geminisim.StateRunning) })
}

func (w *world) each(n int, submit func(label string) operation.Name) []operation.Name {
	w.Helper()
	names := make([]operation.Name, n)
	for i := range names {
		names[i] = w.registered(submit(fmt.Sprint("b", i)))
		w.clock.Advance(time.Microsecond) // so that they are due one after the other
	}
	return names
}

// endAll ends operations at Gemini.
func (w *world) endAll(names []operation.Name, state geminisim.State) {
	w.Helper()
	for _, name := range names {
		if err := w.sim.SetState(string(name.Key), state); err != nil {
			w.Fatal(err)
		}
	}
}

// intend records an intent.
func (w *world) intend(id string, i ledger.Intention) {
	w.Helper()
	i.CorrelationID = id
	if _, err := w.ledger.Intents.Intend(w.Context(), i); err != nil {
		w.Fatal(err)
	}
}

// intent returns an intent.
func (w *world) intent(id string) ledger.Intent {
	w.Helper()
	snapshot, err := w.store.Get(w.Context(), ledger.Path(ledger.IntentsCollection+"/"+id))
	if err != nil {
		w.Fatal(err)
	}
	var intent ledger.Intent
	if err := snapshot.Documents[0].Decode(&intent); err != nil {
		w.Fatal(err)
	}
	return intent
}

// isRegistered fails unless an operation is registered.
func (w *world) isRegistered(name operation.Name) {
	w.Helper()
	if rec := w.record(name); !rec.Registered {
		w.Errorf("%s is not registered: %+v", name.Key, rec)
	}
}

// isNotRegistered fails if an operation is registered.
func (w *world) isNotRegistered(what string, name operation.Name) {
	w.Helper()
	if rec, err := w.ledger.Operations.Read(w.Context(), name.Key); err == nil && rec.Registered {
		w.Errorf("%s: %s is registered", what, name.Key)
	} else if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		w.Fatal(err)
	}
}

// fails makes Gemini answer so many requests of a kind about a job with an error; -1: all from now
// on. An empty name is every job's.
func (w *world) fails(op geminisim.Op, name string, status, times int) {
	answer := geminisim.ErrorAnswer(status, "not now")
	answer.Times = times
	w.sim.AnswerNext(op, name, answer)
}

// published returns the effects published since the last call, each once, as "operation effect".
func (w *world) published() []string {
	var all []string
	for _, m := range w.outbox.Drain() {
		all = append(all, string(m.Operation)+" "+m.Effect)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// alerted returns the reasons of the alerts logged since the last call.
func (w *world) alerted() []string {
	w.Helper()
	var all []string
	for _, line := range w.logged() {
		if line["event"] == "alert" {
			all = append(all, fmt.Sprint(line["operation"], " ", line["reason"]))
		}
	}
	return all
}

// copies inserts n copies of a registered operation, with everything below it, into the ledger's
// file. Gemini does not know the copies, whose ids end in -0000001 and so on.
func (w *world) copies(name operation.Name, n int) {
	w.Helper()
	// In the order of the keys, and with a cache that holds them, a million takes minutes and not
	// hours.
	w.exec(`
		PRAGMA cache_size = -500000;
		PRAGMA synchronous = OFF;
		WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number LIMIT ?2),
			copy (id) AS (SELECT ?1 || printf('-%07d', i) FROM number)
		INSERT INTO documents (path, collection, parent, version, body, due_at, listed_at, expire_at)
		SELECT replace(path, ?1, id), collection, replace(parent, ?1, id), version, replace(body, ?1, id),
			due_at, listed_at, expire_at
		FROM copy, (SELECT * FROM documents WHERE instr(path, ?1))`, name.Key.ID(), n)
}

// exec changes the ledger's file without the store.
func (w *world) exec(statements string, args ...any) int64 {
	w.Helper()
	db, err := sql.Open("sqlite", w.file)
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	result, err := db.ExecContext(w.Context(), statements, args...)
	if err != nil {
		w.Fatal(err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		w.Fatal(err)
	}
	return changed
}

package infra_test

import (
	"errors"
	"net/http"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// register is the function Register.
func (w *world) register() http.Handler {
	w.Helper()
	return register.New(register.Options{Ledger: w.ledgerOf("register"), Now: w.clock.Now, Log: w.log("register")})
}

// submitted sends a body to the function.
func (w *world) submitted(body string) {
	w.Helper()
	w.post(w.register(), http.Header{}, body)
}

const (
	registration = `{"name":"batches/a","jobKind":"review","correlationId":"c-1"}`
	intent       = `{"intent":true,"correlationId":"c-1","jobKind":"review"}`
)

var ofRegister = []situation{
	{"register: new", func(w *world) { w.submitted(registration) }, []string{"registrations"}},
	{"register: known", func(w *world) {
		w.submitted(registration)
		w.forget()
		w.submitted(registration)
	}, []string{"registrations"}},
	{"register: a correlation id that another has", func(w *world) {
		w.submitted(registration)
		w.forget()
		w.submitted(`{"name":"batches/b","correlationId":"c-1"}`)
	}, []string{"registrations"}}, // not unbound: no intent is given up
	{"register: an intent, new and known", func(w *world) {
		w.submitted(intent)
		w.submitted(intent)
	}, nil},
	{"register: what ended longer ago than the retention", func(w *world) {
		w.endedAt(w.named("batches/a"), operation.Succeeded, w.clock.Now().AddDate(0, 0, -15))
		w.submitted(registration)
	}, []string{"registrations", "withheld"}},
	{"register: what a newer revision wrote", func(w *world) {
		w.submitted(registration)
		w.forget()
		w.raise(ledger.OperationPath("batches/a"))
		w.submitted(registration)
	}, []string{"newer"}},
	{"register: an intent of a newer revision", func(w *world) {
		w.submitted(intent)
		w.forget()
		w.raise("intents/c-1")
		w.submitted(intent)
	}, []string{"newer"}},
	{"register: problems", func(w *world) {
		w.submitted(`{"name":""}`)
		w.submitted(`{"intent":true}`)
		w.submitted("{")
	}, nil},
	{"register: the store is down", func(w *world) {
		w.storeDown()
		w.submitted(registration)
	}, []string{"ledger-errors"}},
	{"register: the store is down for an intent", func(w *world) {
		w.storeDown()
		w.submitted(intent)
	}, []string{"ledger-errors"}},
	{"register: the topic takes nothing", func(w *world) {
		w.end(w.named("batches/a"), operation.Succeeded) // an event that came first
		w.outbox.Fail(errors.New("the topic is gone"))
		w.submitted(registration)
	}, []string{"registrations", "unpublished"}},
}

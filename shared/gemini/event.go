package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/operation"
)

// DecodeEvent makes an event of a verified webhook body [W1]. deliveryID is the delivery's HeaderID
// and is passed on.
//
// It needs a known type and a name and asks for nothing else. The name is looked for in data.id,
// then in name, operation, operationName and resourceName, in data and then beside it [K3]; the
// first that is a text with something in it counts. A bare id takes its collection from the type
// [K2]. A missing or unreadable timestamp is no error: the event's UpdateTime is then zero and
// loses every tie [M4].
//
// The error is an *UnknownTypeError or a *MalformedError, for errors.As; both are final for this
// body and this revision [W6].
func DecodeEvent(deliveryID string, body []byte) (operation.Event, error) {
	envelope, err := readEnvelope(body)
	if err != nil {
		return operation.Event{}, err
	}
	eventType := envelope.text("type")
	if eventType == "" {
		return operation.Event{}, &MalformedError{Problem: "it has no type", Fields: envelope.names(nil)}
	}
	kind, verb, _ := strings.Cut(eventType, ".")
	collection, state := collectionOf(kind), stateOf(verb)
	if collection == "" || state == operation.Unknown {
		return operation.Event{}, &UnknownTypeError{Type: eventType}
	}
	data := envelope.object("data")
	name, err := findName(envelope, data, collection)
	if err != nil {
		return operation.Event{}, err
	}
	correlationID := findCorrelation(body)
	if operation.Garbled(correlationID) {
		return operation.Event{}, &MalformedError{
			Problem: fmt.Sprintf("its correlation id %+q has U+FFFD in place of what could not be decoded", correlationID),
		}
	}
	result := readResult(data)
	if endsWithoutResult(verb) {
		result.ErrorCode = verb
	}
	return operation.Event{
		Name:          name,
		DeliveryID:    deliveryID,
		Source:        operation.Webhook,
		Type:          eventType,
		State:         state,
		UpdateTime:    readTime(envelope.text("timestamp")),
		Result:        result,
		CorrelationID: correlationID,
	}, nil
}

// readEnvelope reads the outer object. Bytes that are not UTF-8 are refused rather than replaced,
// because two different ids could otherwise become one. Half a surrogate pair ("\ud800") is
// replaced wherever it stands, so that an error's text may be cut anywhere; an id is refused for
// it.
func readEnvelope(body []byte) (object, error) {
	if !utf8.Valid(body) {
		return nil, &MalformedError{Problem: "it is not UTF-8"}
	}
	var envelope object
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, &MalformedError{Problem: "it is not a JSON object", Err: err}
	}
	if envelope == nil {
		return nil, &MalformedError{Problem: "it is null, not a JSON object"}
	}
	return envelope, nil
}

// collectionOf says which collection the bare ids of a kind of event are in, or "" for a kind that
// is not known [K2].
func collectionOf(kind string) operation.Collection {
	switch kind {
	case "batch":
		return operation.Batches
	case "video":
		return operation.Operations
	case "interaction":
		return operation.Interactions
	default:
		return ""
	}
}

// stateOf is the table from the verb of an event's type to a state; operation.Unknown for any other
// word. It is wider than today's documentation, which has changed twice: a verb that says what
// happened is understood for every kind.
func stateOf(verb string) operation.State {
	switch verb {
	case "pending", "queued":
		return operation.Pending
	case "running", "started", "in_progress":
		return operation.Running
	case "requires_action", "requires_continuation":
		return operation.RequiresAction
	case "succeeded", "completed", "generated":
		return operation.Succeeded
	case "failed", "incomplete", "budget_exceeded":
		return operation.Failed
	case "cancelled", "canceled":
		return operation.Cancelled
	case "expired":
		return operation.Expired
	default:
		return operation.Unknown
	}
}

// endsWithoutResult reports whether verb is a way to fail that is known by its own word, which is
// then the error code [M1].
func endsWithoutResult(verb string) bool { return verb == "incomplete" || verb == "budget_exceeded" }

// findName looks for the operation's name in the fields that the sources use [K3].
func findName(envelope, data object, collection operation.Collection) (operation.Name, error) {
	raw := data.firstText("id", "name", "operation", "operationName", "resourceName")
	if raw == "" {
		// Not "id": beside data that would be the event's own.
		raw = envelope.firstText("name", "operation", "operationName", "resourceName")
	}
	if raw == "" {
		problem := "it names no operation"
		if field, kind := wrongKind(envelope, data); field != "" {
			problem += " (" + field + " is " + kind + ", not a name)"
		}
		return operation.Name{}, &MalformedError{Problem: problem, Fields: envelope.names(data)}
	}
	name, err := operation.ParseName(raw, collection)
	if err != nil {
		return operation.Name{}, &MalformedError{Problem: "its operation's name cannot be used", Err: err}
	}
	return name, nil
}

// wrongKind finds a field that would have been the name if it were a text, for the error to point
// at.
func wrongKind(envelope, data object) (field, kind string) {
	if raw, has := envelope["data"]; has && data == nil {
		return "data", kindOf(raw)
	}
	for _, key := range []string{"id", "name", "operation", "operationName", "resourceName"} {
		if raw, has := data[key]; has {
			return "data." + key, kindOf(raw)
		}
	}
	return "", ""
}

// readTime reads an RFC 3339 time, cut as the ledger cuts times; zero for anything else [M4].
func readTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text) // takes fractions of a second, too
	if err != nil {
		return time.Time{}
	}
	return operation.Instant(t)
}

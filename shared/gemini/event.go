package gemini

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	json "github.com/go-json-experiment/json/v1" // the encoding/json of Go 1.27, which takes half as long

	"github.com/opledger/opledger/shared/jsonscan"
	"github.com/opledger/opledger/shared/operation"
)

// DecodeEvent decodes a verified webhook body [W1]. deliveryID, the delivery's HeaderID, becomes
// the event's.
//
// It requires only a known type and a name. The name is the first non-empty text among id, name,
// operation, operationName and resourceName of data, then among the same fields beside data, except
// id [K3]. A bare id gets its collection from the type [K2]. A missing or unreadable timestamp is
// no error: UpdateTime is then zero and loses every tie [M4].
//
// The error is an *UnknownTypeError or a *MalformedError, for errors.As. Both are final for this
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
	collection := collectionOf(kind)
	state, code := StateOf(verb)
	if collection == "" || state == operation.Unknown {
		return operation.Event{}, &UnknownTypeError{Type: eventType}
	}
	data := envelope.object("data")
	name, err := findName(envelope, data, collection)
	if err != nil {
		return operation.Event{}, err
	}
	correlationID := findCorrelation(envelope)
	if operation.Garbled(correlationID) {
		return operation.Event{}, &MalformedError{
			Problem: fmt.Sprintf("its correlation id %+q has U+FFFD in place of what could not be decoded", correlationID),
		}
	}
	result := readResult(data)
	result.ErrorCode = cmp.Or(code, result.ErrorCode)
	return operation.Event{
		Name:          name,
		DeliveryID:    deliveryID,
		Source:        operation.Webhook,
		Type:          eventType,
		State:         state,
		UpdateTime:    ParseTime(envelope.text("timestamp")),
		Result:        result,
		CorrelationID: correlationID,
	}, nil
}

// readEnvelope checks the outer object. Invalid UTF-8 is refused, because replacing it could make
// two ids equal. Half a surrogate pair ("\ud800") decodes to U+FFFD; an id with it is refused
// later.
func readEnvelope(body []byte) (object, error) {
	if !utf8.Valid(body) {
		return nil, &MalformedError{Problem: "it is not UTF-8"}
	}
	if json.Valid(body) && isObject(body) {
		return body, nil
	}
	var none struct{} // nothing is stored: only to say what is wrong
	if err := json.Unmarshal(body, &none); err != nil {
		return nil, &MalformedError{Problem: "it is not a JSON object", Err: err}
	}
	return nil, &MalformedError{Problem: "it is null, not a JSON object"}
}

// isObject reports whether a JSON value is an object.
func isObject(value []byte) bool { return jsonscan.New(value).Kind() == '{' }

// collectionOf returns the collection of bare ids in events of a kind, or "" for an unknown kind
// [K2].
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

// StateOf maps a word of Gemini's, which is the verb of an event's type or the status of an interaction, to a state,
// and any other word to operation.Unknown. It accepts every verb for every kind: the documentation has changed twice
// and may again. A failure that has no error code has the word as its code [M1].
func StateOf(word string) (state operation.State, code string) {
	switch word {
	case "pending", "queued":
		return operation.Pending, ""
	case "running", "started", "in_progress":
		return operation.Running, ""
	case "requires_action", "requires_continuation":
		return operation.RequiresAction, ""
	case "succeeded", "completed", "generated":
		return operation.Succeeded, ""
	case "failed":
		return operation.Failed, ""
	case "incomplete", "budget_exceeded":
		return operation.Failed, word
	case "cancelled", "canceled":
		return operation.Cancelled, ""
	case "expired":
		return operation.Expired, ""
	default:
		return operation.Unknown, ""
	}
}

// findName returns the operation's name from any of the documented fields [K3].
func findName(envelope, data object, collection operation.Collection) (operation.Name, error) {
	raw := data.firstText("id", "name", "operation", "operationName", "resourceName")
	if raw == "" {
		// Not "id": beside data it would be the event's own id.
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
	if operation.Reserved(string(name.Key)) {
		return operation.Name{}, &MalformedError{Problem: "it names a job, of which Gemini reports nothing [J3]"}
	}
	return name, nil
}

// wrongKind returns a name field that is not a text, for the error to show.
func wrongKind(envelope, data object) (field, kind string) {
	if raw := envelope.get("data"); raw != nil && data == nil {
		return "data", kindOf(raw)
	}
	for _, key := range []string{"id", "name", "operation", "operationName", "resourceName"} {
		if raw := data.get(key); raw != nil {
			return "data." + key, kindOf(raw)
		}
	}
	return "", ""
}

// ParseTime parses an RFC 3339 time of Gemini's and cuts it to microseconds. It returns zero for any other text,
// because what has the time counts without it [M4].
func ParseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text) // accepts fractions of a second, too
	if err != nil {
		return time.Time{}
	}
	return operation.Instant(t)
}

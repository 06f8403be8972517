package register

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/jsonscan"
	"github.com/opledger/opledger/shared/operation"
)

// maxUnknown is how many fields that do not exist are named in an answer.
const maxUnknown = 20

// maxProblem bounds the text of a problem in an answer, in bytes: it may quote what was sent.
const maxProblem = 1 << 10

// A reading is what is wrong with the fields of a body, each by itself.
type reading struct {
	unfit    error // why the body has no fields; nothing else is worth saying
	problems operation.Problems
	unread   map[string]bool // fields whose value has another type
	more     int             // fields that do not exist, and are not named in problems
}

// readFields reads the members of a JSON object into the fields of a struct. It makes nothing of the others. form
// says what the object must be.
func readFields(body []byte, form string, into any) reading {
	if err := fit(body, form); err != nil {
		return reading{unfit: err}
	}
	read, known := reading{unread: map[string]bool{}}, fieldsIn(into)
	names := slices.Sorted(maps.Keys(known))
	fields, unknown := map[string]json.RawMessage{}, 0
	members := jsonscan.New(body)
	members.Object(func(key []byte) {
		field := string(key)
		if known[field] == nil {
			if unknown++; unknown > maxUnknown {
				read.more++
				return
			}
		}
		fields[field] = members.Value()
	})
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if into := known[field]; into == nil {
			read.problems.Add(diag.Quote(field), "there is no such field%s", diag.DidYouMean(field, names))
		} else if err := json.Unmarshal(fields[field], into); err != nil {
			read.unread[field] = true
			read.problems.Add(field, "%s", mistyped(into, err))
		}
	}
	return read
}

// all returns the problems of the fields, and behind them the other ones that are not about unread fields.
func (r reading) all(others operation.Problems) operation.Problems {
	problems := append(r.problems, slices.DeleteFunc(others, func(p operation.FieldError) bool {
		return r.unread[p.Field]
	})...)
	problems.When(r.more > 0, fmt.Sprintf("%d more fields", r.more), "they do not exist")
	return problems
}

// with returns all problems as a *httpfunc.Error; nil where there is none.
func (r reading) with(others operation.Problems) error {
	if r.unfit != nil {
		return r.unfit
	}
	if problems := r.all(others); len(problems) > 0 {
		return bad(problems)
	}
	return nil
}

// fieldsIn returns where each field of a struct is, by its name in JSON.
func fieldsIn(pointer any) map[string]any {
	into, fields := reflect.ValueOf(pointer).Elem(), map[string]any{}
	for _, field := range reflect.VisibleFields(into.Type()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.Anonymous {
			fields[name] = into.FieldByIndex(field.Index).Addr().Interface()
		}
	}
	return fields
}

// mistyped returns why a field could not be read.
func mistyped(into any, err error) string {
	switch into.(type) {
	case *bool:
		return "it must be true or false"
	case *string, **string:
		return "it must be a text"
	case *int, *int64, **int:
		return "it must be a whole number"
	case *float64, **float64:
		return "it must be a number"
	case *job.Tolerance, **job.Tolerance:
		return `it must be a text such as "5" or "1%"`
	case *time.Time:
		return "it must be a time such as 2026-01-22T12:00:00Z"
	default:
		return err.Error()
	}
}

// fit returns why a body is not a JSON object, in JSON's words instead of those of Go's decoder; nil where
// it is. form says what it must be. The error is a *httpfunc.Error.
func fit(body []byte, form string) error {
	var checked struct{} // nothing is stored
	err := json.Unmarshal(body, &checked)
	if err == nil {
		return nil
	}
	why := "it is no JSON object"
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		why = fmt.Sprintf("it is not JSON (byte %d)", syntax.Offset)
	}
	return bad(operation.Problems{{Field: "the body", Err: errors.New(why + "; " + form)}})
}

func bad(problems operation.Problems) error {
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = diag.Cut(problem.Error(), maxProblem)
	}
	return &httpfunc.Error{
		Status: http.StatusBadRequest, Message: "the request is invalid: " + strings.Join(texts, "; "), Problems: texts,
	}
}

package ledger

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Alerted is the result of AlertAbout and of Intents.Abandon.
type Alerted struct {
	// Planned is how many effects alert of it; 0 where no rule lists the alert, or another call has
	// planned it. The caller logs it.
	Planned int
	// PublishErr: as in Receipt.
	PublishErr error
}

// AlertAbout plans an alert about something that is no operation, such as "webhooks/ID". The condition
// began after since; zero where that is not known. A condition is alerted when it begins, and again
// AlertEvery after the last alert about the subject. Its effects are under the subject's path, where
// there is no record. DONE ones expire, DEAD ones wait for the operator. Calling it again is safe.
//
// Errors: as Ingest; ErrInvalid for a subject that is not of the form "what/ID", or longer than a
// name may be.
func (l Passes) AlertAbout(
	ctx context.Context, subject operation.Key, alert Alert, since time.Time, detail string,
) (Alerted, error) {
	what := fmt.Sprintf("alerting that %s is %s", subject, alert.kind())
	subject, err := subjectKey(subject)
	if err != nil {
		return Alerted{}, fmt.Errorf("%s: %w", what, err)
	}
	if len(l.listing(alert, "")) == 0 {
		return Alerted{}, nil
	}
	var p plan
	var made time.Time // by a commit whose answer may have been lost
	since = operation.Instant(since)
	err = l.retry(ctx, what, func(int) error {
		found, err := l.alertsAbout(ctx, subject)
		if err != nil {
			return err
		}
		// Read last, so that an alert that another pass just planned is not taken for a leapt clock's.
		now, err := l.now(ctx)
		number, last := lastAbout(found, alert, now)
		if err != nil || !made.IsZero() && last.Equal(made) {
			return err
		}
		p = plan{}
		if !last.IsZero() && !last.Before(since) && now.Sub(last) < l.settings.AlertEvery {
			return nil
		}
		made = operation.Instant(now)
		if p, err = l.planAbout(subject, alert, number+1, Notice{Since: since, Detail: detail}, made); err != nil {
			return err
		}
		return l.commit(ctx, p.writes...)
	})
	if err != nil {
		return Alerted{}, err
	}
	return l.alerted(ctx, p), nil
}

// alerted publishes the effects of an alert about what is no operation.
func (l *protocol) alerted(ctx context.Context, p plan) Alerted {
	return Alerted{Planned: len(p.messages), PublishErr: l.send(ctx, p.messages)}
}

// newestAlerts bounds how many effects of a subject are read for the number of the next.
const newestAlerts = 100

// alertsAbout returns the newest effects of the alerts about what is no operation.
func (l *protocol) alertsAbout(ctx context.Context, subject operation.Key) ([]Document, error) {
	found, err := l.store.Query(ctx, queryNewestEffects(subject, newestAlerts))
	if err != nil {
		return nil, fmt.Errorf("reading the alerts about %s: %w", subject, err)
	}
	return found, nil
}

// lastAbout returns the highest number of an alert among effects of a subject, and when the last one
// was planned, by now. It reads the names alone, also of effects that cannot be decoded.
func lastAbout(found []Document, alert Alert, now time.Time) (number int, last time.Time) {
	for _, doc := range found {
		n := alertNumber(path.Base(string(doc.Path)), alert)
		number = max(number, n)
		if n > 0 && doc.At.After(last) && !doc.At.After(now) { // later ones are of a clock that has leapt
			last = doc.At
		}
	}
	return number, last
}

// planAbout plans the effects of an alert about what is no operation, for the rules that list it.
func (l *protocol) planAbout(
	subject operation.Key, alert Alert, number int, notice Notice, now time.Time,
) (plan, error) {
	notice.Kind, notice.Since, notice.Detail = alert.kind(), operation.Instant(notice.Since), shorten(notice.Detail)
	p := plan{record: operation.Record{Key: subject}}
	for _, rule := range l.listing(alert, "") {
		if err := p.add(l, runOf(rule.Name, alert.kind()+"-"+strconv.Itoa(number)), &notice, now); err != nil {
			return plan{}, err
		}
	}
	return p, nil
}

// subjectKey returns the key that a message about the subject is parsed to. A submitter chooses an
// intent's id; with slashes or white space it would be parsed as another name, perhaps an
// operation's.
func subjectKey(subject operation.Key) (operation.Key, error) {
	kept := func(key operation.Key) bool {
		name, err := operation.ParseName(string(key), "")
		return err == nil && name.Key == key && key.Collection() == ""
	}
	what, id, ok := strings.Cut(string(subject), "/")
	escaped := operation.Key(what + "/" + url.PathEscape(id))
	switch {
	case !ok || what == "" || id == "":
		return "", fmt.Errorf("%w: a subject is written what/ID, not %q", ErrInvalid, subject)
	case !strings.Contains(id, "/") && kept(subject):
		return subject, nil
	case kept(escaped):
		return escaped, nil
	default:
		return "", fmt.Errorf("%w: %.80q cannot be a subject", ErrInvalid, subject)
	}
}

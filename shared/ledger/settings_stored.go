package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// settingsPath is the one document of the settings that decide what is planned.
const settingsPath Path = SettingsCollection + "/planning"

// StoredSettings are the settings that decide what is planned, of the process that began last [L7].
// A command on the same ledger takes from here those that it lacks, and refuses to write where its
// own differ. No URL and no secret is among them.
type StoredSettings struct {
	Schema  int   `json:"schema" firestore:"schema"`
	Version int64 `json:"version" firestore:"version"`
	// Digest is the same for the same Rules and Values, in any order.
	Digest string `json:"digest" firestore:"digest"`
	// Rules are in the order of their names.
	Rules []Rule `json:"rules,omitempty" firestore:"rules,omitempty"`
	// Values are the settings beside the rules: by the variable's name, as the variable holds it.
	Values map[string]string `json:"values,omitempty" firestore:"values,omitempty"`
	// StoredBy is what the process that stored them is called, such as serve.
	StoredBy string    `json:"storedBy" firestore:"storedBy"`
	StoredAt time.Time `json:"storedAt" firestore:"storedAt"` // by the store's clock
	// LeftOut are effects that earlier settings planned and later ones did not. Digest does not depend on them.
	LeftOut []LeftOut `json:"leftOut,omitempty" firestore:"leftOut,omitempty"`
}

// NewStoredSettings returns what a process of that name stores. The order of the rules, and of what
// is listed in one, does not count.
func NewStoredSettings(by string, rules []Rule, values map[string]string) StoredSettings {
	s := StoredSettings{Rules: make([]Rule, len(rules)), Values: values, StoredBy: by}
	for i, rule := range rules {
		s.Rules[i] = Rule{
			Name: rule.Name, On: slices.Sorted(slices.Values(rule.On)), Alerts: slices.Sorted(slices.Values(rule.Alerts)),
			JobKinds: slices.Sorted(slices.Values(rule.JobKinds)),
		}
	}
	slices.SortFunc(s.Rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	text, _ := json.Marshal(struct { // texts alone: it has no error
		Rules  []Rule
		Values map[string]string
	}{s.Rules, values})
	sum := sha256.Sum256(text)
	s.Digest = hex.EncodeToString(sum[:])
	return s
}

// RuleNames returns the names of the rules; nil where no process has stored any.
func (s StoredSettings) RuleNames() []string {
	if s.IsZero() {
		return nil
	}
	return RuleNames(s.Rules)
}

// IsZero reports whether no process has stored any.
func (s StoredSettings) IsZero() bool { return s.Digest == "" }

// StoreSettings stores the settings of a process that begins: one read, and one write if they
// changed. It returns those stored before. It notes the effects that those planned and s does not, but for
// the rules byDefault, which others replace on purpose; and those of which the opposite is true. The error is
// that of [ReadSettings], or the store's: what cannot be read stays as it is [L6].
func (l *Ledger) StoreSettings(
	ctx context.Context, s StoredSettings, byDefault ...Rule,
) (before StoredSettings, err error) {
	byDefault = NewStoredSettings("", byDefault, nil).Rules // in the form in which rules are stored
	err = l.retry(ctx, "storing the settings", func(int) error {
		var doc Document
		var now time.Time
		if before, doc, now, err = readSettings(ctx, l.store); err != nil || before.Digest == s.Digest {
			return err
		}
		next := s
		next.Schema = max(before.Schema, operation.SchemaVersion)
		next.Version, next.StoredAt = before.Version+1, now
		next.LeftOut = leaveOut(before, next, byDefault, l.settings.Retention, now)
		return l.commit(ctx, Write{Path: settingsPath, Token: doc.Token, Data: next})
	})
	return before, err
}

// ReadSettings returns the settings stored in the ledger that store holds; zero where no process
// has stored any. The error is a [Broken] where it cannot be read, else the store's.
func ReadSettings(ctx context.Context, store Store) (StoredSettings, error) {
	stored, _, _, err := readSettings(ctx, store)
	return stored, err
}

func readSettings(ctx context.Context, store Store) (StoredSettings, Document, time.Time, error) {
	return readOne[StoredSettings](ctx, store, settingsPath, "the ledger's settings")
}

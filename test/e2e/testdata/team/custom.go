package effects

import (
	"context"
	"log/slog"
	"os"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/ledger"
)

// An extra document records which attempt wrote it.
type extraWrite struct {
	Owner string `json:"owner" firestore:"owner"`
	Fence int64  `json:"fence" firestore:"fence"`
}

// Custom returns a handler that calls TEAM_URL as do: http does, and then has a document ride in
// the finishing commit. The document replaces what is there: nothing but the ledger keeps a second
// one from being written.
func Custom(context.Context, *slog.Logger) (map[string]effect.Handler, error) {
	post := http.New(http.Options{URL: os.Getenv("TEAM_URL"), AllowPrivate: true})
	publish := effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		if _, err := post.Perform(ctx, task); err != nil {
			return nil, err
		}
		return []ledger.Write{{
			Path:  ledger.EffectPath(task.Operation, task.Effect).Child("extra", "written"),
			Token: ledger.Replace,
			Data:  extraWrite{Owner: task.Owner, Fence: task.Fence},
		}}, nil
	})
	return map[string]effect.Handler{"publish": publish}, nil
}

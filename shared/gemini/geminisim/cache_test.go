package geminisim_test

import (
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestCacheExpires: a cache is there until its time is over, or it is deleted; of one that is gone Gemini says 403.
func TestCacheExpires(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	began := time.Now()
	_, client, _ := serve(t, geminisim.Config{Now: func() time.Time { return began.Add(time.Duration(passed.Load())) }})
	create := func(config genai.CreateCachedContentConfig) *genai.CachedContent {
		made, err := client.Caches.Create(t.Context(), "m", &config)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for name, c := range map[string]struct {
		cache *genai.CachedContent
		life  time.Duration
	}{
		"by default":  {create(genai.CreateCachedContentConfig{}), time.Hour},
		"for so long": {create(genai.CreateCachedContentConfig{TTL: 5 * time.Minute}), 5 * time.Minute},
		"until then":  {create(genai.CreateCachedContentConfig{ExpireTime: began.Add(time.Minute)}), time.Minute},
	} {
		passed.Store(int64(c.life) - 1)
		got, err := client.Caches.Get(t.Context(), c.cache.Name, nil)
		if err != nil || !got.ExpireTime.Equal(began.Add(c.life)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		passed.Store(int64(c.life))
		_, err = client.Caches.Get(t.Context(), c.cache.Name, nil)
		wantAPIError(t, err, 403, "PERMISSION_DENIED")
	}
	deleted := create(genai.CreateCachedContentConfig{})
	if _, err := client.Caches.Delete(t.Context(), deleted.Name, nil); err != nil {
		t.Fatal(err)
	}
	_, err := client.Caches.Get(t.Context(), deleted.Name, nil)
	wantAPIError(t, err, 403, "PERMISSION_DENIED")
}

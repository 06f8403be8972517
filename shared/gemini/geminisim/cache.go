package geminisim

import (
	"net/http"
	"strconv"
	"time"
)

// cached is a cache of content, as the API shows it.
type cached struct {
	Name       string    `json:"name"`
	Model      string    `json:"model"`
	CreateTime time.Time `json:"createTime"`
	UpdateTime time.Time `json:"updateTime"`
	ExpireTime time.Time `json:"expireTime"`
}

// cacheLife is how long a cache is kept whose creation says no time (documented), by Config.Now.
const cacheLife = time.Hour

func (s *Sim) cacheRoutes(mux *http.ServeMux) {
	about := func(r *http.Request) subject { return subject{name: "cachedContents/" + r.PathValue("id")} }
	mux.HandleFunc("POST /v1beta/cachedContents", s.serve(OpCacheCreate, noSubject, s.createCache))
	mux.HandleFunc("GET /v1beta/cachedContents/{id}", s.serve(OpCacheGet, about, s.getCache))
	mux.HandleFunc("DELETE /v1beta/cachedContents/{id}", s.serve(OpCacheDelete, about, s.deleteCache))
}

// createCache makes a cache that has no content here.
func (s *Sim) createCache(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model      string    `json:"model"`
		TTL        string    `json:"ttl"` // such as 300s
		ExpireTime time.Time `json:"expireTime"`
	}
	if !readJSON(w, r, &body, false) {
		return
	}
	life := cacheLife
	if body.TTL != "" {
		var err error
		if life, err = time.ParseDuration(body.TTL); err != nil {
			writeError(w, http.StatusBadRequest, "Invalid value at 'cached_content.ttl'.")
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.cfg.Now().UTC()
	c := cached{
		Name:  "cachedContents/" + id(s.rand("cache", strconv.Itoa(len(s.caches))), 40),
		Model: body.Model, CreateTime: at, UpdateTime: at, ExpireTime: body.ExpireTime,
	}
	if c.ExpireTime.IsZero() {
		c.ExpireTime = at.Add(life)
	}
	s.caches[c.Name] = &c
	writeJSON(w, c)
}

func (s *Sim) getCache(w http.ResponseWriter, r *http.Request) {
	s.onCache(w, r, func(c *cached) any { return *c })
}

func (s *Sim) deleteCache(w http.ResponseWriter, r *http.Request) {
	s.onCache(w, r, func(c *cached) any {
		c.ExpireTime = s.cfg.Now()
		return struct{}{}
	})
}

// onCache answers a request about a cache. Of one that has expired, and of another project's, the API says the same.
func (s *Sim) onCache(w http.ResponseWriter, r *http.Request, answer func(*cached) any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.caches["cachedContents/"+r.PathValue("id")]
	if c == nil || !s.cfg.Now().Before(c.ExpireTime) {
		writeError(w, http.StatusForbidden, "CachedContent not found (or permission denied)")
		return
	}
	writeJSON(w, answer(c))
}

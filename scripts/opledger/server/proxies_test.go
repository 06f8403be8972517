package server

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// documented returns the configuration in a language that README.md has.
func documented(t *testing.T, language string) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```" + language + "\n(.+?)```").FindStringSubmatch(string(readme))
	if found == nil {
		t.Fatalf("the document has no %s", language)
	}
	return found[1]
}

// proxy runs a proxy until the test ends, and waits until it answers at an address.
func proxy(t *testing.T, address, program string, args ...string) {
	t.Helper()
	path := harness.Program(t, program, "what it forwards is not tested")
	command := exec.Command(path, args...)
	command.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // by the signal
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended
		<-ended
	})
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", program, said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// nginx runs nginx with a server block, in one process.
func nginx(t *testing.T, address, block string) {
	t.Helper()
	dir := t.TempDir()
	temporary := ""
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += what + "_temp_path " + dir + "/" + what + ";\n"
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte("daemon off; master_process off; pid "+dir+"/pid; error_log stderr;\n"+
		"events {}\nhttp {\naccess_log off;\n"+temporary+block+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy(t, address, "nginx", "-e", "stderr", "-p", dir, "-c", conf)
}

func caddy(t *testing.T, address, block string) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(conf, []byte("{\nadmin off\n}\n"+block), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy(t, address, "caddy", "run", "--adapter", "caddyfile", "--config", conf)
}

// TestDefaultProxies: what a proxy forwards with nothing but the server's address is not local, to a
// server without a token [G7].
func TestDefaultProxies(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, address, to string){
		"nginx": func(t *testing.T, address, to string) {
			nginx(t, address, "server {\nlisten "+address+";\nlocation / {\nproxy_pass "+to+";\n}\n}")
		},
		"caddy": func(t *testing.T, address, to string) {
			caddy(t, address, "http://"+address+" {\nreverse_proxy "+strings.TrimPrefix(to, "http://")+
				" {\nheader_up Host 127.0.0.1\n}\n}\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := expose(t, "127.0.0.1", Options{Console: true})
			address := free(t)
			start(t, address, e.url)
			e.url = "http://" + address
			e.call(call{status: 403, reason: "beyond-loopback"})
			e.call(call{method: "GET", path: "/", status: 403, reason: "beyond-loopback"})
			e.call(call{path: "/webhook", body: "{}", status: 401})
			e.wantOperations(0)
		})
	}
}

// TestDocumentedProxies: behind the proxies that the document sets up callers need the token, and
// deliveries and a browser get through [G7].
func TestDocumentedProxies(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, address string, ports *strings.Replacer){
		"nginx": func(t *testing.T, address string, ports *strings.Replacer) {
			block := strings.Replace(ports.Replace(documented(t, "nginx")), "listen 443 ssl", "listen "+address, 1)
			nginx(t, address, block)
		},
		"caddy": func(t *testing.T, address string, ports *strings.Replacer) {
			_, port, _ := net.SplitHostPort(address)
			block := ports.Replace(documented(t, "caddyfile"))
			caddy(t, address, strings.Replace(block, "ledger.example", "http://ledger.example:"+port, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := expose(t, "127.0.0.1", Options{Console: true, AllowHosts: []string{"ledger.example"}},
				"OPLEDGER_SERVE_TOKEN="+serveToken)
			address := free(t)
			start(t, address, strings.NewReplacer(
				"127.0.0.1:8080", strings.TrimPrefix(e.url, "http://"),
				"127.0.0.1:8081", strings.TrimPrefix(e.webhooks, "http://"),
			))
			_, port, _ := net.SplitHostPort(address)
			e.url = "http://" + address
			host := "ledger.example:" + port
			token := []string{"Authorization", "Bearer " + serveToken}
			e.call(call{host: host, status: 401, reason: "token"})
			e.call(call{host: host, header: token, status: 201})
			e.call(call{method: http.MethodGet, path: "/", host: host, status: 401, reason: "token"})
			entered := e.call(call{method: http.MethodGet, path: "/?token=" + serveToken, host: host, status: 200})
			cookie, _, _ := strings.Cut(entered.Get("Set-Cookie"), ";")
			e.call(call{method: http.MethodGet, path: "/", host: host, header: []string{"Cookie", cookie}, status: 200})
			e.call(call{path: "/webhook", body: "{}", host: host, status: 401})
			e.wantOperations(1)
		})
	}
}

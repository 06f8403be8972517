package secretsim

import (
	"context"
	"fmt"
	"hash/crc32"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// Config configures the simulator. The zero value has no faults.
type Config struct {
	// Now is the clock of create times; nil: time.Now.
	Now func() time.Time
	// PageSize is how many versions a page has at most; 0: 25000, as documented.
	PageSize int
}

// Sim is one simulated Secret Manager. Its methods are safe for concurrent use. It must be closed.
type Sim struct {
	secretmanagerpb.UnimplementedSecretManagerServiceServer

	config  Config
	server  *grpc.Server
	address string
	served  sync.WaitGroup

	mu      sync.Mutex // guards everything below
	secrets map[string]*secret
	calls   map[string]int
	faults  []*fault
	denied  map[string]bool            // by permission
	granted map[string]map[string]bool // by secret and permission; nil: everything
	damaged bool
}

type secret struct{ versions []*version } // oldest first

type version struct {
	number  int
	created time.Time
	state   secretmanagerpb.SecretVersion_State
	data    []byte
}

// A fault replaces or follows the next calls of a method.
type fault struct {
	method string
	code   codes.Code
	left   int // below 0: all
	hold   bool
	after  bool // the call is executed first
}

// Start starts a simulator on a loopback port.
func Start(config Config) (*Sim, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.PageSize <= 0 {
		config.PageSize = 25000
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the Secret Manager simulator: %w", err)
	}
	s := &Sim{
		config: config, address: listener.Addr().String(),
		secrets: map[string]*secret{}, calls: map[string]int{}, denied: map[string]bool{},
	}
	s.server = grpc.NewServer(grpc.UnaryInterceptor(s.intercept))
	secretmanagerpb.RegisterSecretManagerServiceServer(s.server, s)
	s.served.Go(func() { _ = s.server.Serve(listener) }) // it ends with Close
	return s, nil
}

// Addr returns the host and port of the simulator, for SECRET_MANAGER_EMULATOR_HOST.
func (s *Sim) Addr() string { return s.address }

// Close ends the simulator and every call to it.
func (s *Sim) Close() {
	s.server.Stop()
	s.served.Wait()
}

// number is the number of the only project, which is in every name that the simulator returns.
const number = "000000000042"

// named returns the id of the secret in a full name, with the project's id or number.
func named(name string) string {
	if parts := strings.Split(name, "/"); len(parts) >= 4 {
		return parts[3]
	}
	return name
}

// find returns the version of that full name.
func (s *Sim) find(name string) *version {
	parts := strings.Split(name, "/")
	kept := s.secrets[named(name)]
	if kept == nil || len(parts) != 6 || len(kept.versions) == 0 {
		return nil
	}
	if parts[5] == "latest" {
		return kept.versions[len(kept.versions)-1]
	}
	n, err := strconv.Atoi(parts[5])
	if err != nil || n < 1 || n > len(kept.versions) {
		return nil
	}
	return kept.versions[n-1]
}

func (v *version) name(secret string) string {
	return fmt.Sprintf("projects/%s/secrets/%s/versions/%d", number, secret, v.number)
}

func (s *secret) add(data []byte, at time.Time) *version {
	v := &version{
		number: len(s.versions) + 1, created: at, state: secretmanagerpb.SecretVersion_ENABLED,
		data: append([]byte(nil), data...),
	}
	s.versions = append(s.versions, v)
	return v
}

func checksum(data []byte) int64 {
	return int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// intercept counts a call and injects its fault.
func (s *Sim) intercept(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, serve grpc.UnaryHandler,
) (any, error) {
	method := info.FullMethod[strings.LastIndex(info.FullMethod, "/")+1:]
	f := s.next(method)
	if f == nil {
		return serve(ctx, request)
	}
	if f.hold {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.after {
		_, _ = serve(ctx, request) // the answer is lost
	}
	return nil, refused(f.code, method)
}

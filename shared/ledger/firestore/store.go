package firestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	cloud "cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Store is a ledger.Store in a Firestore database. Any number of processes may share the
// database.
type Store struct {
	client        *cloud.Client // closes its connection, also one to an emulator
	commitTimeout time.Duration // see the constant
}

var _ ledger.Store = (*Store)(nil)

// Open returns a store in a database of a project; an empty databaseID is the default database. It
// respects FIRESTORE_EMULATOR_HOST. It sends no request: a database that does not exist, or may not
// be used, fails the first call.
func Open(ctx context.Context, projectID, databaseID string, opts ...option.ClientOption) (*Store, error) {
	databaseID = cmp.Or(databaseID, cloud.DefaultDatabaseID)
	counting := []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(countAttempts), grpc.WithChainStreamInterceptor(countStreams),
	}
	var own []option.ClientOption
	for _, dial := range counting {
		own = append(own, option.WithGRPCDialOption(dial))
	}
	release := func() error { return nil }
	if addr := os.Getenv(emulatorVariable); addr != "" {
		conn, err := dialEmulator(addr, counting...)
		if err != nil {
			return nil, fmt.Errorf("connecting to the Firestore emulator at %s=%s: %w", emulatorVariable, addr, err)
		}
		own, release = []option.ClientOption{option.WithGRPCConn(conn)}, conn.Close
	}
	opts = append(own, opts...) // before others: they may answer in its place
	client, err := cloud.NewClientWithDatabase(ctx, projectID, databaseID, opts...)
	if err != nil {
		err = errors.Join(err, release())
		return nil, fmt.Errorf("opening Firestore database %s of project %q: %w", databaseID, projectID, err)
	}
	return &Store{client: client, commitTimeout: commitTimeout}, nil
}

// Close closes the client.
func (s *Store) Close() error {
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("closing the Firestore client: %w", err)
	}
	return nil
}

// Get reads all paths in one request and as of one instant, which is ReadTime. Where the answer broke
// off in the middle, and the client read the rest by itself, all is read again. Errors: ErrInvalid,
// for a malformed path; ErrUnavailable; the context's.
func (s *Store) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	// A document that is requested twice is read, and paid for, once.
	distinct := slices.Clone(paths)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	if len(distinct) == 0 {
		distinct = []ledger.Path{clockPath}
	}
	found, readTime, err := s.getAll(ctx, distinct)
	if err != nil {
		return ledger.Snapshot{}, err
	}
	snapshot := ledger.Snapshot{ReadTime: readTime, Documents: make([]ledger.Document, len(paths))}
	for i, path := range paths {
		at, _ := slices.BinarySearch(distinct, path)
		snapshot.Documents[i] = found[at]
	}
	return snapshot, nil
}

// readTimeout bounds how long the client repeats an unanswered read: otherwise as long as the
// caller's context.
const readTimeout = 10 * time.Second

// clockPath is a document that never exists. Reading it returns the server's time.
const clockPath ledger.Path = "clock/now"

func (s *Store) getAll(ctx context.Context, paths []ledger.Path) ([]ledger.Document, time.Time, error) {
	refs := make([]*cloud.DocumentRef, len(paths))
	for i, path := range paths {
		var err error
		if refs[i], err = s.ref(path); err != nil {
			return nil, time.Time{}, err
		}
	}
	bounded, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for {
		var read repeats
		snapshots, err := s.client.GetAll(read.count(bounded), refs)
		if err != nil {
			return nil, time.Time{}, classify(ctx, "reading documents", err)
		}
		if read.n.Load() <= 1 { // else they are not of one instant
			documents, readTime := documentsOf(snapshots)
			return documents, readTime, nil
		}
	}
}

// documentsOf turns the snapshots of one request into documents. Their read times may grow from one
// to the next. Firestore promises that the earlier ones have not changed by the last, so that one
// holds for all.
func documentsOf(snapshots []*cloud.DocumentSnapshot) ([]ledger.Document, time.Time) {
	var readTime time.Time
	documents := make([]ledger.Document, len(snapshots))
	for i, snapshot := range snapshots {
		readTime = operation.Later(readTime, snapshot.ReadTime)
		documents[i].Path = pathOf(snapshot.Ref)
		if snapshot.Exists() {
			documents[i] = ledger.NewDocument(documents[i].Path, tokenOf(snapshot.UpdateTime), snapshot.DataTo)
		}
	}
	return documents, operation.Instant(readTime)
}

// ref returns the client's name of a path. The error is ErrInvalid.
func (s *Store) ref(path ledger.Path) (*cloud.DocumentRef, error) {
	ref := s.client.Doc(string(path))
	if ref == nil {
		return nil, fmt.Errorf("%q is not the path of a document: %w", path, ledger.ErrInvalid)
	}
	return ref, nil
}

// pathOf returns the part of a document's full name that is behind
// "projects/…/databases/…/documents/".
func pathOf(ref *cloud.DocumentRef) ledger.Path {
	_, path, _ := strings.Cut(ref.Path, "/documents/")
	return ledger.Path(path)
}

// tokenOf writes an update time as text with every digit: a rounded one would be another version.
func tokenOf(updateTime time.Time) ledger.Token {
	return ledger.Token(updateTime.UTC().Format(time.RFC3339Nano))
}

// updateTimeOf reads a token. One that this store did not make is no document's version: the error
// is ErrConflict.
func updateTimeOf(token ledger.Token) (time.Time, error) {
	updateTime, err := time.Parse(time.RFC3339Nano, string(token))
	if err != nil {
		return time.Time{}, fmt.Errorf("token %q is no version: %w", token, ledger.ErrConflict)
	}
	return updateTime, nil
}

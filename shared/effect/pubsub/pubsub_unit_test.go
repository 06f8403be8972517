package pubsub

import (
	"errors"
	"testing"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestTopicsClose: a topic without a project is an error before there is a connection, and a connection
// that cannot be closed is one.
func TestTopicsClose(t *testing.T) {
	t.Parallel()
	if err := NewTopics("").Check(t.Context(), "ends"); !errors.Is(err, ErrNoProject) {
		t.Error(err)
	}
	connection, err := grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	topics := NewTopics("p", option.WithGRPCConn(connection))
	if _, err := topics.client.Get(t.Context(), topics.dial); err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	if err := topics.Close(); err == nil {
		t.Error("the connection was closed twice without an error")
	}
}

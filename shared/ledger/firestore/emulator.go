package firestore

import (
	"context"
	"math"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// emulatorVariable is the address of an emulator, which the client uses instead of Firestore.
const emulatorVariable = "FIRESTORE_EMULATOR_HOST"

// dialEmulator returns a connection to the emulator at addr. The client makes one of its own where
// the variable is set, which takes no dial option, so that no commit would be counted on it. It uses
// ours instead, and leaves its own open until the process ends.
func dialEmulator(addr string, dial ...grpc.DialOption) (*grpc.ClientConn, error) {
	addr = strings.TrimPrefix(strings.TrimPrefix(addr, "http://"), "https://")
	if !strings.Contains(addr, "://") {
		addr = "passthrough:///" + addr
	}
	return grpc.NewClient(addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(owner{}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
	}, dial...)...)
}

// owner is the token that the emulator accepts for every permission.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }

// Package dial connects Google Cloud's clients to an emulator. It is apart from the emulators, which tests
// start that link neither a client nor gRPC.
package dial

import (
	"context"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Options returns the options with which a Google Cloud client connects to the emulator at
// addr, with further dial options such as interceptors.
func Options(addr string, more ...grpc.DialOption) []option.ClientOption {
	options := []option.ClientOption{
		option.WithEndpoint("passthrough:///" + addr),
		option.WithoutAuthentication(),
		option.WithTelemetryDisabled(),
		option.WithGRPCConnectionPool(1),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		option.WithGRPCDialOption(grpc.WithPerRPCCredentials(owner{})),
		// Windows of a fixed size. To find one, gRPC sends a ping for nearly every answer.
		option.WithGRPCDialOption(grpc.WithInitialWindowSize(1 << 20)),
		option.WithGRPCDialOption(grpc.WithInitialConnWindowSize(1 << 20)),
	}
	for _, d := range more {
		options = append(options, option.WithGRPCDialOption(d))
	}
	return options
}

// owner is the token that the emulators accept for every permission.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }

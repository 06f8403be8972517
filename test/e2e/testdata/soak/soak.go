// Package main is given this file by the soak test: asked with SIGUSR1, the program gives back what
// memory it can, and says how many goroutines it has, how many more those clients have that speak
// gRPC, and how many bytes it still needs.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

func init() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			debug.FreeOSMemory()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			own, clients := goroutines()
			fmt.Printf("usage %d %d %d\n", own, clients, memory.HeapAlloc)
		}
	}()
}

// goroutines counts them, apart those that a client of gRPC has when it is first used, and for a
// connection while it has one. What waits for an answer is not among those.
func goroutines() (own, clients int) {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		_, creator, _ := bytes.Cut(stack, []byte("\ncreated by google.golang.org/grpc/internal/"))
		if bytes.HasPrefix(creator, []byte("transport.NewHTTP2Client ")) ||
			bytes.HasPrefix(creator, []byte("grpcsync.NewCallbackSerializer ")) {
			clients++
		} else {
			own++
		}
	}
	return own, clients
}

// Package main is given this file by the soak test. Asked with SIGUSR1, the program gives back what
// memory it can. Then it says how many goroutines it has of its own, of gRPC's clients and of their
// connections, and how many bytes it still needs.
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
			own, clients, connections := goroutines()
			debug.FreeOSMemory()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			fmt.Printf("usage %d %d %d %d\n", own, clients, connections, memory.HeapAlloc)
		}
	}()
}

// goroutines counts them, apart those that a client of gRPC has from its first use on, and those of
// a connection while there is one. What waits for an answer is the program's own.
func goroutines() (own, clients, connections int) {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		_, creator, _ := bytes.Cut(stack, []byte("\ncreated by google.golang.org/grpc/internal/"))
		switch {
		case bytes.HasPrefix(creator, []byte("grpcsync.NewCallbackSerializer ")):
			clients++
		case bytes.HasPrefix(creator, []byte("transport.NewHTTP2Client ")):
			connections++
		default:
			own++
		}
	}
	return own, clients, connections
}

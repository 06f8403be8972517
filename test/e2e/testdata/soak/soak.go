// Package main is given this file by the soak test: asked with SIGUSR1, the program gives back what
// memory it can, and says how many goroutines it has and how many bytes it still needs.
package main

import (
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
			fmt.Printf("usage %d %d\n", runtime.NumGoroutine(), memory.HeapAlloc)
		}
	}()
}

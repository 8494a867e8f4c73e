package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Time to reach a backend.
const dialTime = 2 * time.Second

// balance takes connections and hands them to the backends in turns, as a Service does. Bytes are
// moved by the kernel. It says on standard output where it listens, once it does.
func balance(listen string, backends []string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, listener.Addr())
	var next atomic.Uint64
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go relay(client, backends[next.Add(1)%uint64(len(backends))])
	}
}

func relay(client net.Conn, backend string) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", backend, dialTime)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { oneWay(server, client) })
	oneWay(client, server)
	both.Wait()
}

// oneWay moves bytes until their end, and passes that end on.
func oneWay(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}

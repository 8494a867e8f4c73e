// The load generator of the benchmarks: pushes over HTTPS as training programs do, faster than an
// endpoint can take them. It reads plans as one JSON document, runs them at the same time, and
// writes one JSON document with what each of them met.
//
//	generator [FILE]                        plans from FILE, by default from standard input
//	generator hold                          connections that never go on, by a plan from standard input
//	generator balance LISTEN BACKEND...     a round-robin TCP balancer, until SIGTERM
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// result is the document that is written.
type result struct {
	Results []planResult `json:"results"`
	// Of this process, start and building of requests included.
	CPUSeconds float64 `json:"cpuSeconds"`
	MaxRSSMB   float64 `json:"maxRssMb"`
}

func run(file string, out io.Writer) error {
	input := io.Reader(os.Stdin)
	if file != "" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer opened.Close()
		input = opened
	}
	document, err := readPlans(input)
	if err != nil {
		return err
	}
	loads := make([]*load, len(document.Plans))
	for i := range document.Plans {
		if loads[i], err = newLoad(&document.Plans[i]); err != nil {
			return fmt.Errorf("plan %q: %w", document.Plans[i].Name, err)
		}
	}
	results := make([]planResult, len(loads))
	var running sync.WaitGroup
	start := time.Now()
	for i, one := range loads {
		running.Go(func() { results[i] = one.run(start) })
	}
	running.Wait()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return json.NewEncoder(out).Encode(result{
		Results:    results,
		CPUSeconds: seconds(usage.Utime) + seconds(usage.Stime),
		MaxRSSMB:   float64(usage.Maxrss) / 1024,
	})
}

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) >= 3 && args[0] == "balance":
		err = balance(args[1], args[2:])
	case len(args) == 1 && args[0] == "hold":
		err = holdAll(os.Stdin, os.Stdout)
	case len(args) <= 1:
		err = run(append(args, "")[0], os.Stdout)
	default:
		err = fmt.Errorf("usage: generator [FILE] | generator hold | generator balance LISTEN BACKEND...")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1)
	}
}

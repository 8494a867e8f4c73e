package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// hold is one kind of connections that are opened, say something, and never go on.
type hold struct {
	Name string `json:"name"`
	// host:port.
	Address string `json:"address"`
	// Loopback addresses that connections come from, in turns.
	Sources []string `json:"sources"`
	// Connections at a time: one that the server closes is opened again.
	Count int `json:"count"`
	// New connections a second.
	Rate float64 `json:"rate"`
	// Whether it makes a handshake first.
	TLS bool `json:"tls"`
	// What is sent, and how many x after it.
	Text string `json:"text"`
	More int    `json:"more"`
}

type holdPlan struct {
	DurationMs int64  `json:"durationMs"`
	Holds      []hold `json:"holds"`
}

// holdResult says what became of the connections of a hold.
type holdResult struct {
	Name string `json:"name"`
	// Connections that were begun, that could say all, and the most at a time.
	Opened int `json:"opened"`
	Said   int `json:"said"`
	Most   int `json:"most"`
	// Answers by status.
	Answers map[string]int `json:"answers"`
}

// holder runs one hold.
type holder struct {
	hold
	until   time.Time
	payload []byte
	mutex   sync.Mutex
	now     int
	result  holdResult
}

func (h *holder) count(change func(*holdResult)) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	change(&h.result)
}

// one opens a connection, says its part, and waits until the server closes it or the time is over.
func (h *holder) one(source string) {
	dialer := net.Dialer{Deadline: h.until}
	if source != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
		dialer.Control = noPort
	}
	connection, err := dialer.Dial("tcp", h.Address)
	if err != nil {
		return
	}
	defer connection.Close()
	if h.TLS {
		connection = tls.Client(connection, &tls.Config{InsecureSkipVerify: true})
	}
	_ = connection.SetDeadline(h.until)
	if _, err = connection.Write(h.payload); err != nil {
		return
	}
	h.count(func(r *holdResult) {
		r.Said++
		h.now++
		r.Most = max(r.Most, h.now)
	})
	heard, _ := io.ReadAll(io.LimitReader(connection, 4096))
	h.count(func(r *holdResult) {
		h.now--
		if parts := strings.SplitN(string(heard), " ", 3); len(parts) == 3 && strings.HasPrefix(parts[0], "HTTP/") {
			r.Answers[parts[1]]++
		}
	})
}

func (h *holder) run() holdResult {
	h.payload = []byte(h.Text + strings.Repeat("x", h.More))
	places := make(chan struct{}, h.Count)
	ticker := time.NewTicker(time.Duration(float64(time.Second) / h.Rate))
	defer ticker.Stop()
	var running sync.WaitGroup
	for number := 0; ; number++ {
		<-ticker.C
		// Asked after the wait: at the end all places are free again.
		if !time.Now().Before(h.until) {
			break
		}
		select {
		case places <- struct{}{}:
		default:
			continue
		}
		source := ""
		if len(h.Sources) > 0 {
			source = h.Sources[number%len(h.Sources)]
		}
		h.count(func(r *holdResult) { r.Opened++ })
		running.Go(func() {
			defer func() { <-places }()
			h.one(source)
		})
	}
	running.Wait()
	return h.result
}

// holdAll runs a plan of holds and writes what became of each.
func holdAll(input io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(input)
	decoder.DisallowUnknownFields()
	var plan holdPlan
	if err := decoder.Decode(&plan); err != nil {
		return fmt.Errorf("the holds are not as expected: %w", err)
	}
	until := time.Now().Add(time.Duration(plan.DurationMs) * time.Millisecond)
	results := make([]holdResult, len(plan.Holds))
	var running sync.WaitGroup
	for i, one := range plan.Holds {
		if one.Count < 1 || one.Count > maxConnections || one.Rate <= 0 {
			return fmt.Errorf("hold %q: it needs a count and a rate", one.Name)
		}
		running.Go(func() {
			h := holder{hold: one, until: until, result: holdResult{Name: one.Name, Answers: map[string]int{}}}
			results[i] = h.run()
		})
	}
	running.Wait()
	return json.NewEncoder(out).Encode(results)
}

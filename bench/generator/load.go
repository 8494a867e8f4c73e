package main

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Texts of failures that are told, as examples.
const maxExamples = 5

// prepared is a target whose request is written as far as it never changes.
type prepared struct {
	address string
	// Up to the token, and from it to the length of the body.
	before, after string
	token         string
	trust         *trust
	serverName    string
}

// load is a plan under way.
type load struct {
	plan    *plan
	targets []prepared
	forger  *forger
	next    atomic.Int64
	began   time.Time
	end     time.Time
	warm    time.Time
	// Latencies of all pushes, and of those that were meant for a time after the warm-up.
	all, afterWarmUp histogram
}

func authorityOf(p *plan, file string, known map[string]*trust) (*trust, error) {
	if found, ok := known[file]; ok {
		return found, nil
	}
	text := []byte(p.CAPem)
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	made := &trust{roots: x509.NewCertPool()}
	if !made.roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("caFile or caPem holds no certificate")
	}
	known[file] = made
	return made, nil
}

func newLoad(p *plan) (*load, error) {
	made := &load{plan: p, targets: make([]prepared, len(p.Targets))}
	known := map[string]*trust{}
	var more strings.Builder
	for name, value := range p.Headers {
		fmt.Fprintf(&more, "%s: %s\r\n", name, value)
	}
	if p.Mode == "connection-per-push" {
		more.WriteString("Connection: close\r\n")
	}
	for i, one := range p.Targets {
		where, _ := url.Parse(one.URL)
		file := one.CAFile
		if file == "" {
			file = p.CAFile
		}
		trusted, err := authorityOf(p, file, known)
		if err != nil {
			return nil, err
		}
		name := p.ServerName
		if name == "" {
			name = where.Hostname()
		}
		made.targets[i] = prepared{
			address: where.Host, token: one.Token, trust: trusted, serverName: name,
			before: fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n", p.Method, where.RequestURI(), where.Host),
			after:  "Content-Type: application/json\r\n" + more.String() + "Content-Length: ",
		}
	}
	if p.Forged != nil {
		var err error
		if made.forger, err = newForger(*p.Forged, p.Targets[0].Token); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// request writes push `number` to `buffer`.
func (l *load) request(buffer []byte, to *prepared, number int64) []byte {
	body := fill(*l.plan.Body, number)
	token := to.token
	if l.forger != nil {
		token = l.forger.token()
	}
	buffer = append(buffer[:0], to.before...)
	if token != "" {
		buffer = append(append(append(buffer, "Authorization: Bearer "...), token...), "\r\n"...)
	}
	buffer = append(buffer, to.after...)
	buffer = strconv.AppendInt(buffer, int64(len(body)), 10)
	return append(append(buffer, "\r\n\r\n"...), body...)
}

func fill(template string, number int64) string {
	var text strings.Builder
	text.Grow(len(template) + 64)
	for {
		before, rest, found := strings.Cut(template, "{{")
		text.WriteString(before)
		if !found {
			return text.String()
		}
		name, after, _ := strings.Cut(rest, "}}")
		switch name {
		case "percentage":
			text.WriteString(strconv.FormatInt(number%100, 10))
		case "remaining":
			text.WriteString(strconv.FormatInt(3600-number%3600, 10))
		case "value":
			text.WriteString(strconv.FormatFloat(1/float64(1+number%1000), 'f', 5, 64))
		case "number":
			text.WriteString(strconv.FormatInt(number, 10))
		case "now":
			text.WriteString(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
		}
		template = after
	}
}

// take waits until push `number` is meant to be sent, and answers when that was; false at the end.
func (l *load) take(number int64) (_ int64, at time.Time, more bool) {
	now := time.Now()
	if l.plan.Count > 0 && number >= l.plan.Count {
		return number, now, false
	}
	at = now
	if l.plan.Rate > 0 {
		at = l.began.Add(time.Duration(float64(number) / l.plan.Rate * float64(time.Second)))
	}
	if l.plan.DurationMs > 0 && (at.After(l.end) || now.After(l.end)) {
		// Offered within its time, though nobody was free to send it: that is told as not sent.
		return number, at, false
	}
	if wait := time.Until(at); wait > 0 {
		time.Sleep(wait)
	}
	return number, at, true
}

// run runs a plan to its end. `start` is common to all plans.
func (l *load) run(start time.Time) planResult {
	p := l.plan
	l.began = start.Add(time.Duration(p.StartAfterMs) * time.Millisecond)
	time.Sleep(time.Until(l.began))
	l.end = l.began.Add(time.Duration(p.DurationMs) * time.Millisecond)
	l.warm = l.began.Add(time.Duration(p.WarmUpMs) * time.Millisecond)
	workers := make([]*worker, p.Connections)
	var running sync.WaitGroup
	for i := range workers {
		workers[i] = newWorker(l, i)
		running.Go(workers[i].run)
	}
	running.Wait()
	return l.resultOf(workers, time.Since(l.began))
}

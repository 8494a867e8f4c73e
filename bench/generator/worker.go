package main

import (
	"crypto/tls"
	"time"
)

// worker sends one push after the other.
type worker struct {
	load   *load
	index  int
	turn   int64
	open   map[string]*connection
	tls    map[*trust]*tls.Config
	buffer []byte
	tally  tally
}

// tally is what one worker has met.
type tally struct {
	sent, inTime, warmOK uint64
	handshakes, resumed  uint64
	reconnects           uint64
	byStatus             map[int]uint64
	errors               map[string]uint64
	examples             []string
	again, withoutReturn uint64
	outcomes             []outcome
}

// outcome is what became of one push.
type outcome struct {
	number int64
	taken  bool
}

func newWorker(l *load, index int) *worker {
	return &worker{
		load: l, index: index, open: map[string]*connection{}, tls: map[*trust]*tls.Config{},
		tally: tally{byStatus: map[int]uint64{}, errors: map[string]uint64{}},
	}
}

// next is the number of the next push. In order, a worker has every so many-th, which are all of one
// job, as a pod that waits for each answer.
func (w *worker) next() int64 {
	if !w.load.plan.InOrder {
		return w.load.next.Add(1) - 1
	}
	w.turn++
	return (w.turn-1)*int64(w.load.plan.Connections) + int64(w.index)
}

func (w *worker) run() {
	defer func() {
		for _, one := range w.open {
			one.close()
		}
	}()
	for {
		number, at, more := w.load.take(w.next())
		if !more {
			return
		}
		w.push(number, at)
	}
}

// targetOf spreads pushes evenly; a worker that keeps its connection keeps its job too.
func (w *worker) targetOf(number int64) *prepared {
	p, targets := w.load.plan, w.load.targets
	if p.Mode == "keep-alive" && p.Rate == 0 && len(targets) <= p.Connections {
		return &targets[w.index%len(targets)]
	}
	return &targets[number%int64(len(targets))]
}

func (w *worker) sourceOf(number int64) string {
	p := w.load.plan
	if len(p.Sources) == 0 {
		return ""
	}
	if p.Mode == "keep-alive" {
		return p.Sources[w.index%len(p.Sources)]
	}
	return p.Sources[number%int64(len(p.Sources))]
}

func (w *worker) push(number int64, at time.Time) {
	to := w.targetOf(number)
	w.buffer = w.load.request(w.buffer, to, number)
	found, err := w.attempts(to, w.sourceOf(number))
	w.record(at, found, err)
	if w.load.plan.Outcomes {
		taken := err == nil && found.status < 300
		w.tally.outcomes = append(w.tally.outcomes, outcome{number, taken})
	}
}

// attempts sends what is in the buffer, once more where a client would: after a 503, or without an
// answer. It answers what came of the last attempt; earlier ones count as answers and errors.
func (w *worker) attempts(to *prepared, source string) (found answer, err error) {
	p, t := w.load.plan, &w.tally
	for attempt := 1; ; attempt++ {
		deadline := time.Now().Add(time.Duration(p.TimeoutMs) * time.Millisecond)
		found, err = w.exchange(to, source, deadline)
		if err == nil && found.status == 503 && !found.comeAgain {
			t.withoutReturn++
		}
		if attempt >= p.Attempts || (err == nil && found.status != 503) {
			return found, err
		}
		t.again++
		if err != nil {
			t.errors[kindOf(err)]++
		} else {
			t.byStatus[found.status]++
		}
		time.Sleep(max(time.Second, time.Duration(found.afterSeconds)*time.Second))
	}
}

// exchange sends what is in the buffer. A kept connection that the server has closed meanwhile is
// replaced once, as every client does.
func (w *worker) exchange(to *prepared, source string, deadline time.Time) (answer, error) {
	held := w.open[to.address]
	for {
		if held == nil {
			var err error
			if held, err = w.connect(to, source, deadline); err != nil {
				return answer{}, err
			}
		}
		found, began, err := held.exchange(w.buffer, deadline)
		if err == nil {
			w.keep(to.address, held, found)
			return found, nil
		}
		held.close()
		delete(w.open, to.address)
		if kind := kindOf(err); began || !held.used || (kind != "closed" && kind != "reset") {
			return answer{}, err
		}
		w.tally.reconnects++
		held = nil
	}
}

func (w *worker) connect(to *prepared, source string, deadline time.Time) (*connection, error) {
	config := w.tls[to.trust]
	if config == nil {
		config = to.trust.tlsConfig(to.serverName, w.load.plan.Resumption)
		w.tls[to.trust] = config
	}
	made, err := connect(to.address, source, config, deadline)
	if err != nil {
		return nil, err
	}
	w.tally.handshakes++
	if made.net.ConnectionState().DidResume {
		w.tally.resumed++
	}
	return made, nil
}

func (w *worker) keep(address string, held *connection, found answer) {
	held.used = true
	if found.closes || w.load.plan.Mode == "connection-per-push" {
		held.close()
		delete(w.open, address)
		return
	}
	w.open[address] = held
}

func (w *worker) record(at time.Time, found answer, err error) {
	now := time.Now()
	t, l := &w.tally, w.load
	t.sent++
	latency := now.Sub(at)
	isWarm := !at.Before(l.warm)
	if err != nil {
		kind := kindOf(err)
		t.errors[kind]++
		t.example(kind + ": " + err.Error())
		if kind != "timeout" {
			return
		}
	} else {
		t.byStatus[found.status]++
		if found.status >= 300 {
			t.example(found.excerpt)
		} else {
			if l.plan.DurationMs <= 0 || !now.After(l.end) {
				t.inTime++
			}
			if isWarm {
				t.warmOK++
			}
		}
	}
	l.all.add(latency)
	if isWarm {
		l.afterWarmUp.add(latency)
	}
}

func (t *tally) example(text string) {
	if len(t.examples) < maxExamples {
		t.examples = append(t.examples, text)
	}
}

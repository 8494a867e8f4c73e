package main

import (
	"bytes"
	"strconv"
	"time"
)

// planResult is what a plan has met.
type planResult struct {
	Name string `json:"name"`
	// Pushes that were begun, and those of an offered rate that nobody was free to send in time.
	Sent    uint64 `json:"sent"`
	Unsent  uint64 `json:"unsent"`
	Answers uint64 `json:"answers"`
	OK      uint64 `json:"ok"`
	// Answers by their status codes, and what had none by its kind.
	ByStatus map[string]uint64 `json:"byStatus"`
	Errors   map[string]uint64 `json:"errors"`
	// Of the errors: no answer in time.
	Timeouts uint64 `json:"timeouts"`
	// Of the answers and errors: 429 and 503, connections refused, reset or closed without an answer.
	Refused uint64 `json:"refused"`
	// From the beginning to the last answer.
	Seconds float64 `json:"seconds"`
	// Successes a second, within the duration where there is one.
	Rate       float64 `json:"rate"`
	Handshakes uint64  `json:"handshakes"`
	Resumed    uint64  `json:"resumed"`
	Reconnects uint64  `json:"reconnects"`
	// From the intended time to the answer, or to the time-out.
	Latency latencies `json:"latency"`
	// The same of pushes that were meant for a time after the warm-up.
	Warm     latencies `json:"warm"`
	WarmOK   uint64    `json:"warmOk"`
	Examples []string  `json:"examples"`
	// Pushes that were sent once more, and answers of 503 that did not say when to come again.
	Again         uint64 `json:"again"`
	WithoutReturn uint64 `json:"withoutReturn"`
	// A character for each push by its number: + taken, - not taken, . not sent.
	Outcomes string `json:"outcomes,omitempty"`
}

func (l *load) resultOf(workers []*worker, took time.Duration) planResult {
	p := l.plan
	found := planResult{
		Name: p.Name, ByStatus: map[string]uint64{}, Errors: map[string]uint64{},
		Seconds: took.Seconds(), Examples: []string{},
	}
	var inTime uint64
	for _, w := range workers {
		t := &w.tally
		found.Sent += t.sent
		found.Handshakes += t.handshakes
		found.Resumed += t.resumed
		found.Reconnects += t.reconnects
		found.WarmOK += t.warmOK
		found.Again += t.again
		found.WithoutReturn += t.withoutReturn
		inTime += t.inTime
		for status, count := range t.byStatus {
			found.ByStatus[strconv.Itoa(status)] += count
			found.Answers += count
			if status < 300 {
				found.OK += count
			}
			if status == 429 || status == 503 {
				found.Refused += count
			}
		}
		for kind, count := range t.errors {
			found.Errors[kind] += count
		}
		if len(found.Examples) < maxExamples {
			found.Examples = append(found.Examples, t.examples...)
		}
	}
	found.Examples = found.Examples[:min(len(found.Examples), maxExamples)]
	found.Timeouts = found.Errors["timeout"]
	found.Refused += found.Errors["refused"] + found.Errors["reset"] + found.Errors["closed"]
	if p.Outcomes {
		found.Outcomes = outcomesOf(workers)
	}
	found.Latency, found.Warm = l.all.latencies(), l.afterWarmUp.latencies()
	found.Rate = float64(found.OK) / took.Seconds()
	if p.DurationMs > 0 && p.Count == 0 {
		seconds := float64(p.DurationMs) / 1000
		found.Rate = float64(inTime) / seconds
		if offered := uint64(p.Rate * seconds); offered > found.Sent {
			found.Unsent = offered - found.Sent
		}
	}
	return found
}

func outcomesOf(workers []*worker) string {
	var most int64 = -1
	for _, w := range workers {
		for _, one := range w.tally.outcomes {
			most = max(most, one.number)
		}
	}
	text := bytes.Repeat([]byte{'.'}, int(most+1))
	for _, w := range workers {
		for _, one := range w.tally.outcomes {
			text[one.number] = '-'
			if one.taken {
				text[one.number] = '+'
			}
		}
	}
	return string(text)
}

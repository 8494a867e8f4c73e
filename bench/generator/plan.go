package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
)

// Bounds of a plan: mistakes end here, not in a machine without memory or ports.
const (
	maxConnections  = 20_000
	defaultTimeout  = 5_000
	defaultBodyText = `{"trainerStatus":{"progressPercentage":{{percentage}},` +
		`"estimatedRemainingSeconds":{{remaining}},"metrics":[{"name":"loss","value":"{{value}}"}],` +
		`"lastUpdatedTime":"{{now}}"}}`
)

// target is where pushes of a job go.
type target struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	// CA of this target, over that of the plan.
	CAFile string `json:"caFile"`
}

// forged says how tokens are made up instead of taken from the targets.
type forged struct {
	// unsigned: algorithm none; garbage: no JWT; random-signature: the target's header and claims
	// with an own jti and a signature of random bytes; other-key: signed by a key of our own.
	Kind string `json:"kind"`
	// Whether each push has a token that was never sent before; else one token is repeated.
	Differ bool `json:"differ"`
}

// plan is one stream of pushes.
type plan struct {
	Name    string   `json:"name"`
	Targets []target `json:"targets"`
	// PEM of the CA of all targets, by file or by value.
	CAFile string `json:"caFile"`
	CAPem  string `json:"caPem"`
	// Name that the certificate must have; by default the host of the URL.
	ServerName string `json:"serverName"`
	// Pushes under way at a time; with keep-alive also the connections.
	Connections int `json:"connections"`
	// keep-alive, or connection-per-push.
	Mode string `json:"mode"`
	// Whether TLS sessions are resumed.
	Resumption bool `json:"resumption"`
	// When it begins and how long it lasts, in milliseconds; or how many pushes it sends.
	StartAfterMs int64 `json:"startAfterMs"`
	DurationMs   int64 `json:"durationMs"`
	Count        int64 `json:"count"`
	// What is answered before that has no part in `warm`.
	WarmUpMs int64 `json:"warmUpMs"`
	// Pushes offered a second, whatever is answered; 0: the next when the last is answered.
	Rate float64 `json:"rate"`
	// Loopback addresses that connections come from, in turns.
	Sources   []string          `json:"sources"`
	TimeoutMs int64             `json:"timeoutMs"`
	Method    string            `json:"method"`
	Headers   map[string]string `json:"headers"`
	// Template: {{percentage}} 0 to 99, {{remaining}}, {{value}}, {{now}} (RFC 3339), {{number}}.
	Body   *string `json:"body"`
	Forged *forged `json:"forged"`
	// How often a push is sent at most, the same each time: again after a 503 or no answer, when
	// Retry-After has passed.
	Attempts int `json:"attempts"`
	// Whether each target's pushes follow each other, each after the answer to the one before.
	InOrder bool `json:"inOrder"`
	// Whether it is told of each push what became of it.
	Outcomes bool `json:"outcomes"`
}

type document struct {
	Plans []plan `json:"plans"`
}

func readPlans(input io.Reader) (*document, error) {
	decoder := json.NewDecoder(input)
	decoder.DisallowUnknownFields()
	var found document
	if err := decoder.Decode(&found); err != nil {
		return nil, fmt.Errorf("the plans are not as expected: %w", err)
	}
	if len(found.Plans) == 0 {
		return nil, fmt.Errorf("there is no plan")
	}
	for i := range found.Plans {
		if err := found.Plans[i].complete(); err != nil {
			return nil, fmt.Errorf("plan %q: %w", found.Plans[i].Name, err)
		}
	}
	return &found, nil
}

// complete checks a plan and fills in what it leaves open.
func (p *plan) complete() error {
	if len(p.Targets) == 0 {
		return fmt.Errorf("it has no targets")
	}
	if p.Connections < 1 || p.Connections > maxConnections {
		return fmt.Errorf("connections must be from 1 to %d", maxConnections)
	}
	if p.DurationMs <= 0 && p.Count <= 0 {
		return fmt.Errorf("it needs durationMs or count, or it never ends")
	}
	if p.InOrder && p.Connections != len(p.Targets) {
		return fmt.Errorf("in order there must be as many connections as targets")
	}
	switch p.Mode {
	case "":
		p.Mode = "keep-alive"
	case "keep-alive", "connection-per-push":
	default:
		return fmt.Errorf("mode must be keep-alive or connection-per-push, not %q", p.Mode)
	}
	if p.Attempts <= 0 {
		p.Attempts = 1
	}
	if p.TimeoutMs <= 0 {
		p.TimeoutMs = defaultTimeout
	}
	if p.Method == "" {
		p.Method = "POST"
	}
	if p.Body == nil {
		text := defaultBodyText
		p.Body = &text
	}
	for _, one := range p.Targets {
		found, err := url.Parse(one.URL)
		if err != nil || found.Scheme != "https" || found.Port() == "" {
			return fmt.Errorf("target %q must be like https://host:port/path", one.URL)
		}
	}
	return nil
}

// Client that reports the progress of a training run to Milepost. Copy this file: it needs the standard library and the injected variables.
// As a command: push [--progress PERCENT] [--remaining SECONDS] [--metric NAME=VALUE]... [--step STEP] [--patience SECONDS]
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var said sync.Map
var sequence = time.Now().UnixMilli() // goes up, also when the program starts again

// try is one try, of 5 s at most. Token and CA are renewed while the pod runs, so both are read for it.
func try(url string, body []byte) (code, retryAfter int, text []byte, err error) {
	token, noToken := os.ReadFile(os.Getenv("KUBEFLOW_TRAINER_STATUS_TOKEN"))
	ca, noCA := os.ReadFile(os.Getenv("KUBEFLOW_TRAINER_STATUS_CA_CERT"))
	request, noURL := http.NewRequest("POST", url, bytes.NewReader(body))
	for _, err := range []error{noToken, noCA, noURL} {
		if err != nil {
			return 0, 0, nil, err
		}
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, DisableKeepAlives: true}
	client := http.Client{Timeout: 5 * time.Second, Transport: transport}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(request)
	if err != nil {
		return 0, 0, nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	retryAfter, _ = strconv.Atoi(answer.Header.Get("Retry-After"))
	return answer.StatusCode, retryAfter, text, err
}

// Stop says why the training is to end.
type Stop struct {
	Stop            bool
	Reason, Message string
}

// Push sends a status, and goes on trying for that long. It answers nil, or why the training is to end.
func Push(status map[string]any, patience time.Duration) *Stop {
	url, end := os.Getenv("KUBEFLOW_TRAINER_STATUS_URL"), time.Now().Add(patience)
	if url == "" {
		return nil
	}
	status["lastUpdatedTime"] = time.Now().UTC().Format(time.RFC3339Nano)
	whole := map[string]any{"trainerStatus": status, "sequence": atomic.AddInt64(&sequence, 1)}
	if container := os.Getenv("KUBEFLOW_TRAINER_STATUS_CONTAINER"); container != "" {
		whole["container"] = container
	}
	body, err := json.Marshal(whole)
	for pause := 250 * time.Millisecond; err == nil; pause *= 2 {
		code, retryAfter, text, failure := try(url, body)
		if failure != nil {
			code, text = 0, []byte(failure.Error())
		} else if code == 200 {
			var answer struct{ Control Stop }
			if json.Unmarshal(text, &answer) == nil && answer.Control.Stop {
				return &answer.Control
			}
			return nil
		}
		wait := max(time.Duration(retryAfter)*time.Second, pause/2+rand.N(pause))
		if (code > 0 && code != 429 && code < 500) || time.Now().Add(wait).After(end) {
			err = fmt.Errorf("%d %s", code, text)
			break
		}
		time.Sleep(wait)
	}
	if _, known := said.LoadOrStore(err.Error(), true); !known {
		fmt.Fprintln(os.Stderr, "milepost: progress was not taken:", err)
	}
	return nil
}

func main() {
	status, metrics := map[string]any{}, []map[string]string{}
	number := func(field string) func(string) error {
		return func(text string) (err error) { status[field], err = strconv.ParseUint(text, 10, 31); return }
	}
	flag.Func("progress", "percent", number("progressPercentage"))
	flag.Func("remaining", "seconds", number("estimatedRemainingSeconds"))
	flag.Func("step", "the training's own count", number("step"))
	flag.Func("metric", "name=value", func(text string) (err error) {
		name, value, found := strings.Cut(text, "=")
		if !found {
			err = fmt.Errorf("it must be NAME=VALUE")
		}
		metrics = append(metrics, map[string]string{"name": name, "value": value})
		status["metrics"] = metrics
		return err
	})
	patience := flag.Float64("patience", 15, "seconds")
	flag.Parse()
	if stop := Push(status, time.Duration(*patience*float64(time.Second))); stop != nil {
		fmt.Printf("%s: %s\n", stop.Reason, stop.Message)
	}
}

package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Linux: a bound address takes its port when it connects, so that ports are used again.
const bindAddressNoPort = 24

// connection is one TLS connection; it belongs to one goroutine at a time.
type connection struct {
	net    *tls.Conn
	reader *bufio.Reader
	used   bool
}

// answer is what matters of a response.
type answer struct {
	status int
	closes bool
	// Whether it says when to come again (Retry-After), and after how many seconds.
	comeAgain    bool
	afterSeconds int
	// The beginning of a body that is no success.
	excerpt string
}

// trust verifies certificates, each only once: what is measured is the server.
type trust struct {
	roots *x509.CertPool
	known sync.Map
}

func (t *trust) verify(state tls.ConnectionState) error {
	leaf := state.PeerCertificates[0]
	id := sha256.Sum256(append([]byte(state.ServerName+"\x00"), leaf.Raw...))
	if _, done := t.known.Load(id); done {
		return nil
	}
	between := x509.NewCertPool()
	for _, one := range state.PeerCertificates[1:] {
		between.AddCert(one)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		DNSName: state.ServerName, Roots: t.roots, Intermediates: between,
	})
	if err == nil {
		t.known.Store(id, true)
	}
	return err
}

// tlsConfig is that of a plan. X25519 alone, as clients of today's Pythons have it.
func (t *trust) tlsConfig(serverName string, resumption bool) *tls.Config {
	config := &tls.Config{
		ServerName: serverName, NextProtos: []string{"http/1.1"},
		CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256},
		// In its place: verify, which sees every connection.
		InsecureSkipVerify: true, VerifyConnection: t.verify,
		SessionTicketsDisabled: !resumption,
	}
	if resumption {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1024)
	}
	return config
}

func noPort(_, _ string, socket syscall.RawConn) error {
	return socket.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, bindAddressNoPort, 1)
	})
}

// connect makes a connection from an address ("" stands for any) before the deadline.
func connect(address, source string, config *tls.Config, deadline time.Time) (*connection, error) {
	dialer := net.Dialer{Deadline: deadline}
	if source != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
		dialer.Control = noPort
	}
	plain, err := dialer.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(plain, config)
	_ = secure.SetDeadline(deadline)
	if err := secure.Handshake(); err != nil {
		plain.Close()
		return nil, err
	}
	return &connection{net: secure, reader: bufio.NewReaderSize(secure, 4096)}, nil
}

func (c *connection) close() { c.net.Close() }

// exchange sends a request and reads its answer to the end. `began` says whether any of it came.
func (c *connection) exchange(request []byte, deadline time.Time) (found answer, began bool, err error) {
	_ = c.net.SetDeadline(deadline)
	if _, err = c.net.Write(request); err != nil {
		return found, false, err
	}
	if _, err = c.reader.Peek(1); err != nil {
		return found, false, err
	}
	found, err = readAnswer(c.reader)
	return found, true, err
}

func readLine(reader *bufio.Reader) (string, error) {
	line, err := reader.ReadSlice('\n')
	return strings.TrimRight(string(line), "\r\n"), err
}

func readAnswer(reader *bufio.Reader) (found answer, err error) {
	line, err := readLine(reader)
	if err != nil {
		return found, err
	}
	parts := strings.SplitN(line, " ", 3)
	if len(parts) < 2 || !strings.HasPrefix(parts[0], "HTTP/1.") {
		return found, fmt.Errorf("no HTTP/1 answer: %.40q", line)
	}
	if found.status, err = strconv.Atoi(parts[1]); err != nil {
		return found, err
	}
	length, chunked := int64(-1), false
	for {
		if line, err = readLine(reader); err != nil {
			return found, err
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case strings.EqualFold(name, "content-length"):
			if length, err = strconv.ParseInt(value, 10, 64); err != nil {
				return found, err
			}
		case strings.EqualFold(name, "transfer-encoding"):
			chunked = strings.EqualFold(value, "chunked")
		case strings.EqualFold(name, "retry-after"):
			found.afterSeconds, err = strconv.Atoi(value)
			found.comeAgain = err == nil
		case strings.EqualFold(name, "connection"):
			found.closes = strings.EqualFold(value, "close")
		}
	}
	return found, readBody(reader, &found, length, chunked)
}

func readBody(reader *bufio.Reader, found *answer, length int64, chunked bool) error {
	switch {
	case chunked:
		for {
			line, err := readLine(reader)
			if err != nil {
				return err
			}
			size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
			if err != nil {
				return err
			}
			if err := take(reader, found, size+2); err != nil || size == 0 {
				return err
			}
		}
	case length >= 0:
		return take(reader, found, length)
	default:
		found.closes = true
		_, err := io.Copy(io.Discard, reader)
		return err
	}
}

func take(reader *bufio.Reader, found *answer, size int64) error {
	if found.status < 300 || found.excerpt != "" {
		_, err := io.CopyN(io.Discard, reader, size)
		return err
	}
	begin := make([]byte, min(size, 300))
	if _, err := io.ReadFull(reader, begin); err != nil {
		return err
	}
	found.excerpt = strings.TrimSpace(string(begin))
	_, err := io.CopyN(io.Discard, reader, size-int64(len(begin)))
	return err
}

// kindOf names what went wrong without an answer.
func kindOf(err error) string {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "closed"
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EMFILE):
		return "no port or file left"
	case errors.As(err, &alert), errors.As(err, &record), errors.As(err, &certificate),
		errors.As(err, &authority), errors.As(err, &host):
		return "tls"
	}
	if timed, ok := err.(net.Error); ok && timed.Timeout() {
		return "timeout"
	}
	return "other"
}

package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

// Tokens of a key of our own are made before the load begins: signing takes longer than verifying.
const signedTokens = 512

var raw = base64.RawURLEncoding

// forger makes up tokens. Safe for use by several goroutines.
type forger struct {
	how    forged
	header string
	claims map[string]any
	ready  []string
}

func decodePart(part string) map[string]any {
	found := map[string]any{}
	if bytes, err := raw.DecodeString(part); err == nil {
		_ = json.Unmarshal(bytes, &found)
	}
	return found
}

func encodePart(value map[string]any) string {
	text, _ := json.Marshal(value)
	return raw.EncodeToString(text)
}

// newForger makes up tokens that look like `like`, where that is a JWT.
func newForger(how forged, like string) (*forger, error) {
	parts := strings.Split(like, ".")
	header, claims := map[string]any{"alg": "RS256", "kid": "unknown"}, map[string]any{}
	if len(parts) == 3 {
		header, claims = decodePart(parts[0]), decodePart(parts[1])
	}
	if _, told := claims["exp"]; !told {
		claims["exp"] = time.Now().Add(time.Hour).Unix()
	}
	if how.Kind == "unsigned" {
		header["alg"] = "none"
	}
	made := &forger{how: how, header: encodePart(header), claims: claims}
	switch how.Kind {
	case "unsigned", "garbage", "random-signature":
		if !how.Differ {
			made.ready = []string{made.fresh()}
		}
	case "other-key":
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, err
		}
		count := 1
		if how.Differ {
			count = signedTokens
		}
		for range count {
			text := made.unsigned()
			digest := sha256.Sum256([]byte(text))
			signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
			if err != nil {
				return nil, err
			}
			made.ready = append(made.ready, text+"."+raw.EncodeToString(signature))
		}
	default:
		return nil, fmt.Errorf(
			"forged.kind must be unsigned, garbage, random-signature or other-key, not %q", how.Kind)
	}
	return made, nil
}

func randomBytes(count int) []byte {
	bytes := make([]byte, count)
	_, _ = rand.Read(bytes)
	return bytes
}

// unsigned is header and claims with an identifier of their own.
func (f *forger) unsigned() string {
	own := make(map[string]any, len(f.claims)+1)
	for name, value := range f.claims {
		own[name] = value
	}
	own["jti"] = raw.EncodeToString(randomBytes(16))
	return f.header + "." + encodePart(own)
}

func (f *forger) fresh() string {
	switch f.how.Kind {
	case "garbage":
		return raw.EncodeToString(randomBytes(600))
	case "unsigned":
		return f.unsigned() + "."
	}
	return f.unsigned() + "." + raw.EncodeToString(randomBytes(256))
}

// token is the next one.
func (f *forger) token() string {
	if len(f.ready) > 0 {
		return f.ready[mathrand.IntN(len(f.ready))]
	}
	return f.fresh()
}

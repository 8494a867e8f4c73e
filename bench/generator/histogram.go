package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Every power of two of microseconds is cut into so many parts: values are exact to 1.6 %.
const (
	subBits = 6
	subs    = 1 << subBits
	powers  = 30
)

// histogram counts durations. Safe for use by several goroutines.
type histogram struct {
	counts [powers * subs]atomic.Uint64
	total  atomic.Uint64
	max    atomic.Int64
}

func indexOf(micros uint64) int {
	if micros < subs {
		return int(micros)
	}
	shift := bits.Len64(micros) - subBits - 1
	return min((shift+1)*subs+int(micros>>shift)-subs, powers*subs-1)
}

// upperOf is the largest number of microseconds that a part holds.
func upperOf(index int) uint64 {
	if index < subs {
		return uint64(index)
	}
	shift := index/subs - 1
	return uint64(index%subs+subs+1)<<shift - 1
}

func (h *histogram) add(value time.Duration) {
	value = max(value, 0)
	h.counts[indexOf(uint64(value.Microseconds()))].Add(1)
	h.total.Add(1)
	for most := h.max.Load(); int64(value) > most; most = h.max.Load() {
		if h.max.CompareAndSwap(most, int64(value)) {
			return
		}
	}
}

func (h *histogram) maxMs() float64 { return float64(h.max.Load()/1000) / 1000 }

// latencies is what is told of a histogram, in milliseconds.
type latencies struct {
	Count uint64  `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	// Upper bounds in milliseconds with how many were at or below them but above the one before.
	Histogram [][2]float64 `json:"histogram"`
}

func (h *histogram) quantile(part float64) float64 {
	var seen uint64
	for i := range h.counts {
		count := h.counts[i].Load()
		seen += count
		if count > 0 && float64(seen) >= part*float64(h.total.Load()) {
			return min(float64(upperOf(i))/1000, h.maxMs())
		}
	}
	return 0
}

func (h *histogram) latencies() latencies {
	bars := [][2]float64{}
	// Bars are powers of two: enough to see a shape.
	for from := 0; from < powers; from++ {
		var count uint64
		for i := from * subs; i < (from+1)*subs; i++ {
			count += h.counts[i].Load()
		}
		if count > 0 {
			bars = append(bars, [2]float64{float64(upperOf((from+1)*subs-1)) / 1000, float64(count)})
		}
	}
	return latencies{
		Count: h.total.Load(), P50: h.quantile(0.5), P90: h.quantile(0.9), P99: h.quantile(0.99),
		Max: h.maxMs(), Histogram: bars,
	}
}

// One end of a transfer over pion/sctp, over UDP. The words it takes and says are those of ../../src/job.rs; `large` before them
// asks for large buffers.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

// Bytes of the larger buffers, and of what the application keeps waiting.
const (
	large   = 16 << 20
	waiting = 2 << 20
	mtu     = 1480 - 28
)

// link is a UDP socket as the library wants it: it sends to whom it last heard of.
type link struct {
	*net.UDPConn
	remote netip.AddrPort
}

func (l *link) Read(p []byte) (int, error) {
	n, from, err := l.ReadFromUDPAddrPort(p)
	if err == nil && l.remote != from {
		l.remote = from
	}
	return n, err
}

func (l *link) Write(p []byte) (int, error) { return l.WriteToUDPAddrPort(p, l.remote) }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func serve(config sctp.Config) {
	fmt.Println("ready")
	assoc, err := sctp.Server(config)
	check(err)
	stream, err := assoc.AcceptStream()
	check(err)
	buffer := make([]byte, 1<<20)
	var first, last time.Time
	bytes := 0
	for {
		n, _, err := stream.ReadSCTP(buffer)
		if err != nil {
			break
		}
		last = time.Now()
		if bytes == 0 {
			first = last
		}
		bytes += n
	}
	fmt.Println("received", bytes, last.Sub(first).Nanoseconds())
	time.Sleep(100 * time.Millisecond) // the end of the shutdown is still to be sent
}

func send(config sctp.Config, size int, duration time.Duration) {
	assoc, err := sctp.Client(config)
	check(err)
	stream, err := assoc.OpenStream(1, sctp.PayloadTypeWebRTCBinary)
	check(err)
	low := make(chan struct{}, 1)
	stream.SetBufferedAmountLowThreshold(waiting / 2)
	stream.OnBufferedAmountLow(func() {
		select {
		case low <- struct{}{}:
		default:
		}
	})
	message := make([]byte, size)
	for end := time.Now().Add(duration); time.Now().Before(end); {
		_, err := stream.WriteSCTP(message, sctp.PayloadTypeWebRTCBinary)
		check(err)
		if stream.BufferedAmount() >= waiting {
			<-low
		}
	}
	for assoc.BufferedAmount() > 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = assoc.Shutdown(ctx)
}

func main() {
	words := os.Args[1:]
	config := sctp.Config{LoggerFactory: logging.NewDefaultLoggerFactory(), MTU: mtu, MaxMessageSize: 1 << 20}
	if len(words) > 0 && words[0] == "large" {
		words = words[1:]
		config.MaxReceiveBufferSize = large
	}
	if len(words) < 3 {
		log.Fatal("want [large] server|client ADDRESS:PORT LEN [SECONDS]")
	}
	address, err := netip.ParseAddrPort(words[1])
	check(err)
	size, err := strconv.Atoi(words[2])
	check(err)
	own := net.UDPAddrFromAddrPort(address)
	if words[0] == "client" {
		own.Port = 0
	}
	conn, err := net.ListenUDP("udp4", own)
	check(err)
	config.NetConn = &link{UDPConn: conn, remote: address}
	if words[0] == "server" {
		serve(config)
		return
	}
	seconds, err := strconv.ParseFloat(words[3], 64)
	check(err)
	send(config, size, time.Duration(seconds*float64(time.Second)))
}

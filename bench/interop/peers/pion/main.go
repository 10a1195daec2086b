// A peer for the interoperability run: pion/sctp over UDP (RFC 6951), told what to do by lines on stdin, and telling what
// happens by lines on stdout. The lines are described in ../../src/peer.rs. Judges nothing.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

const udpPort = 9899

// link is a UDP socket as the library wants it: it sends to whom it last heard of.
type link struct {
	*net.UDPConn
	mu      sync.Mutex
	remote  *net.UDPAddr
	packets chan []byte
	closed  chan struct{}
	once    sync.Once
}

func (l *link) Read(p []byte) (int, error) {
	select {
	case packet := <-l.packets:
		return copy(p, packet), nil
	case <-l.closed:
		return 0, io.EOF
	}
}

// Close ends reading; the socket stays, for what is still on its way out.
func (l *link) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.WriteToUDP(p, l.remote)
}

type peer struct {
	mu      sync.Mutex
	link    *link
	begun   bool
	assoc   *sctp.Association
	streams map[uint16]*sctp.Stream
}

// fill says what message number of a stream says.
func fill(stream uint16, number uint32, size int) []byte {
	x := number*2654435761 + uint32(stream)
	bytes := make([]byte, size)
	for i := range bytes {
		x = x*1664525 + 1013904223
		bytes[i] = byte(x >> 24)
	}
	return bytes
}

func (p *peer) setUp(server bool) {
	config := sctp.Config{
		NetConn: p.link, LoggerFactory: logging.NewDefaultLoggerFactory(), BlockWrite: true, MaxMessageSize: 1 << 20,
	}
	var assoc *sctp.Association
	var err error
	if server {
		assoc, err = sctp.Server(config)
	} else {
		assoc, err = sctp.Client(config)
	}
	if err != nil {
		fmt.Println("lost", err)
		return
	}
	p.mu.Lock()
	p.assoc = assoc
	p.mu.Unlock()
	// The end of the association is seen by reading a stream.
	if _, err := p.stream(0); err != nil {
		fmt.Println("peer-error", err)
	}
	// The library does not say how many streams there are.
	fmt.Println("up ? ?")
	for {
		stream, err := assoc.AcceptStream()
		if err != nil {
			return
		}
		p.add(stream)
	}
}

func (p *peer) add(stream *sctp.Stream) {
	p.mu.Lock()
	p.streams[stream.StreamIdentifier()] = stream
	p.mu.Unlock()
	go read(stream)
}

func (p *peer) stream(id uint16) (*sctp.Stream, error) {
	p.mu.Lock()
	stream, assoc := p.streams[id], p.assoc
	p.mu.Unlock()
	if stream != nil {
		return stream, nil
	}
	if assoc == nil {
		return nil, errors.New("no association")
	}
	stream, err := assoc.OpenStream(id, sctp.PayloadTypeWebRTCBinary)
	if err == nil {
		p.add(stream)
	}
	return stream, err
}

func read(stream *sctp.Stream) {
	buffer := make([]byte, 1<<20)
	id := stream.StreamIdentifier()
	for {
		n, ppid, err := stream.ReadSCTP(buffer)
		if err != nil {
			switch {
			case id != 0:
			case errors.Is(err, io.EOF):
				fmt.Println("closed")
			default:
				fmt.Println("lost", strings.ReplaceAll(err.Error(), "\n", " "))
			}
			return
		}
		order := "o"
		// The library does not say how a message was sent; its identifier does.
		if ppid >= 1000 {
			order = "u"
		}
		h := fnv.New64a()
		h.Write(buffer[:n])
		fmt.Printf("message %d %s %d %d %016x\n", id, order, uint32(ppid), n, h.Sum64())
	}
}

func (p *peer) begin() error {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{Port: udpPort})
	if err != nil {
		return err
	}
	p.link = &link{UDPConn: conn, packets: make(chan []byte, 1024), closed: make(chan struct{})}
	return nil
}

// listen takes packets; the first makes this end a server, unless it is a client.
func (p *peer) listen() {
	for {
		buffer := make([]byte, 65536)
		n, from, err := p.link.ReadFromUDP(buffer)
		if err != nil {
			return
		}
		p.link.mu.Lock()
		p.link.remote = from
		p.link.mu.Unlock()
		p.mu.Lock()
		begun := p.begun
		p.begun = true
		p.mu.Unlock()
		if !begun {
			go p.setUp(true)
		}
		select {
		case p.link.packets <- buffer[:n]:
		case <-p.link.closed:
			return
		}
	}
}

// drained waits until everything was acknowledged or given up: a stream's reliability is that of all its messages.
func (p *peer) drained() {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && p.assoc.BufferedAmount() > 0; {
		time.Sleep(time.Millisecond)
	}
}

// send STREAM o|u COUNT SIZE FIRST [ttl|rtx VALUE]
func (p *peer) send(words []string) error {
	var numbers [4]int
	for i, at := range []int{1, 3, 4, 5} {
		var err error
		if numbers[i], err = strconv.Atoi(words[at]); err != nil {
			return err
		}
	}
	id, count, size, first := uint16(numbers[0]), numbers[1], numbers[2], numbers[3]
	stream, err := p.stream(id)
	if err != nil {
		return err
	}
	kind, value := sctp.ReliabilityTypeReliable, 0
	if len(words) > 7 {
		kind = map[string]byte{"ttl": sctp.ReliabilityTypeTimed, "rtx": sctp.ReliabilityTypeRexmit}[words[6]]
		if value, err = strconv.Atoi(words[7]); err != nil {
			return err
		}
	}
	unordered := words[2] == "u"
	p.drained()
	stream.SetReliabilityParams(unordered, kind, uint32(value))
	ppid := uint32(id) + 100
	if unordered {
		ppid += 1000
	}
	for i := 0; i < count; i++ {
		message := fill(id, uint32(first+i), size)
		if _, err := stream.WriteSCTP(message, sctp.PayloadProtocolIdentifier(ppid)); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) perform(words []string) error {
	switch {
	case words[0] == "begin":
		return p.begin()
	case words[0] == "open":
		go p.listen()
		return nil
	case words[0] == "connect" && len(words) > 2:
		p.mu.Lock()
		p.begun = true
		p.mu.Unlock()
		p.link.remote = &net.UDPAddr{IP: net.ParseIP(words[2]), Port: udpPort}
		go p.setUp(false)
		return nil
	case words[0] == "send" && len(words) > 5:
		return p.send(words)
	case words[0] == "shutdown":
		p.drained()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return p.assoc.Shutdown(ctx)
	case words[0] == "abort":
		p.assoc.Abort("enough")
		return nil
	}
	return errors.New("not understood")
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/pion/sctp" {
				return dep.Version
			}
		}
	}
	return "unknown"
}

func main() {
	fmt.Println("hello pion/sctp", version())
	p := &peer{streams: map[uint16]*sctp.Stream{}}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if words[0] == "quit" {
			return
		}
		if err := p.perform(words); err != nil {
			fmt.Printf("error %s: %v\n", words[0], err)
		} else {
			fmt.Println("done", words[0])
		}
	}
}

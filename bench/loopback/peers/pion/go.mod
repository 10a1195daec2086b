module pion-loopback

go 1.20

require (
	github.com/pion/logging v0.2.3
	github.com/pion/sctp v1.8.39
)

require (
	github.com/pion/randutil v0.1.0 // indirect
	github.com/pion/transport/v3 v3.0.7 // indirect
)

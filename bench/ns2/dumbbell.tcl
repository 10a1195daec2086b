# SCTP bulk transfers through one bottleneck, for timing ns-2 beside msctp's simulator.
#
#   ns dumbbell.tcl flows=1 access=100Mb access_delay=15ms rate=11Mb delay=20ms queue=50 window=1048576 seconds=600 sinks=far
#
# Each flow has its own sender host. sinks=far: the (one) receiver sits at the far end of the bottleneck; sinks=own: each
# flow has its own receiver host behind an access link of 1 ms. Nothing is traced. Prints the packets and bytes that left the bottleneck's
# queue towards the receivers (data, and the handshake's few control packets).
array set P {flows 1 access 100Mb access_delay 15ms rate 11Mb delay 20ms queue 50 window 65536 seconds 60 sinks far}
foreach arg $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $arg -> key value] || ![info exists P($key)]} {
        puts stderr "dumbbell.tcl: unknown argument '$arg'; known: [lsort [array names P]]"
        exit 2
    }
    set P($key) $value
}

set sim [new Simulator]
$defaultRNG seed 1

proc link {sim a b rate delay queue} {
    $sim duplex-link $a $b $rate $delay DropTail
    $sim queue-limit $a $b $queue
    $sim queue-limit $b $a $queue
}
proc endpoint {window} {
    set agent [new Agent/SCTP]
    $agent set mtu_ 1500
    $agent set dataChunkSize_ 1468
    $agent set initialRwnd_ $window
    $agent set initialSsthresh_ $window
    $agent set useDelayedSacks_ 1
    $agent set sackDelay_ 0.2
    return $agent
}

set near [$sim node]
set far [$sim node]
link $sim $near $far $P(rate) $P(delay) $P(queue)
for {set i 0} {$i < $P(flows)} {incr i} {
    set source [$sim node]
    link $sim $source $near $P(access) $P(access_delay) $P(queue)
    if {$P(sinks) == "far"} {
        set sink $far
    } else {
        set sink [$sim node]
        link $sim $far $sink $P(access) 1ms $P(queue)
    }
    set sender [endpoint $P(window)]
    set receiver [endpoint $P(window)]
    $sender set fid_ $i
    $sim attach-agent $source $sender
    $sim attach-agent $sink $receiver
    $sim connect $sender $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $sender
    $sim at 0.0 "$ftp start"
}

set monitor [$sim monitor-queue $near $far [open /dev/null w] 1e6]
$sim at $P(seconds) {
    puts "packets [$monitor set pdepartures_] bytes [$monitor set bdepartures_] drops [$monitor set pdrops_]"
    exit 0
}
$sim run

# Mobiles with two interfaces, a transfer and a handover each, for timing ns-2 beside msctp's simulator: the topology of
# scenarios/mobiles.toml.
#
#   ns cell.tcl mobiles=1000 bytes=500000 seconds=10
#
# A multihomed host is a core node and a node for each interface. Nothing is traced. Prints the packets and bytes that left
# the server's queue.
array set P {mobiles 1000 bytes 500000 seconds 10}
foreach arg $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $arg -> key value] || ![info exists P($key)]} {
        puts stderr "cell.tcl: unknown argument '$arg'; known: [lsort [array names P]]"
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
proc endpoint {} {
    set agent [new Agent/SCTP]
    $agent set mtu_ 1500
    $agent set dataChunkSize_ 1468
    $agent set initialRwnd_ 131072
    $agent set useDelayedSacks_ 1
    $agent set sackDelay_ 0.2
    return $agent
}

set server [$sim node]
set router [$sim node]
link $sim $server $router 100Gb 5ms 10001
for {set i 1} {$i <= $P(mobiles)} {incr i} {
    set mobile [$sim node]
    set cell [$sim node]
    set wifi [$sim node]
    $sim multihome-add-interface $mobile $cell
    $sim multihome-add-interface $mobile $wifi
    link $sim $router $cell 1Mb 15ms 101
    link $sim $router $wifi 2Mb 5ms 101
    set sender [endpoint]
    set receiver [endpoint]
    $sim attach-agent $server $sender
    $sim multihome-attach-agent $mobile $receiver
    $sim connect $sender $receiver
    $sender set-primary-destination $cell
    set ftp [new Application/FTP]
    $ftp attach-agent $sender
    $sim at [expr {$i * 0.0001}] "$ftp send $P(bytes)"
    $sim at [expr {3 + $i * 0.0001}] "$sender set-primary-destination $wifi"
}

set monitor [$sim monitor-queue $server $router [open /dev/null w] 1e6]
$sim at $P(seconds) {
    puts "packets [$monitor set pdepartures_] bytes [$monitor set bdepartures_] drops [$monitor set pdrops_]"
    exit 0
}
$sim run

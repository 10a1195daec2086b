# One TCP transfer of the reference's cases in ns-2 2.35, S --access-- R --bottleneck-- D, with the packets listed in a file
# lost on one link (`losses`, `where`). Started by listed-losses.py. Numbers count from 0, the SYN.
array set P {proto newreno abw 100Mb ad 15ms bw 11Mb d 20ms q 50 T 60 losses {} where bottleneck
    window 718 payload 1460 iw 3 minrto 0.2 delack 1 trace {} set {}}
foreach a $argv {
    if {![regexp {^([a-zA-Z]+)=(.*)$} $a -> k v] || ![info exists P($k)]} { error "bad argument $a" }
    set P($k) $v
}
set ns [new Simulator]
set S [$ns node]; set R [$ns node]; set D [$ns node]
$ns duplex-link $S $R $P(abw) $P(ad) DropTail
$ns duplex-link $R $D $P(bw) $P(d) DropTail
foreach {a b} [list $S $R $R $S $R $D $D $R] { $ns queue-limit $a $b $P(q) }
if {$P(losses) ne ""} {
    set f [open $P(losses)]; set list [read $f]; close $f
    set em [new ErrorModel/List]; $em unit pkt; $em droplist $list
    if {$P(where) eq "access"} { $ns link-lossmodel $em $S $R } else { $ns link-lossmodel $em $R $D }
}
if {$P(trace) ne ""} { set t [open $P(trace) w]; $ns trace-queue $S $R $t; $ns trace-queue $R $S $t }
array set agent {reno Reno newreno Newreno sack1 Sack1}
set s [new Agent/TCP/$agent($P(proto))]
foreach {k v} [list packetSize_ $P(payload) window_ $P(window) windowInit_ $P(iw) windowInitOption_ 1 minrto_ $P(minrto)] {
    $s set $k $v
}
# other variables of the agent, as set=bugFix_ack_:true
foreach kv [split $P(set) ,] { if {[regexp {(.*):(.*)} $kv -> k v]} { $s set $k $v } }
set sink Agent/TCPSink
if {$P(proto) eq "sack1"} { append sink /Sack1 }
if {$P(delack)} { append sink /DelAck }
set d [new $sink]
if {$P(delack)} { $d set interval_ 0.2 }
$ns attach-agent $S $s; $ns attach-agent $D $d; $ns connect $s $d
set ftp [new Application/FTP]; $ftp attach-agent $s
$ns at 0.0 "$ftp start"
$ns at $P(T) {
    puts "acked [$s set ack_] rtx [$s set nrexmitpack_] timeouts [$s set nrexmit_]"
    $ns flush-trace; exit 0
}
$ns run

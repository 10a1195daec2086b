//! Sampling probes, which do not affect the run.

use msctp_units::{Span, Time};

use crate::network::Network;
use crate::series::QueueSeries;

/// Samples the queues of all link directions.
#[derive(Debug)]
pub(crate) struct QueueProbe {
    pub(crate) interval: Span,
    pub(crate) series: Vec<QueueSeries>,
}

impl QueueProbe {
    pub(crate) fn new(interval: Span, directions: Vec<String>) -> Self {
        let series = directions
            .into_iter()
            .map(|direction| QueueSeries { direction, ..QueueSeries::default() })
            .collect();
        Self { interval, series }
    }

    pub(crate) fn sample(&mut self, now: Time, network: &Network) {
        for (series, hop) in self.series.iter_mut().zip(&network.hops) {
            let (packets, bytes) = hop.queue(now, &network.air);
            series.at.push(now);
            series.packets.push(packets);
            series.bytes.push(bytes);
            series.blocks.extend(hop.blocks_sent());
            series.delivered_bytes.push(hop.delivered_bytes(&network.air));
            series.dropped.push(hop.dropped(&network.air));
        }
    }
}

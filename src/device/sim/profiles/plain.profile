# A device that runs one kernel at a time, for questions about several devices of different and changing speed:
# `sim:plain+speed=4+drift=0.5`. Keys: docs/guide/sim-profiles.md.
description = one kernel at a time, at a speed to be chosen

sms = 1
warp_threads = 1
threads_per_sm = 2048
blocks_per_sm = 32
registers_per_sm = 65536
register_unit = 1
shared_bytes_per_sm = 65536
shared_bytes_reserved = 0
sharing = fluid
concurrent_kernels = 1
copy_engines = 1
copy_share = 1

queues = 1

kernel_fixed_us = 0
dispatch_us = 0
block_start_us = 0
queue_gap_us = 2
event_latency_us = 2
busy_queue_gap_us = 0
busy_queue_gap_most_us = 0
graph_gap_us = 1
launch_latency_us = 3
graph_launch_latency_us = 3

launch_us = 1
event_record_us = 0.1
event_wait_us = 0.1
synchronize_us = 2
graph_build_node_us = 0.3
graph_instantiate_node_us = 1
graph_launch_us = 3

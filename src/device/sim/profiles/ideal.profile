# Hardware that costs nothing to feed: the multiprocessors of an H200, no host costs, no gaps, no queues.
# `weir replay --device sim:ideal` shows what the dependences of a program leave to gain.
# Keys: docs/guide/sim-profiles.md.
description = the multiprocessors of an H200, fed at no cost

sms = 132
warp_threads = 32
threads_per_sm = 2048
blocks_per_sm = 32
registers_per_sm = 65536
register_unit = 8
shared_bytes_per_sm = 232448
shared_bytes_reserved = 1024
sharing = fluid
concurrent_kernels = 256
copy_engines = 256
copy_share = 0.05

queues = 0

kernel_fixed_us = 0
dispatch_us = 0
block_start_us = 0
queue_gap_us = 0
event_latency_us = 0
busy_queue_gap_us = 0
busy_queue_gap_most_us = 0
graph_gap_us = 0
launch_latency_us = 0
graph_launch_latency_us = 0

launch_us = 0
event_record_us = 0
event_wait_us = 0
synchronize_us = 0
graph_build_node_us = 0
graph_instantiate_node_us = 0
graph_launch_us = 0

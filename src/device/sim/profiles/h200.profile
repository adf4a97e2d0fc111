# An NVIDIA H200 and the host that feeds it, as measured. How each number was found: docs/inside/sim-accuracy.md.
description = NVIDIA H200, driver 580, one host thread

sms = 132
warp_threads = 32
threads_per_sm = 2048
blocks_per_sm = 32
registers_per_sm = 65536
register_unit = 8
shared_bytes_per_sm = 232448
shared_bytes_reserved = 1024
sharing = blocks
concurrent_kernels = 128
copy_engines = 3
copy_share = 0.05

queues = 16

kernel_fixed_us = 1.3
dispatch_us = 0.3
block_start_us = 0.0006
queue_gap_us = 1.45
event_latency_us = 1.5
busy_queue_gap_us = 0.46
busy_queue_gap_most_us = 1.7
graph_gap_us = 0.7
launch_latency_us = 1.8
graph_launch_latency_us = 3.0

launch_us = 3.35
event_record_us = 0.13
event_wait_us = 0.13
synchronize_us = 2.5
graph_build_node_us = 0.3
graph_instantiate_node_us = 1.7
graph_launch_us = 3.6
graph_set_parameters_us = 0.2
graph_set_function_us = 1.57

# A resident kernel: what a prototype took on the card, and what submitting takes the host.
resident_launch_us = 0.7
resident_latency_us = 2.5
resident_dispatch_us = 0.12
resident_gap_us = 1.0

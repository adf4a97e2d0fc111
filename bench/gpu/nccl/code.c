// SPDX-License-Identifier: Apache-2.0
//
// Kernels in PTX, so that no compiler is needed.
#include "bench.h"

#define INDEX                                                                                                          \
  "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
#define REGISTERS "  .reg .pred %p<2>;\n  .reg .b32 %r<12>;\n  .reg .b64 %rd<12>;\n"
#define ADDRESS(pointer, address)                                                                                      \
  "  cvta.to.global.u64 " address ", " pointer ";\n  add.s64 " address ", " address ", %rd9;\n"

const char cards_code[] =
    ".version 6.4\n.target sm_70\n.address_size 64\n"
    ".visible .entry set(.param .u64 set_out, .param .u32 set_count, .param .u32 set_value)\n{\n" REGISTERS
    "  ld.param.u64 %rd1, [set_out];\n  ld.param.u32 %r5, [set_count];\n  ld.param.u32 %r6, [set_value];\n" INDEX
    "  setp.ge.u32 %p1, %r4, %r5;\n  @%p1 bra SET_DONE;\n  mul.wide.u32 %rd9, %r4, 4;\n" ADDRESS(
        "%rd1",
        "%rd2") "  add.s32 %r7, %r4, %r6;\n  st.global.u32 [%rd2], %r7;\nSET_DONE:\n  ret;\n}\n"
                ".visible .entry step(.param .u64 step_data, .param .u32 step_count, .param .u32 "
                "step_value)\n{\n" REGISTERS "  ld.param.u64 %rd1, [step_data];\n  ld.param.u32 %r5, [step_count];\n  "
                "ld.param.u32 %r6, [step_value];\n" INDEX
                "  setp.ge.u32 %p1, %r4, %r5;\n  @%p1 bra STEP_DONE;\n  mul.wide.u32 %rd9, %r4, 4;\n" ADDRESS(
                    "%rd1",
                    "%rd2") "  ld.global.u32 %r7, [%rd2];\n  mul.lo.s32 %r8, %r7, 3;\n  add.s32 %r9, %r8, %r6;\n"
                            "  st.global.u32 [%rd2], %r9;\nSTEP_DONE:\n  ret;\n}\n"
                            ".visible .entry sum(.param .u64 sum_out, .param .u64 sum_a, .param .u64 sum_b, .param "
                            ".u32 sum_count)\n{\n" REGISTERS "  ld.param.u64 %rd1, [sum_out];\n  ld.param.u64 %rd2, "
                            "[sum_a];\n  ld.param.u64 %rd3, [sum_b];\n"
                            "  ld.param.u32 %r5, [sum_count];\n" INDEX
                            "  setp.ge.u32 %p1, %r4, %r5;\n  @%p1 bra SUM_DONE;\n  mul.wide.u32 %rd9, %r4, "
                            "4;\n" ADDRESS("%rd1", "%rd4") ADDRESS("%rd2", "%rd5")
                                ADDRESS("%rd3", "%rd6") "  ld.global.u32 %r6, [%rd5];\n  ld.global.u32 %r7, [%rd6];\n  "
                                                        "add.s32 %r8, %r6, %r7;\n"
                                                        "  st.global.u32 [%rd4], %r8;\nSUM_DONE:\n  ret;\n}\n"
                                                        ".visible .entry spin(.param .u64 spin_data, .param .u64 "
                                                        "spin_ns)\n{\n" REGISTERS
                                                        "  ld.param.u64 %rd1, [spin_data];\n  ld.param.u64 %rd2, "
                                                        "[spin_ns];\n  mov.u64 %rd3, %globaltimer;\n"
                                                        "SPIN_MORE:\n  mov.u64 %rd4, %globaltimer;\n  sub.s64 %rd5, "
                                                        "%rd4, %rd3;\n  setp.lt.u64 %p1, %rd5, %rd2;\n"
                                                        "  @%p1 bra SPIN_MORE;\n  cvta.to.global.u64 %rd6, %rd1;\n  "
                                                        "ld.global.u8 %r1, [%rd6];\n"
                                                        "  st.global.u8 [%rd6], %r1;\n  ret;\n}\n"
                                                        ".visible .entry layer(.param .u64 layer_data, .param .u64 "
                                                        "layer_ns, .param .u64 layer_before)\n{\n" REGISTERS
                                                        "  ld.param.u64 %rd1, [layer_data];\n  ld.param.u64 %rd2, "
                                                        "[layer_ns];\n  ld.param.u64 %rd7, [layer_before];\n"
                                                        "  mov.u64 %rd3, %globaltimer;\n"
                                                        "LAYER_MORE:\n  mov.u64 %rd4, %globaltimer;\n  sub.s64 %rd5, "
                                                        "%rd4, %rd3;\n  setp.lt.u64 %p1, %rd5, %rd2;\n"
                                                        "  @%p1 bra LAYER_MORE;\n  cvta.to.global.u64 %rd6, %rd1;\n  "
                                                        "ld.global.u8 %r1, [%rd6];\n"
                                                        "  st.global.u8 [%rd6], %r1;\n  cvta.to.global.u64 %rd8, "
                                                        "%rd7;\n  st.global.u8 [%rd8], %r1;\n  ret;\n}\n";

/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that were tried only on simulators (ibsim, and the simulated fabric of fabricd),
 * because the project had no adapter. When somebody has tried such a function on hardware, remove
 * its row. */
#include "fabricd/hardware/private.h"

const struct hardware_untried hardware_untried[HARDWARE_UNTRIED] = {
    {"election with another subnet manager (SMInfo, IsSM, HANDOVER)",
     "start fabricd with priority 0 beside the present manager, and compare 'fabricctl ha status'"},
    {"writes of LIDs, PortInfo and port states",
     "run 'fabricd --rehearse' first: its list of writes shows what would change"},
    {"writes of LFTs while hosts send traffic",
     "begin with 'fabricctl manager freeze --no-writes', and resume in a maintenance window"},
    {"traps 128, 144 and 256 to 259, and TrapRepress",
     "unplug one cable, and look for the event link-down within a second"},
    {"SL-to-VL tables and VL arbitration that differ between ports",
     "use an engine with one virtual lane first (routing.engine: updn)"},
    {"M_Keys with protection and lease", "leave subnet.m_key at 0 until all else works"},
    {"subnet administration with long answers (RMPP by the kernel)",
     "compare 'saquery -N' with 'fabricctl node list'"},
    {"multicast groups and IPoIB", "ping between two hosts over IPoIB"},
    {"congestion control (class 0x21): tables and CC_Keys",
     "leave congestion.apply at no until all else works"},
    {"registers of the vendor class (AccessRegister)",
     "leave inventory.read at no until all else works"},
};

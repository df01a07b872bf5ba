/* SPDX-License-Identifier: BSD-3-Clause */
/* All .proto files of this folder, as one serialized google.protobuf.FileDescriptorSet. */
#ifndef PROTO_DESCRIPTORS_H
#define PROTO_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t fabric_descriptors[];
extern const size_t fabric_descriptors_len;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The test cases of test_golden_devices.c. Each has a fabric and a list of steps. Its name is also
 * the name of its golden files. */
/* clang-format off */
{.name = "leaf-spine", .fabric = leaf_spine, .steps = {
    {PATHS, "host-0001", .text = "host-0012"},
    {DOWN, "leaf-001", 4}, {UP, "leaf-001", 4}, {DOWN, "leaf-003", 2}, {UP, "leaf-003", 2},
    {OFF, "leaf-002"}, {ON, "leaf-002"}, {RENAME, "host-0003", .text = "login-1"},
    {RELOAD, .text = "leaf-spine-2.yaml"}, {ALIAS, "host-0005", 1}, {SWEEP}, {RESTART}}},
{.name = "fat-tree", .fabric = fat_tree, .steps = {
    {PATHS, "host-0001", .text = "host-0002"}, {PATHS, "host-0006", .text = "host-0015"},
    {JOIN, "host-0002", 1}, {JOIN, "host-0016", 1}, {JOIN, "host-0007", 2}, {JOIN, "host-0012", 2},
    {OFF, "core-001"}, {DOWN, "leaf-001", 3}, {LEAVE, "host-0016", 1},
    {RELOAD, .text = "fat-tree-2.yaml"}, {ON, "core-001"}, {DISABLE, "leaf-002", 4},
    {ENABLE, "leaf-002", 4}, {REROUTE}}},
{.name = "torus", .fabric = torus, .steps = {
    {PATHS, "host-0003", .text = "host-0002"}, {PATHS, "host-0008", .text = "host-0010"},
    {PATHS, "host-0010", .text = "host-0008"}, {DOWN, "torus-1-1", 2}, {OFF, "torus-2-2"},
    {ON, "torus-2-2"}, {UP, "torus-1-1", 2}, {RELOAD, .text = "torus-2.yaml"}}},
{.name = "dragonfly", .fabric = dragonfly, .steps = {
    {PATHS, "host-0011", .text = "host-0020"}, {PATHS, "host-0001", .text = "host-0009"},
    {PATHS, "host-0001", .text = "host-0020"}, {JOIN, "host-0004", 1}, {JOIN, "host-0017", 1},
    {DOWN, "group01-switch-01", 3}, {UP, "group01-switch-01", 3}}},
{.name = "random", .fabric = random_fabric, .steps = {
    {JOIN, "host-0002", 1}, {JOIN, "host-0009", 1}, {JOIN, "host-0012", 1, "and sends"},
    {LEAVE, "host-0012", 1}, {ALIAS, "host-0004", 2},
    {DOWN, "switch-001", 2}, {UP, "switch-001", 2}, {OFF, "switch-005"}, {ON, "switch-005"},
    {RESTART}}},
{.name = "hypercube", .fabric = hypercube, .steps = {
    {DOWN, "cube-011", 2}, {WAIT, .port = 5}, {UP, "cube-011", 2}, {WAIT, .port = 5},
    {RELOAD, .text = "hypercube-2.yaml"}}},
{.name = "parallel", .fabric = parallel_leaf_spine, .congestion = true, .steps = {
    {WAIT, .port = 5}, {DOWN, "leaf-001", 3}, {UP, "leaf-001", 3}, {DOWN, "leaf-001", 3},
    {UP, "leaf-001", 3}, {WAIT, .port = 5}, {RELOAD, .text = "parallel-2.yaml"}, {OFF, "host-0003"},
    {ON, "host-0003"}, {WAIT, .port = 15}}},

/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/svg/svg.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/grpc.h"

static const char rules[] =
    "rect.paper { fill: #ffffff }\n"
    "text { fill: #24292f }\n"
    "text.dim { fill: #59636e }\n"
    ".grid { stroke: #d8dee4; stroke-width: 1 }\n"
    ".axis { stroke: #8c959f; stroke-width: 1 }\n"
    ".limit { stroke: #59636e; stroke-width: 1; stroke-dasharray: 5 3 }\n"
    ".mark { stroke: #24292f; stroke-width: 2; fill: none }\n"
    ".s0 { stroke: #0072b2 } .f0 { fill: #0072b2 }\n"
    ".s1 { stroke: #d55e00 } .f1 { fill: #d55e00 }\n"
    ".s2 { stroke: #009e73 } .f2 { fill: #009e73 }\n"
    ".s3 { stroke: #a3568b } .f3 { fill: #a3568b }\n"
    ".s4 { stroke: #b8860b } .f4 { fill: #b8860b }\n"
    ".s5 { stroke: #3a9bd6 } .f5 { fill: #3a9bd6 }\n"
    ".good { fill: #009e73 } .warn { fill: #e08a00 } .bad { fill: #c4302b }\n"
    ".line { fill: none; stroke-width: 1.6; stroke-linejoin: round }\n"
    ".line.wide { stroke-width: 3.4; stroke-opacity: 0.55 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "rect.paper { fill: #14181d }\n"
    "text { fill: #e3e8ee } text.dim { fill: #9aa5b1 }\n"
    ".grid { stroke: #2d343c } .axis { stroke: #6b7682 } .limit { stroke: #9aa5b1 }\n"
    ".mark { stroke: #ffffff }\n"
    ".s0 { stroke: #4aa8e0 } .f0 { fill: #4aa8e0 }\n"
    ".s3 { stroke: #cc79a7 } .f3 { fill: #cc79a7 }\n"
    "}\n";

void fab_svg_begin(struct fab_text *t, unsigned width, unsigned height, const char *title,
                   const char *style)
{
    fab_base_text_addf(t,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
                       "viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"11\">\n",
                       width, height, width, height);
    fab_base_text_add(t, "<title>");
    fab_svg_add_escaped(t, title);
    fab_base_text_add(t, "</title>\n<style>\n");
    fab_base_text_add(t, rules);
    fab_base_text_add(t, style != NULL ? style : "");
    fab_base_text_addf(t, "</style>\n<rect class=\"paper\" width=\"%u\" height=\"%u\"/>\n", width,
                       height);
}

void fab_svg_end(struct fab_text *t)
{
    fab_base_text_add(t, "</svg>\n");
}

void fab_svg_add_escaped(struct fab_text *t, const char *text)
{
    size_t len = strlen(text), room = 3 * len + 1;
    char little[256], *clean = room <= sizeof little ? little : malloc(room);
    if (clean == NULL) {
        t->status = FAB_E_NOMEM;
        return;
    }
    fab_grpc_utf8_clean(text, len, clean, room);
    for (const char *c = clean; *c != '\0'; c++) {
        size_t plain = strcspn(c, "<>&");
        fab_base_text_bytes(t, c, plain);
        c += plain;
        if (*c == '\0')
            break;
        fab_base_text_add(t, *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : "&amp;");
    }
    if (clean != little)
        free(clean);
}

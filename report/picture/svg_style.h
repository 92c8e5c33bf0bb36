// The style of SVG pictures; its colours are those of palette.h. No information depends on hue alone: failures have a
// solid ring, warnings a dashed one, and both show their code. Idle edges are dashed. Lit edges and nodes have a band
// beneath.
#pragma once

#include <string_view>

namespace digd::picture {

inline constexpr std::string_view svg_style = R"css(
text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--ink)}
.title{font:600 19px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.sub,.note,.agent,.head,.words,.reason{font-family:system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:13px}
.sub,.reason{fill:var(--soft)}.note{fill:var(--warn-ink)}.agent{font-weight:600}.idle{fill:var(--faint);font-weight:400}.head{font-weight:600;font-size:14px}
.time,.less{fill:var(--faint)}.id{font-weight:600}.code{font-weight:700;fill:var(--paper);font-size:10.5px}.sign{fill:var(--edge);font-size:12px;font-weight:700}
.bad{fill:var(--fail-ink)}.good{fill:var(--good-ink)}
.id,.less,.sign{paint-order:stroke;stroke:var(--panel);stroke-width:3px;stroke-linejoin:round}
.paper{fill:var(--paper)}.lane{fill:var(--panel)}.life{stroke:var(--line)}.pause{stroke:var(--line-strong);stroke-dasharray:1 5;stroke-linecap:round}
.glow{stroke:var(--glow);stroke-width:11;stroke-linecap:round;stroke-linejoin:round;fill:none}.glow.whole{fill:var(--glow)}
.works{stroke:var(--edge);stroke-width:1.4}.idles{stroke:var(--quiet);stroke-width:1.3;stroke-dasharray:4 3.5}.heals{stroke:var(--heal);stroke-width:2}
.tip{stroke:none}.works.tip{fill:var(--edge)}.idles.tip{fill:var(--quiet)}.heals.tip{fill:var(--heal)}
.span{fill:var(--blue-fill);stroke:var(--blue);stroke-width:1.5}.many{fill:var(--blue-mid)}.open{stroke-dasharray:3 3}.broken{fill:var(--fail-fill);stroke:var(--fail);stroke-dasharray:3 2}
.glyph{fill:var(--blue-ink)}.cross{stroke:var(--fail);stroke-width:2;fill:none}.stop{fill:var(--panel);stroke:var(--edge);stroke-width:1.4}.hit{fill:var(--panel);stroke:none}
.square{fill:var(--paper);stroke:var(--ink);stroke-width:1.5}.square.fyi{stroke:var(--quiet)}.square.again{stroke-dasharray:2.5 2}.square.answer{fill:var(--good)}
.square.refused{fill:var(--fail)}.square.heals{stroke:var(--heal);stroke-width:2}.ghost{fill:var(--paper);stroke:var(--quiet)}
text.heals{fill:var(--heal-ink);stroke-width:3px;stroke:var(--panel)}
.ring{fill:none}.ring.fails{stroke:var(--fail);stroke-width:2.4}.ring.warns{stroke:var(--warn);stroke-width:2.2;stroke-dasharray:4 2.5}.ring.named{stroke:var(--warn);stroke-width:1;stroke-dasharray:1.5 2}
.badge.fails{fill:var(--fail-badge)}.badge.warns{fill:var(--warn-badge)}
)css";

}  // namespace digd::picture

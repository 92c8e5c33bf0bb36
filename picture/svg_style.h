// How an SVG picture looks, in light and dark. The hues are Okabe and Ito's, told apart by the colour-blind; nothing is
// said by hue alone: failures have a solid ring, warnings a dashed one, and both their code; idle edges are dashed.
#pragma once

#include <string_view>

namespace digd::picture {

inline constexpr std::string_view svg_style = R"css(
text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1b1f24}
.title{font:600 19px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.sub,.note,.agent,.head,.words,.reason{font-family:system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:13px}
.sub,.reason{fill:#57606a}.note{fill:#8a5a00}.agent{font-weight:600}.idle{fill:#6b7480;font-weight:400}.head{font-weight:600;font-size:14px}
.time,.less{fill:#6b7480}.id{font-weight:600}.code{font-weight:700;fill:#fff;font-size:10.5px}.sign{fill:#4a5562;font-size:12px;font-weight:700}
.bad{fill:#b34a00}.good{fill:#00704f}
.id,.less,.sign{paint-order:stroke;stroke:#f5f7f9;stroke-width:3px;stroke-linejoin:round}
.paper{fill:#fff}.lane{fill:#f5f7f9}.life{stroke:#d5dbe1}.pause{stroke:#c3cad2;stroke-dasharray:1 5;stroke-linecap:round}
.works{stroke:#4a5562;stroke-width:1.4}.idles{stroke:#9aa4af;stroke-width:1.3;stroke-dasharray:4 3.5}.heals{stroke:#b0467f;stroke-width:2}
.tip{stroke:none}.works.tip{fill:#4a5562}.idles.tip{fill:#9aa4af}.heals.tip{fill:#b0467f}
.span{fill:#d9eaf7;stroke:#0072b2;stroke-width:1.5}.many{fill:#8fc3e6}.open{stroke-dasharray:3 3}.broken{fill:#fdeee4;stroke:#d55e00;stroke-dasharray:3 2}
.glyph{fill:#0a5688}.cross{stroke:#d55e00;stroke-width:2;fill:none}.stop{fill:#f5f7f9;stroke:#4a5562;stroke-width:1.4}.hit{fill:#f5f7f9;stroke:none}
.square{fill:#fff;stroke:#1b1f24;stroke-width:1.5}.square.fyi{stroke:#9aa4af}.square.again{stroke-dasharray:2.5 2}.square.answer{fill:#009e73}
.square.refused{fill:#d55e00}.square.heals{stroke:#b0467f;stroke-width:2}.ghost{fill:#fff;stroke:#9aa4af}
text.heals{fill:#98336a;stroke-width:3px;stroke:#f5f7f9}
.ring{fill:none}.ring.fails{stroke:#d55e00;stroke-width:2.4}.ring.warns{stroke:#c98a00;stroke-width:2.2;stroke-dasharray:4 2.5}.ring.named{stroke:#c98a00;stroke-width:1;stroke-dasharray:1.5 2}
.badge.fails{fill:#c25400}.badge.warns{fill:#8a6100}
@media (prefers-color-scheme:dark){
text{fill:#e6e9ee}.sub,.reason{fill:#a9b3be}.note{fill:#f0c24b}.idle,.time,.less{fill:#98a3af}.sign{fill:#b6c0cb}.bad{fill:#ff9a5c}.good{fill:#3ddbaa}
.id,.less,.sign{stroke:#1b2128}.paper{fill:#12161b}.lane{fill:#1b2128}.life{stroke:#313a44}.pause{stroke:#46515d}
.works{stroke:#b6c0cb}.idles{stroke:#75818e}.heals{stroke:#e58fbd}.works.tip{fill:#b6c0cb}.idles.tip{fill:#75818e}.heals.tip{fill:#e58fbd}
.span{fill:#143650;stroke:#56b4e9}.many{fill:#2a6a97}.broken{fill:#3a2313;stroke:#ff8a4c}.glyph{fill:#cfe8fa}.cross{stroke:#ff8a4c}
.stop,.hit{fill:#1b2128}.stop{stroke:#b6c0cb}.square{fill:#12161b;stroke:#e6e9ee}.square.fyi,.ghost{stroke:#75818e}.ghost{fill:#12161b}
.square.answer{fill:#1fbf90}.square.refused{fill:#ff8a4c}.square.heals{stroke:#e58fbd}text.heals{fill:#f0a6cc;stroke:#1b2128}
.ring.fails{stroke:#ff8a4c}.ring.warns,.ring.named{stroke:#f0c24b}.code{fill:#12161b}.badge.fails{fill:#ff8a4c}.badge.warns{fill:#f0c24b}}
)css";

}  // namespace digd::picture

// How the HTML report looks: light, dark, narrow, on paper. Its colours are those of picture/palette.h.
#pragma once

#include <string_view>

namespace digd::report {

inline constexpr std::string_view page_style = R"css(
*{box-sizing:border-box}
html{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",Arial,sans-serif;color:var(--ink);background:var(--paper);-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0 auto;max-width:84rem;padding:1.5rem 1.25rem 4rem;overflow-wrap:anywhere}
h1{font-size:1.75rem;line-height:1.2;margin:.2rem 0 1rem}
h2{font-size:1.3rem;margin:3rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
p,li,td,th,dd,dt,summary{unicode-bidi:isolate}
p{margin:.6rem 0;max-width:48rem}
a{color:var(--blue-ink)}
:focus-visible{outline:3px solid var(--blue);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-99rem}.skip:focus{position:static;display:inline-block;padding:.5rem}
.brand{color:var(--soft);font-size:.85rem;margin:0}
.verdict{border:1px solid var(--line);border-left:6px solid var(--good);border-radius:8px;background:var(--good-fill);padding:.6rem 1.1rem;margin:1rem 0}
.verdict.bad{border-left-color:var(--fail);background:var(--fail-fill)}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}pre code{font:inherit}
.verdict p{font-size:1.08rem;max-width:none}.verdict .mark{font-weight:700}
.facts{display:flex;flex-wrap:wrap;gap:.5rem;margin:1rem 0}
.facts div{background:var(--panel);border-radius:8px;padding:.4rem .8rem}
.facts dt{color:var(--soft);font-size:.8rem}.facts dd{margin:0;font-weight:600;font-variant-numeric:tabular-nums}
nav ol{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;list-style:none;padding:0;margin:1.2rem 0 0}
figure{margin:1.5rem 0}
figcaption{color:var(--soft);font-size:.9rem;max-width:48rem;margin-top:.4rem}
figcaption strong{color:var(--ink)}
.tables .scroll{width:fit-content;max-width:100%}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px;background:var(--paper)}
.scroll svg{display:block;max-width:100%;height:auto;margin:0 auto}
.scroll svg.chart{min-width:44rem}
details .scroll svg.chart{min-width:0;max-width:none;margin:0}
table{border-collapse:collapse;min-width:min(100%,32rem);font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.6rem .75rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem;border-top:1px solid var(--line);overflow-wrap:break-word;min-width:4.5rem;max-width:26rem}
thead th{color:var(--soft);font-weight:600;border-top:0}tbody th{font-weight:600}
td:not(.number){min-width:9rem}.number{text-align:right;white-space:nowrap}
.tables{margin:1.5rem 0}.left-out{color:var(--soft);font-size:.85rem;margin:.3rem 0 0}
.remark{border-left:4px solid var(--warn);background:var(--warn-fill);padding:.5rem .9rem;border-radius:0 6px 6px 0}
pre{background:var(--panel);border-radius:6px;padding:.6rem .9rem;overflow-x:auto;font:.9rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre-wrap}
details{border:1px solid var(--line);border-radius:8px;margin:.6rem 0;padding:0 1rem}
details[open]{padding-bottom:.6rem}
summary{cursor:pointer;padding:.55rem 0;font-weight:600}
.badge{display:inline-block;min-width:2.6rem;text-align:center;border-radius:5px;padding:0 .35rem;margin-right:.5rem;font-size:.8rem;font-weight:700;color:var(--paper);background:var(--warn-badge);outline:1px dashed var(--warn-badge);outline-offset:1px}
.badge.grave{background:var(--fail-badge);outline-style:solid;outline-color:var(--fail-badge)}
.single-item{background:var(--panel);border-left:4px solid var(--heal);padding:.4rem .9rem;border-radius:0 6px 6px 0}
.single-item{white-space:pre-wrap;list-style:none}
button{font:inherit;color:inherit;background:var(--panel);border:1px solid var(--line-strong);border-radius:6px;padding:.35rem .9rem;cursor:pointer}
footer{margin-top:3rem;border-top:1px solid var(--line);color:var(--soft);font-size:.85rem}
@media (max-width:40rem){html{font-size:15px}body{padding:1rem .8rem 3rem}h1{font-size:1.4rem}th,td{padding:.35rem .5rem}}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media print{
@page{margin:14mm}
html{font-size:10.5pt}body{max-width:none;padding:0}
nav,.skip,button{display:none!important}
.scroll{overflow:visible;border:0}.scroll svg,.scroll svg.chart,details .scroll svg.chart{max-width:100%;min-width:0!important;height:auto;max-height:240mm}
table{font-size:8.5pt;width:100%;min-width:0}th,td,td:not(.number){padding:.15rem .4rem;min-width:0}
figure,tr,summary{break-inside:avoid}h2{break-after:avoid}
.verdict,.badge,.remark,.single-item{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}
)css";

// A script that unfolds all sections, on a button and before printing. The page is complete without it.
inline constexpr std::string_view page_script =
    "\"use strict\";const all=[...document.querySelectorAll(\"details\")],button=document.getElementById(\"open-all\");"
    "if(button){button.hidden=false;button.addEventListener(\"click\",()=>{const "
    "open=all.some(d=>!d.open);all.forEach(d=>{d.open=open});"
    "button.textContent=open?\"Close all\":\"Open all\"})}"
    "addEventListener(\"beforeprint\",()=>all.forEach(d=>{d.open=true}));";
// The hash of the script; the page allows no other script.
inline constexpr std::string_view page_script_sha256 = "JjnIOQ5pnVsaA+EvXq2PD2I+2thsWQ7cxKgY2vqXHwk=";

}  // namespace digd::report
